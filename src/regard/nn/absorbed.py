"""A short source with the maps of its reader folded in: what is read with two products."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.nn.memory import Memory
from regard.ops.softmax import masked_softmax


class Folded(NamedTuple):
    r"""Keys and values as a query sees them before its own map, and a context after the map that follows it.

    .. math:: q_h \cdot k_{hs} = x \cdot W^{Q\top}_h k_{hs} + b^Q_h \cdot k_{hs}, \quad
              W^O [c_1; \dots; c_H] = \sum_{hs} a_{hs} W^O_h v_{hs}

    So a read is a product, a softmax and a product, without the maps of the query and of the context. That is less to
    fetch as long as the words of the batch, once for each head, are no more than the channels. Like the keys themselves
    it is of the weights as they were when the source was first read.

    Attributes:
        key: [B, C, H * S].
        energy: [B, 1, H * S], what is added to the energies: the query's bias, and -inf where a mask forbids.
        value: [B, H * S, C].
        bias: [C], that of W^O.
        heads: H.
        masked: whether there is a mask.
    """

    key: Tensor
    energy: Tensor
    value: Tensor
    bias: Tensor
    heads: int
    masked: bool

    @staticmethod
    def of(memory: Memory, query: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor], scale: float) -> Folded | None:
        """Fold W^Q and b^Q, and W^O and b^O, into a memory; None where that is more to read.

        Args:
            memory: keys and values [B, H, S, D], C = H * D.
            query, output: a matrix [C, C] and a bias [C] each.
            scale: what energies are multiplied by.
        """
        batch, heads, size, width = memory.key.shape
        (weight, bias), (last, last_bias), channels = query, output, heads * width
        if batch * heads * size > channels:
            return None
        key = scale * memory.key
        energy = (key @ bias.view(heads, width, 1)).view(batch, 1, heads * size)
        if memory.bias is not None:
            energy = energy + memory.bias.view(batch, 1, heads * size)
        key = (key @ weight.view(heads, width, channels)).view(batch, heads * size, channels).mT
        value = (memory.value @ last.mT.view(heads, width, channels)).view(batch, heads * size, channels)
        return Folded(key, energy, value, last_bias, heads, memory.bias is not None)

    def read(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors [N, C], N / B neighbours to a row -> contexts [N, C], and weights [N, H, 1, S]."""
        rows, channels, words = self.key.shape
        energy = torch.baddbmm(self.energy, x.view(rows, -1, channels), self.key).view(len(x), self.heads, 1, -1)
        weights = masked_softmax(energy) if self.masked else energy.softmax(-1)
        context = torch.baddbmm(self.bias, weights.view(rows, -1, words), self.value)
        return context.view(x.shape), weights
