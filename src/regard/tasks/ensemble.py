"""Ensembles of trained models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from regard.decode.ensemble import Ensemble, EnsembleState, mean_attended
from regard.models.model_output import ModelOutput
from regard.protocol import Step
from regard.tasks.input_output import mean_log_probs

Mean = Callable[[Sequence[Tensor]], Tensor]


class PredictionEnsemble(nn.Module):
    r"""Ensemble of models with the same task and vocabulary: averages their predicted probabilities.

    .. math:: p(y) = \frac{1}{M} \sum_m p_m(y)

    Computes all positions of a batch in parallel for losses, labels and tags, and decodes texts one token at a time
    like `regard.decode.Ensemble`. Alignments are averaged over heads, then over the models that have attention.

    Args:
        models: one or more models with the same signature.
        mean: combines the logits of the models into one tensor; None averages softmax probabilities.

    >>> import torch
    >>> from regard.models import Bahdanau
    >>> both = PredictionEnsemble([Bahdanau(11, 13, embedding_dim=3, hidden_dim=5) for _ in range(2)]).eval()
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

    def forward(self, *inputs: Any) -> ModelOutput:
        """Return the averaged output of the models; an `EnsembleState` among the inputs is split by model."""
        each: list[ModelOutput] = [
            model(*(one.parts[index] if isinstance(one, EnsembleState) else one for one in inputs))
            for index, model in enumerate(self.models)
        ]
        return ModelOutput(
            self._mean([one.logits for one in each]),
            EnsembleState(tuple(one.state for one in each)),
            mean_attended([_heads_averaged(one.attended.weights()) for one in each if one.attended is not None]),
        )

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> EnsembleState:
        """Return the initial decoding state of all models."""
        return self._ensemble.start(source, lengths, batch=batch)

    def step(self, token: Tensor, state: EnsembleState) -> Step:
        """Advance all models by one token [B]."""
        return self._ensemble.step(token, state)


class WindowedEnsemble(PredictionEnsemble):
    """Ensemble of language models that carry their state from window to window."""

    def carry(self, state: EnsembleState) -> EnsembleState:
        """Return the initial state of the next window for each model."""
        return EnsembleState(tuple(model.carry(part) for model, part in zip(self._members(), state.parts, strict=True)))

    def _members(self) -> list[Any]:
        return list(self.models)


def make_ensemble(models: Sequence[nn.Module], *, mean: Mean | None = None) -> nn.Module:
    """Return an ensemble of several models, combined by `mean`; a single model is returned unchanged."""
    if len(models) == 1:
        return models[0]
    carrying = [hasattr(model, "carry") for model in models]
    if any(carrying) and not all(carrying):
        raise ValueError("an ensemble of language models needs all of them to carry their state, or none")
    return (WindowedEnsemble if all(carrying) else PredictionEnsemble)(models, mean=mean)


def _heads_averaged(weights: Tensor) -> Tensor:
    """Average weights over heads: [B, (H,) T, S] -> [B, T, S]."""
    return weights if weights.dim() == 3 else weights.mean(1)
