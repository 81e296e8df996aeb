"""Linear-chain CRF: scores of labels and of transitions between neighbouring labels."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.ops.linear_chain import BestPath, LinearChain, linear_chain, linear_chain_conditionals, linear_chain_path


class LabelOrder(NamedTuple):
    """Constraints on label sequences: booleans, True where a label is allowed.

    Attributes:
        transitions: [K][K], the second label directly after the first.
        start: [K], as the first label.
        end: [K], as the last label.
    """

    transitions: tuple[tuple[bool, ...], ...]
    start: tuple[bool, ...]
    end: tuple[bool, ...]


class CRF(nn.Module):
    r"""A linear-chain conditional random field over given emissions; see `regard.ops.linear_chain`.

    .. math:: p(y \mid x) \propto \exp\Big(b(y_1) + \sum_t e_t(y_t) + \sum_{t > 1} A(y_{t-1}, y_t) + c(y_T)\Big)

    Args:
        num_labels: K.
        order: constraints on predictions (`marginals`, `path`). They do not apply to the training loss, so that it is
            finite for data with annotation errors. None for no constraints.

    Parameters: `transitions` A [K, K], `start` b [K], `end` c [K]; initialised with 0, a softmax at each position.

    Shapes: emissions [B, T, K] -> logits or marginals [B, T, K], labels [B, T].

    >>> crf = CRF(3)
    >>> emissions, mask = torch.randn(2, 7, 3), Mask.padding([7, 4])
    >>> crf.marginals(emissions, mask).marginals.sum(-1)[1]
    tensor([1., 1., 1., 1., 0., 0., 0.], grad_fn=<SelectBackward0>)
    >>> crf.path(emissions, mask).labels.shape
    torch.Size([2, 7])
    """

    allowed_transitions: Tensor | None
    allowed_start: Tensor | None
    allowed_end: Tensor | None

    def __init__(self, num_labels: int, *, order: LabelOrder | None = None) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(num_labels, num_labels))
        self.start = nn.Parameter(torch.zeros(num_labels))
        self.end = nn.Parameter(torch.zeros(num_labels))
        for name in LabelOrder._fields:
            allowed = None if order is None else torch.tensor(getattr(order, name), dtype=torch.bool)
            own = getattr(self, name)
            if allowed is not None and allowed.shape != own.shape:
                raise ValueError(
                    f"CRF: {name} of the order must be {list(own.shape)} for {num_labels} labels; "
                    f"got {list(allowed.shape)}"
                )
            self.register_buffer(f"allowed_{name}", allowed, persistent=False)

    def forward(self, emissions: Tensor, labels: Tensor, mask: Mask | None = None) -> Tensor:
        """Return logits [B, T, K] of each label given the true ones before it: their cross-entropy is the chain's.

        Args:
            emissions: [B, T, K].
            labels: [B, T], true labels; negative where unknown.
            mask: present positions; None for all.
        """
        return linear_chain_conditionals(emissions, self.transitions, labels, self.start, self.end, mask=mask)

    def marginals(self, emissions: Tensor, mask: Mask | None = None) -> LinearChain:
        """Compute log Z and the probability of each label at each position."""
        return linear_chain(emissions, *self._ordered(), mask=mask)

    def path(self, emissions: Tensor, mask: Mask | None = None) -> BestPath:
        """Return the most probable label sequence (Viterbi)."""
        return linear_chain_path(emissions, *self._ordered(), mask=mask)

    def extra_repr(self) -> str:
        return f"num_labels={len(self.start)}"

    def _ordered(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return transitions, start and end scores, -inf where the constraints forbid them."""
        pairs = ((self.transitions, self.allowed_transitions), (self.start, self.allowed_start),
                 (self.end, self.allowed_end))  # fmt: skip
        found = [own if allowed is None else own.masked_fill(~allowed, -torch.inf) for own, allowed in pairs]
        return found[0], found[1], found[2]
