"""Rival model: adversarially trained for equal answers with different attention weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.explain.agreement import divergence, relative_entropy, variation
from regard.explain.guided_mlp import RATE, LabelledTexts
from regard.explain.subject import StagedSubject, SubjectBatch


class Rivalry(NamedTuple):
    """Divergence of two models, averaged over texts.

    Attributes:
        change: total variation distance of the answers.
        distance: Jensen-Shannon divergence of the weights, in nats, at most ln 2 = 0.693.
    """

    change: float
    distance: float


def train_rival(
    model: StagedSubject,
    rival: StagedSubject,
    parameters: Iterable[nn.Parameter],
    train: LabelledTexts,
    *,
    strength: float = 1e-3,
    epochs: int = 8,
    seed: int = 0,
) -> None:
    r"""Train a rival in place to give the same answers as a model with maximally different weights.

    .. math:: L = \mathrm{TVD}(\hat y, \hat y') - \lambda\, \mathrm{KL}(\alpha' \,\|\, \alpha)

    Unlike `adversary`, which searches weights for each text, the rival is a single model for all texts.

    Args:
        model: the model with answers ŷ and weights α; it is not changed.
        rival: the rival with ŷ' and α', usually the same architecture with new parameters.
        parameters: parameters of the rival.
        train: texts; their labels are not used.
        strength: λ, the weight of the divergence.
        epochs: training epochs.
        seed: seed of the batch order.

    Wiegreffe & Pinter 2019, "Attention is not not Explanation", equation 1.
    """
    optimizer = torch.optim.Adam(parameters, lr=RATE, amsgrad=True)
    for _, part in train.batches(epochs, seed):
        with torch.no_grad():
            answers, weights = _both(model, part.texts)
        mine, looked = _both(rival, part.texts)
        loss = variation(mine, answers).mean() - strength * relative_entropy(looked, weights).mean()
        optimizer.zero_grad()
        torch.autograd.backward([loss], inputs=[one for group in optimizer.param_groups for one in group["params"]])
        optimizer.step()


def rivalry(model: StagedSubject, rival: StagedSubject, texts: SubjectBatch) -> Rivalry:
    """Compare the answers and the weights of two models on texts."""
    with torch.no_grad():
        (one, weights), (other, looked) = _both(model, texts), _both(rival, texts)
    return Rivalry(float(variation(one, other).mean()), float(divergence(looked, weights).mean()))


def _both(subject: StagedSubject, texts: SubjectBatch) -> tuple[Tensor, Tensor]:
    """Return answers [B, K] and weights [B, N, T]."""
    encoded = subject.encode(texts)
    weights = subject.attend(encoded)
    return subject.answer(encoded, weights), weights
