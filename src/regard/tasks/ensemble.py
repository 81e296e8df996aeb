"""Ensemble: several trained models as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from regard.decode.ensemble import Ensemble, Joint, averaged
from regard.models.outputs import Predicted
from regard.protocol import Step
from regard.tasks.input_output import mean_log_probs

Mean = Callable[[Sequence[Tensor]], Tensor]


class Together(nn.Module):
    r"""Models of one task and one vocabulary that answer as one: the mean of what they say is likely.

    .. math:: p(y) = \frac{1}{M} \sum_m p_m(y)

    A whole batch at once for losses, labels and tags; step by step, as `regard.decode.Ensemble`, for texts. Alignments
    are the mean over the models that have one, their heads averaged.

    Args:
        models: one or more, called alike.
        mean: from the logits of each to those of all; None for the mean probability of a softmax.

    >>> import torch
    >>> from regard.models import Bahdanau
    >>> both = Together([Bahdanau(11, 13, embedding_dim=3, hidden_dim=5) for _ in range(2)]).eval()
    >>> said = both(torch.tensor([[5, 6, 3]]), torch.tensor([3]), torch.tensor([[2, 7]]))
    >>> said.logits.exp().sum(-1), said.attended.weights().shape
    (tensor([[1., 1.]], grad_fn=<SumBackward1>), torch.Size([1, 2, 3]))
    """

    def __init__(self, models: Sequence[nn.Module], *, mean: Mean | None = None) -> None:
        super().__init__()
        self._mean = mean or mean_log_probs
        self.models = nn.ModuleList(models)
        members: list[Any] = list(models)
        self._ensemble = Ensemble(members)

    def forward(self, *inputs: Any) -> Predicted:
        """Return the averaged output of the models; the state among the inputs is `Joint`, with a part per model."""
        each: list[Predicted] = [
            model(*(one.parts[index] if isinstance(one, Joint) else one for one in inputs))
            for index, model in enumerate(self.models)
        ]
        return Predicted(
            self._mean([one.logits for one in each]),
            Joint(tuple(one.state for one in each)),
            averaged([_heads_averaged(one.attended.weights()) for one in each if one.attended is not None]),
        )

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> Joint:
        """Return the state before the first token, of all models."""
        return self._ensemble.start(source, lengths, batch=batch)

    def step(self, token: Tensor, state: Joint) -> Step:
        """Read one token [B] by all models."""
        return self._ensemble.step(token, state)


class TogetherInWindows(Together):
    """Language models that all carry their state from window to window."""

    def carry(self, state: Joint) -> Joint:
        """Return the state that the next window begins with, of each model."""
        return Joint(tuple(model.carry(part) for model, part in zip(self._members(), state.parts, strict=True)))

    def _members(self) -> list[Any]:
        return list(self.models)


def together(models: Sequence[nn.Module], *, mean: Mean | None = None) -> nn.Module:
    """Return one model of several, by the `mean` of their logits; a single one stays as it is."""
    if len(models) == 1:
        return models[0]
    carrying = [hasattr(model, "carry") for model in models]
    if any(carrying) and not all(carrying):
        raise ValueError("an ensemble of language models needs all of them to carry their state, or none")
    return (TogetherInWindows if all(carrying) else Together)(models, mean=mean)


def _heads_averaged(weights: Tensor) -> Tensor:
    """[B, (H,) T, S] -> [B, T, S]."""
    return weights if weights.dim() == 3 else weights.mean(1)
