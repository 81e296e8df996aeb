"""Memory and read and write heads of a Neural Turing Machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.aligners.addressing import Addressing, Initial
from regard.nn.attention_module import CapturableModule
from regard.nn.memory import Memory
from regard.nn.scores.cosine import Cosine
from regard.nn.state import AttentionState
from regard.ops.attended import Attended
from regard.ops.cosine import inverse_length
from regard.ops.ntm_memory import ntm_read, ntm_write
from regard.ops.softmax import full_precision

SOFTNESS = 1e-2
"""ε of rows that are as long as √(|M_i|² + ε²), where they are looked for by content.

The slope of a cosine is one over the length of the row: without this 10⁵ and more where nothing was written yet.
"""


@dataclass(frozen=True, eq=False)
class NTMMemory:
    """The memory of a Neural Turing Machine: N rows of width M. Writing returns a new tape; the old one stays.

    Attributes:
        matrix: [B, N, M].

    Graves, Wayne & Danihelka 2014, section 3; see `regard.ops.ntm_write`.

    >>> tape = NTMMemory.constant(batch=1, rows=3, width=2)
    >>> second, ones = torch.tensor([[[0.0, 1.0, 0.0]]]), torch.ones(1, 1, 2)
    >>> tape = tape.write(second, erase=ones, add=7 * ones)
    >>> tape.read(second)
    tensor([[[7., 7.]]])
    """

    matrix: Tensor

    @staticmethod
    def constant(
        batch: int,
        rows: int,
        width: int,
        value: float = 1e-6,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> NTMMemory:
        """Create a memory of one constant. A small constant trains faster than random rows (Collier & Beel 2018)."""
        return NTMMemory(torch.full((batch, rows, width), value, device=device, dtype=dtype))

    @property
    def size(self) -> int:
        """N, number of rows."""
        return self.matrix.shape[1]

    def compared(self, aimed: Tensor) -> Tensor:
        """Compute β cos(q, M_i) per head and row: β q / |q| [B, H, M] -> [B, H, N], in float32 for half precision.

        Keys [B, H, M + 1] include a bias: rows get an additional component of 1.
        """
        rows = self.matrix.to(aimed.dtype)
        if aimed.shape[-1] > rows.shape[-1]:
            rows = F.pad(rows, (0, 1), value=1.0)  # [B, N, M + 1]
        with full_precision(rows):
            return (aimed @ rows.mT) * inverse_length(rows, SOFTNESS).unsqueeze(1)

    def read(self, weights: Tensor) -> Tensor:
        """Read with `weights` [B, H, N] of heads, [B, H, M]."""
        return ntm_read(self.matrix, weights)

    def write(self, weights: Tensor, erase: Tensor, add: Tensor) -> NTMMemory:
        """Return the tape after heads with `weights` [B, H, N] erase `erase` and add `add`, each [B, H, M]."""
        return NTMMemory(ntm_write(self.matrix, weights, erase, add))

    def select(self, rows: Tensor) -> NTMMemory:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        return NTMMemory(self.matrix.index_select(0, rows))


class HeadsOutput(NamedTuple):
    """Output of a step of heads: the read [B, R * M], the updated tape, and the state of the heads."""

    read: Tensor
    tape: NTMMemory
    state: AttentionState


class StackedMaps(NamedTuple):
    """Stacked linear maps of the same input: W [P, C], b [P], and the output width of each map."""

    weight: Tensor
    bias: Tensor
    sizes: list[int]


class NTMHeads(CapturableModule):
    r"""Heads that address rows of a tape; the first R of them read, the others erase and add.

    .. math:: w = \mathrm{address}(x, M), \quad r_h = \sum_i w_h(i)\, M_i, \quad
              e = \sigma(W_e x), \quad a = \tanh(W_a x), \quad
              M'_i = M_i \odot \prod_h (1 - w_h(i)\, e_h) + \sum_h w_h(i)\, a_h

    All heads address and read the tape before any of them writes.

    Args:
        query_dim: width of the controller's output x.
        row_dim: M, width of a row of the tape.
        reads: R, number of read heads.
        writes: W, number of write heads.
        shifts: offsets of the shift, see `Addressing`.
        initial: where the heads start, see `Addressing`.
        key_bias: extend rows by a component of 1 before the comparison with keys. Without it a row of zeros has cosine
            0 with every key. Not in the paper.

    Parameters: those of `score` (`Cosine`) and `align` (`Addressing`), of all R + W heads, `erase_map` W_e, `add_map`
    W_a, with biases.

    Hooks receive the weightings [B, R + W, 1, N], with reads of the tape *before* the write as the context.

    Graves, Wayne & Danihelka 2014, section 3. The paper does not bound a; tanh keeps the tape bounded.

    >>> heads, tape = NTMHeads(query_dim=7, row_dim=5, reads=2), NTMMemory.constant(batch=2, rows=16, width=5)
    >>> read, tape, state = heads(torch.randn(2, 1, 7), tape)
    >>> read, tape, state = heads(torch.randn(2, 1, 7), tape, state)
    >>> read.shape, tape.matrix.shape, state.step
    (torch.Size([2, 10]), torch.Size([2, 16, 5]), 2)
    """

    def __init__(
        self,
        query_dim: int,
        row_dim: int,
        *,
        reads: int = 1,
        writes: int = 1,
        shifts: int = 3,
        initial: Initial = "peaked",
        key_bias: bool = False,
    ) -> None:
        super().__init__()
        if reads < 0 or writes < 1:
            raise ValueError(f"Heads: at least one writes, and not less than none reads; got {writes} and {reads}")
        self.reads, self.writes = reads, writes
        self.score = Cosine(query_dim, row_dim + key_bias, num_heads=reads + writes, softness=SOFTNESS)
        self.align = Addressing(query_dim, num_heads=reads + writes, shifts=shifts, initial=initial)
        self.erase_map = nn.Linear(query_dim, writes * row_dim)
        self.add_map = nn.Linear(query_dim, writes * row_dim)

    def joined(self) -> StackedMaps:
        """Stack all maps, so that a step needs one product; computed once per sequence."""
        score, align = self.score, self.align
        assert score.query_map is not None
        maps = (
            *(score.query_map, score.strength_map, align.gate_map, align.shift_map, align.sharpness_map),
            *(self.erase_map, self.add_map),
        )
        weight, bias = torch.cat([one.weight for one in maps]), torch.cat([one.bias for one in maps])
        return StackedMaps(weight, bias, [one.out_features for one in maps])

    def forward(
        self, query: Tensor, tape: NTMMemory, state: AttentionState | None = None, joined: StackedMaps | None = None
    ) -> HeadsOutput:
        """Read and write once: query [B, 1, Cq]; `state` None for the start; `joined()` where it is at hand."""
        if query.dim() != 3 or query.shape[1] != 1:
            raise ValueError(f"Heads read and write once a call: query must be [B, 1, Cq]; got {list(query.shape)}")
        weight, bias, sizes = self.joined() if joined is None else joined
        direction, strength, *knobs, erase, add = F.linear(query, weight, bias).split(sizes, dim=-1)
        content = tape.compared(self.score.aim(direction, strength).squeeze(2)).softmax(-1).unsqueeze(2)
        state = self.start(tape) if state is None else state
        weights, past, _ = self.align.place(content, knobs, state)
        places, after = weights.squeeze(2), AttentionState(state.step + 1, state.score, past)
        if self._watchers:
            self.show(Attended.from_weights(tape.read(places).flatten(1).unsqueeze(1), weights, state=after))
        reading, writing = places.split((self.reads, self.writes), dim=1)
        shape = (len(query), self.writes, tape.matrix.shape[2])
        written = tape.write(writing, erase.sigmoid().view(shape), add.tanh().view(shape))
        return HeadsOutput(tape.read(reading).flatten(1), written, after)

    def start(self, tape: NTMMemory) -> AttentionState:
        """Return the state of the heads before the first step."""
        rows = tape.matrix.unsqueeze(1)  # [B, 1, N, M]
        return AttentionState(0, (), self.align.start(Memory(rows.expand(-1, self.reads + self.writes, -1, -1), rows)))
