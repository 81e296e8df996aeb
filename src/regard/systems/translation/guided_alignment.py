"""Guided alignment: supervision of attention by word links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.explain.capture import capture
from regard.models.model_output import ModelOutput
from regard.ops.softmax import statistics_dtype
from regard.ops.weights import Weights
from regard.systems.translation.force_decoding import source_reads

Guide = Callable[[ModelOutput, Tensor], Tensor]
"""(output of the forward pass, links [B, N, 2]) -> loss, summed over target pieces."""


@dataclass(frozen=True)
class Guidance:
    """Guided alignment of one attention of a model.

    Attributes:
        weight: weight of its loss.
        layer: decoder layer of a Transformer, from 1; None for the last but one.
        head: head, from 1, for multi-head attention.
        shift: guide the step whose input is the word, after the one that predicts it.
    """

    weight: float
    layer: int | None = None
    head: int = 1
    shift: bool = False

    def check(self, model: nn.Module) -> None:
        """Check that a model has the layer; the head is checked where it is read.

        Raises:
            ValueError: it has not.
        """
        layers = len(source_reads(model)) or 1
        if self.layer is not None and self.layer > layers:
            raise ValueError(f"train.guided.layer is {self.layer}; the decoder has {layers} that read the source")

    def layer_of(self, model: nn.Module) -> int:
        """Return the layer that is guided, from 1."""
        return self.layer or max(1, len(source_reads(model)) - 1)

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[Guide]:
        """Yield the loss of the forward pass that is made inside."""
        names = source_reads(getattr(model, "module", model))
        if not names:
            yield lambda predicted, links: self._loss(predicted.attended, links)
            return
        name = f"*{names[self.layer_of(model) - 1]}"
        with capture(model, name, heads=self.head - 1, grad=True) as seen:
            yield lambda predicted, links: self._loss(next(iter(seen.values()))[0], links)

    def _loss(self, attended: Weights | None, links: Tensor) -> Tensor:
        if attended is None:
            raise ValueError("train.guided is of a model with attention; this one attends to nothing")
        heads = attended.shape[1]
        if heads > 1:
            if self.head > heads:
                raise ValueError(f"train.guided.head is {self.head}; the attention has {heads} heads")
            weights = attended.weights(heads=self.head - 1)
        else:
            weights = attended.weights()
        weights = weights if weights.dim() == 3 else weights.squeeze(1)
        return self.weight * guided_loss(weights, links, shift=int(self.shift))


def guided_loss(weights: Tensor, links: Tensor, *, shift: int = 0) -> Tensor:
    r"""Cross-entropy of attention against links, summed over the target pieces that have one.

    .. math:: -\sum_t \frac{1}{|L_t|} \sum_{s \in L_t} \log a_{ts}

    with the source pieces L_t that target piece t is linked to. Chen et al. 2016, equation 9; Garg et al. 2019,
    equation 4, for a head of a Transformer. Their means over the target are the sum here, because the loss of
    translation is a sum over tokens too.

    Args:
        weights: a [B, T, S]; row t is the step that predicts target token t.
        links: (t, s) of each link [B, N, 2], -1 for padding.
        shift: offset between a target token and its row.

    >>> attention = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]])
    >>> guided_loss(attention, torch.tensor([[[0, 0], [0, 1], [-1, -1]]])).exp()        # 1 / (0.5 * 0.25) ** 0.5
    tensor(2.8284)
    """
    _, rows, columns = weights.shape
    present = (links[..., 0] >= 0) & (links[..., 0] + shift < rows)  # [B, N]
    row, column = (links[..., 0] + shift).clamp(0, rows - 1), links[..., 1].clamp(min=0)
    kind = statistics_dtype(weights.dtype)
    each = present.to(kind)  # [B, N]
    # |L_t|, [B, T]: number of links of each target token.
    counts = torch.zeros(weights.shape[:2], dtype=kind, device=weights.device).scatter_add(1, row, each)
    # Clamped before the logarithm, since a weight of exactly 0 (masked or underflow) would give inf and NaN gradients.
    found = weights.to(kind).clamp(min=torch.finfo(kind).tiny).flatten(1).gather(1, row * columns + column).log()
    return -(found * each / counts.gather(1, row).clamp(min=1)).sum()
