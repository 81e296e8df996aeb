"""Stacked LSTMN layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.nn.checks import positive, probability
from regard.nn.dropout import Dropout
from regard.nn.lstmn import LSTMN, LSTMNState, LSTMNStep
from regard.ops.attended import Attended


@dataclass(frozen=True)
class DeepLSTMNState:
    """Immutable state of stacked layers: the tapes of each layer, the lowest first."""

    layers: tuple[LSTMNState, ...]

    @property
    def top(self) -> LSTMNState:
        """Tapes of the top layer."""
        return self.layers[-1]

    def select(self, rows: Tensor) -> DeepLSTMNState:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        return DeepLSTMNState(tuple(layer.select(rows) for layer in self.layers))

    def detach(self) -> DeepLSTMNState:
        """Return the tapes detached from the autograd graph, for truncated back-propagation through time."""
        return DeepLSTMNState(tuple(layer.detach() for layer in self.layers))


class DeepLSTMNStep(NamedTuple):
    """Hidden states [B, T, D] of the top layer, the next state, and the attention of each layer, [B, L, T, S]."""

    output: Tensor
    state: DeepLSTMNState
    attended: Attended


class DeepLSTMN(nn.Module):
    """LSTMN layers, each over the hidden states of the one below.

    Args:
        input_dim: C, width of the inputs.
        hidden_dim: D, width of each layer.
        num_layers: L, number of layers.
        dropout: probability of dropping a channel between layers.
        window: number of past words kept on the tapes; None for all.
        distances: number of distances with a learned energy bias; None for none, as in the paper.

    Shapes: words [B, T, C] -> output [B, T, D]; weights [B, L, T, S + T], or [B, T, S + T] of one layer.

    Cheng, Dong & Lapata 2016, section 3.

    >>> layers = DeepLSTMN(3, 5, num_layers=2)
    >>> step = layers(torch.randn(2, 7, 3))
    >>> step.output.shape, step.attended.weights().shape
    (torch.Size([2, 7, 5]), torch.Size([2, 2, 7, 7]))
    """

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        *,
        num_layers: int = 1,
        dropout: float = 0.0,
        window: int | None = None,
        distances: int | None = None,
    ) -> None:
        super().__init__()
        positive("LSTMN", num_layers=num_layers)
        probability("LSTMN", dropout=dropout)
        widths = [input_dim, *[hidden_dim] * (num_layers - 1)]
        self.layers = nn.ModuleList(LSTMN(width, hidden_dim, window=window, distances=distances) for width in widths)
        self.dropout = Dropout(dropout)

    def start(self, batch: int) -> DeepLSTMNState:
        """Empty tapes for `batch` sequences."""
        return DeepLSTMNState(tuple(layer.cell.start(batch) for layer in self._layers()))

    def forward(self, words: Tensor, mask: Mask | None = None, state: DeepLSTMNState | None = None) -> DeepLSTMNStep:
        """Run over sequences [B, T, C]; arguments as in `LSTMN.forward`."""
        before = self.start(words.shape[0]) if state is None else state
        steps: list[LSTMNStep] = []
        for layer, tapes in zip(self._layers(), before.layers, strict=True):
            steps.append(layer(self.dropout(words) if steps else words, mask, tapes))
            words = steps[-1].output
        after = DeepLSTMNState(tuple(step.state for step in steps))
        return DeepLSTMNStep(words, after, _together([step.attended for step in steps]))

    def _layers(self) -> list[LSTMN]:
        return [layer for layer in self.layers if isinstance(layer, LSTMN)]


def _together(reads: list[Attended]) -> Attended:
    """Combine the reads of all layers along the head axis; the context is the top layer's."""
    top = reads[-1]
    if len(reads) == 1:
        return top
    batch, _, queries, keys = top.shape

    def weigh(head: Tensor, row: Tensor) -> Tensor:
        if torch.compiler.is_compiling():  # `tolist` would break the graph: compute all layers, then select
            # stack [B, L, T, S], select [B, h, t, S]
            return torch.stack([read.weights() for read in reads], dim=1).index_select(1, head).index_select(2, row)
        return torch.stack([reads[layer].weights(rows=row) for layer in head.tolist()], dim=1)  # [B, h, t, S]

    return Attended(top.context, weigh, (batch, len(reads), queries, keys), state=top.state, impl=top.impl)
