"""Linear-chain conditional random field (Lafferty et al. 2001): scores of labels and of label transitions."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.card import Card
from regard.ops.softmax import statistics_dtype

CARD = Card(
    name="linear_chain",
    family="aligner",
    equation="p(y | x) = exp(Σ_t e_t(y_t) + A(y_{t-1}, y_t)) / Z",
    paper="Lafferty, McCallum & Pereira 2001; Lample et al. 2016, section 2.2",
    cost="T·K², twice",
    op="linear_chain",
    module="CRF",
)

# The logarithm of zero, finite so that no difference of two of them is NaN, here or in the backward pass.
_LOG_ZERO = -1e30


class LinearChain(NamedTuple):
    """The distribution over all label sequences.

    Attributes:
        log_partition: [B], log Z, the log-sum-exp of the scores of all sequences; 0 for an empty sequence.
        marginals: [B, T, K], probability that position t has label k; 0 at padding.
    """

    log_partition: Tensor
    marginals: Tensor


class BestPath(NamedTuple):
    """The most probable label sequence.

    Attributes:
        labels: [B, T]; 0 at padding.
        score: [B], score of the sequence; its log-probability is `score - log_partition`.
    """

    labels: Tensor
    score: Tensor


def linear_chain(
    emissions: Tensor,
    transitions: Tensor,
    start: Tensor | None = None,
    end: Tensor | None = None,
    *,
    mask: Mask | None = None,
) -> LinearChain:
    r"""Compute log Z and the marginals by the forward-backward algorithm.

    .. math:: s(y) = b(y_1) + \sum_t e_t(y_t) + \sum_{t > 1} A(y_{t-1}, y_t) + c(y_T), \quad
              p(y \mid x) = \frac{\exp s(y)}{Z}, \quad Z = \sum_{y'} \exp s(y')

    Args:
        emissions: [B, T, K], e: score of each label at each position.
        transitions: [K, K], A: score of the second label directly after the first; -inf forbids it.
        start: [K], b: score of the first label; None for 0.
        end: [K], c: score of the last label; None for 0.
        mask: present positions; None for all. Other positions have no label: the chain links their neighbours.

    Returns:
        LinearChain, in float32 for half-precision inputs. Both parts are differentiable.

    Raises:
        ValueError: shapes that do not fit.

    Lafferty, McCallum & Pereira 2001, "Conditional Random Fields"; Lample et al. 2016, "Neural Architectures for Named
    Entity Recognition", section 2.2. Kim et al. 2017, "Structured Attention Networks", read by the marginals.

    >>> emissions, transitions = torch.tensor([[[3.0, 1.0], [1.0, 1.0]]]), torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    >>> chain = linear_chain(emissions.log(), transitions.log())
    >>> chain.log_partition.exp()                           # 00: 3, 01: 3, 10: 1, and 11 is forbidden
    tensor([7.])
    >>> chain.marginals
    tensor([[[0.8571, 0.1429],
             [0.5714, 0.4286]]])
    """
    given = _Arguments.of(emissions, transitions, start, end, mask)
    alphas, last = _forward(given)
    betas = _backward(given)
    log_partition = torch.where(given.real.any(1), (last + given.end).logsumexp(1), 0.0)
    if not alphas:
        return LinearChain(log_partition, given.emissions)
    joint = torch.stack(alphas, 1) + torch.stack(betas, 1)  # [B, T, K]
    inside = given.real.unsqueeze(2)
    return LinearChain(log_partition, (joint - log_partition[:, None, None]).masked_fill(~inside, _LOG_ZERO).exp())


def linear_chain_conditionals(
    emissions: Tensor,
    transitions: Tensor,
    labels: Tensor,
    start: Tensor | None = None,
    end: Tensor | None = None,
    *,
    mask: Mask | None = None,
) -> Tensor:
    r"""Return logits of each label given the true ones before it; their log-softmax sums to log p of the sequence.

    .. math:: \log p(y \mid x) = \sum_t \log p(y_t \mid y_{t-1}, x), \quad
              p(y_t = k \mid y_{t-1}, x) \propto \exp(A(y_{t-1}, k) + e_t(k) + \beta_t(k))

    with :math:`\beta_t(k)` the log-sum-exp of the scores of all continuations of label k at position t. So a chain is
    trained with the usual cross-entropy per label, with label smoothing or weights.

    Args:
        emissions: [B, T, K], as in `linear_chain`, and so are all others.
        transitions: [K, K].
        labels: [B, T], true labels; negative if unknown, and then the next label has no transition score.
        start: [K] or None.
        end: [K] or None.
        mask: or None.

    Returns:
        Logits [B, T, K]; undefined at padding.

    >>> emissions, transitions = torch.tensor([[[3.0, 1.0], [1.0, 1.0]]]), torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    >>> logits = linear_chain_conditionals(emissions.log(), transitions.log(), torch.tensor([[0, 1]]))
    >>> logits.softmax(-1)                                  # 6 of 7, then 3 of 6
    tensor([[[0.8571, 0.1429],
             [0.5000, 0.5000]]])
    """
    given = _Arguments.of(emissions, transitions, start, end, mask)
    if labels.shape != given.real.shape:
        raise ValueError(f"linear_chain: labels must be [B, T] = {list(given.real.shape)}; got {list(labels.shape)}")
    if not given.emissions.shape[1]:
        return given.emissions
    before, begins = _labels_before(labels, given.real)
    reached = given.transitions[before.clamp(min=0)].masked_fill((before < 0).unsqueeze(2), 0.0)  # [B, T, K]
    reached = torch.where(begins.unsqueeze(2), given.start, reached)
    return reached + given.emissions + torch.stack(_backward(given), 1)  # [B, T, K]


def linear_chain_path(
    emissions: Tensor,
    transitions: Tensor,
    start: Tensor | None = None,
    end: Tensor | None = None,
    *,
    mask: Mask | None = None,
) -> BestPath:
    """Return the most probable label sequence (Viterbi 1967); ties are broken by the smaller last label.

    Args:
        emissions: [B, T, K], as in `linear_chain`, and so are all others.
        transitions: [K, K].
        start: [K] or None.
        end: [K] or None.
        mask: or None.

    >>> emissions, transitions = torch.tensor([[[3.0, 1.0], [1.0, 4.0]]]), torch.tensor([[1.0, 0.1], [1.0, 1.0]])
    >>> linear_chain_path(emissions.log(), transitions.log())             # 00: 3, 01: 1.2, 10: 1, 11: 4
    BestPath(labels=tensor([[1, 1]]), score=tensor([1.3863]))
    """
    given = _Arguments.of(emissions, transitions, start, end, mask)
    best = given.emissions.new_zeros(len(emissions), emissions.shape[2])
    begun = given.real.new_zeros(len(emissions), 1)
    pointers = []
    for t in range(given.size):
        there = given.real[:, t, None]
        value, pointer = (best.unsqueeze(2) + given.transitions).max(1)  # over the label before: [B, K] each
        value = torch.where(begun, value, given.start) + given.emissions[:, t]
        pointers.append(pointer)
        best, begun = torch.where(there, value, best), begun | there
    score, label = (best + given.end).max(1)
    labels = _followed_back(label, pointers, given.real)
    return BestPath(labels, torch.where(begun.squeeze(1), score, 0.0))


class _Arguments(NamedTuple):
    """Checked arguments: emissions [B, T, K], transitions [K, K], start and end [K], and `real` [B, T]."""

    emissions: Tensor
    transitions: Tensor
    start: Tensor
    end: Tensor
    real: Tensor

    @property
    def size(self) -> int:
        """T."""
        return self.emissions.shape[1]

    @staticmethod
    def of(
        emissions: Tensor, transitions: Tensor, start: Tensor | None, end: Tensor | None, mask: Mask | None
    ) -> _Arguments:
        if emissions.dim() != 3 or not emissions.is_floating_point():
            raise ValueError(f"linear_chain: emissions must be numbers [B, T, K]; got {list(emissions.shape)}")
        batch, size, count = emissions.shape
        if transitions.shape != (count, count):
            raise ValueError(
                f"linear_chain: transitions must be [K, K] for emissions [B, T, K]; "
                f"got {list(transitions.shape)} and {list(emissions.shape)}"
            )
        ends = []
        for name, given in (("start", start), ("end", end)):
            if given is not None and given.shape != (count,):
                raise ValueError(f"linear_chain: {name} must be [K] = [{count}]; got {list(given.shape)}")
            ends.append(emissions.new_zeros(count) if given is None else given)
        dtype = statistics_dtype(emissions.dtype)
        scores = [part.to(dtype).clamp(min=_LOG_ZERO) for part in (emissions, transitions, *ends)]
        return _Arguments(scores[0], scores[1], scores[2], scores[3], _places(mask, batch, size, emissions.device))


def _places(mask: Mask | None, batch: int, size: int, device: torch.device) -> Tensor:
    """[B, T], True at each position that there is."""
    if mask is None:
        return torch.ones(batch, size, dtype=torch.bool, device=device)
    allowed = mask.allowed((batch, 1, 1, size), device=device)
    return allowed.expand(batch, 1, 1, size).reshape(batch, size)


def _forward(given: _Arguments) -> tuple[list[Tensor], Tensor]:
    """The log-sum-exp of the scores up to each position by its label, T of [B, K]; and that of the last position."""
    alpha = given.emissions.new_zeros(len(given.emissions), given.emissions.shape[2])
    begun = given.real.new_zeros(len(alpha), 1)
    alphas = []
    for t in range(given.size):
        there = given.real[:, t, None]
        later = (alpha.unsqueeze(2) + given.transitions).logsumexp(1)  # [B, K, K] over the label before
        reached = torch.where(begun, later, given.start) + given.emissions[:, t]
        alpha, begun = torch.where(there, reached, alpha), begun | there
        alphas.append(alpha)
    return alphas, alpha


def _backward(given: _Arguments) -> list[Tensor]:
    """The log-sum-exp of the scores of all that follows each position by its label, T of [B, K]."""
    beta = given.end.expand(len(given.emissions), -1)
    betas = []
    for t in reversed(range(given.size)):
        betas.append(beta)
        ahead = (given.emissions[:, t] + beta).unsqueeze(1)  # [B, 1, K]
        beta = torch.where(given.real[:, t, None], (given.transitions + ahead).logsumexp(2), beta)
    return betas[::-1]


def _labels_before(labels: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    """[B, T], the label of the position before each; and where there is none."""
    position = torch.arange(labels.shape[1], device=labels.device)
    latest = torch.where(real, position, -1).cummax(1).values  # the last position up to each
    before = torch.cat((torch.full_like(latest[:, :1], -1), latest[:, :-1]), dim=1)
    return labels.gather(1, before.clamp(min=0)), before < 0  # [B, T] each


def _followed_back(label: Tensor, pointers: list[Tensor], real: Tensor) -> Tensor:
    """The labels [B, T] that end in `label` [B], by the best label before each."""
    labels: list[Tensor] = []
    for t in reversed(range(len(pointers))):
        there = real[:, t]
        labels.append(torch.where(there, label, 0))
        # The pointer of the first position has no target and is not used.
        label = torch.where(there, pointers[t].gather(1, label.unsqueeze(1)).squeeze(1), label)  # [B]
    return torch.stack(labels[::-1], 1) if labels else label.new_zeros(real.shape)  # [B, T]
