"""Weights on demand: the rows that are asked for, made again."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.additive.tiles import Operands
from regard.ops.softmax import masked_softmax
from regard.ops.weights import Weigh


class Score(Protocol):
    """Energies [B, H, T, S] of operands shaped as in `additive_score`."""

    def __call__(
        self, query: Tensor, key: Tensor, weight: Tensor, *, features: Tensor | None, feature_weight: Tensor | None
    ) -> Tensor: ...


def rebuilt(score: Score, operands: Operands, mask: Mask | None) -> Weigh:
    """The weights of any heads and rows, differentiable.

    Not from a log-sum-exp that the read might leave behind: it is rounded as the large number that it is, and weights
    would err by more than a softmax does.
    """
    query, key, features, shape = operands.query, operands.key, operands.features, operands.shape
    # Parameters, which an optimizer may change before the weights are asked for: kept as they were for this read.
    weight, feature_weight = operands.weight.clone(), operands.feature_weight
    feature_weight = None if feature_weight is None else feature_weight.clone()

    def weigh(head: Tensor, row: Tensor) -> Tensor:
        """a = softmax(e) of the chosen heads and rows."""
        energy = score(
            query.index_select(1, head).index_select(2, row),
            key.index_select(1, head),
            weight.index_select(0, head),
            features=None if features is None else _pick(features, head, row),
            feature_weight=None if feature_weight is None else feature_weight.index_select(0, head),
        )
        if mask is not None:
            energy = energy.masked_fill(~mask.allowed(shape, heads=head, rows=row, device=energy.device), -torch.inf)
        return masked_softmax(energy)

    return weigh


def _pick(features: Tensor, head: Tensor, row: Tensor) -> Tensor:
    """The features of some heads and rows; those of one head for all stay so."""
    features = features if features.shape[1] == 1 else features.index_select(1, head)
    return features.index_select(2, row)
