"""The linear aligner: energies as they are."""

from __future__ import annotations

from torch import Tensor

from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.memory import Memory
from regard.nn.state import State
from regard.ops.linear import masked_linear


class Raw(Aligner):
    """Energies as weights, zero where the mask forbids: a = e. No parameters. See `ops.masked_linear`.

    The "linear start" of memory networks: Sukhbaatar et al. 2015, section 4.2.

    >>> import torch
    >>> from regard.nn import Attention, Dot
    >>> row = torch.tensor([[[1.0, 2.0]]])
    >>> Attention(Dot(), Raw())(row, torch.cat((row, -row), 1)).weights()     # 1 + 4, and its negative
    tensor([[[ 5., -5.]]])
    """

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: State) -> Aligned:
        return Aligned(masked_linear(energy, memory.mask))
