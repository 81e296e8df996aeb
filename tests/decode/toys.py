"""Small models with the generating protocol, whose answers can be known."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard import Mask
from regard.decode import Step
from regard.nn import Attention, Bilinear, Memory
from regard.ops import Weights


@dataclass(frozen=True)
class Rows:
    """A state of tensors, batch first."""

    parts: tuple[Tensor, ...]

    def select(self, rows: Tensor) -> Rows:
        return Rows(tuple(part.index_select(0, rows) for part in self.parts))


class Markov:
    """p(next | last) from a table [V, V]; no source, nothing remembered."""

    def __init__(self, table: list[list[float]] | Tensor) -> None:
        self.log_probs = torch.as_tensor(table).log()

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None) -> Rows:
        return Rows((torch.zeros(len(source) if source is not None else batch or 0),))

    def step(self, token: Tensor, state: Rows) -> Step:
        return Step(self.log_probs[token], state)


class Copy:
    """Says its source again, word by word, and looks at each word as it says it; its certainty is `sure`."""

    def __init__(self, size: int, sure: float = 0.9) -> None:
        self.size, self.sure = size, sure

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None) -> Rows:
        assert source is not None
        assert lengths is not None
        return Rows((source, lengths, torch.zeros_like(lengths)))

    def step(self, token: Tensor, state: Rows) -> Step:
        source, lengths, place = state.parts
        looked = torch.minimum(place, lengths - 1)
        word = torch.where(place < lengths, source.gather(1, looked[:, None])[:, 0], 3)
        probs = torch.full((len(token), self.size), (1 - self.sure) / (self.size - 1))
        weights = nn.functional.one_hot(looked, source.shape[1]).float()
        return Step(
            probs.scatter(1, word[:, None], self.sure).log(),
            Rows((source, lengths, place + 1)),
            Weights.of(weights[:, None, None], has_heads=False),
        )


@dataclass(frozen=True)
class Reading:
    """The state of `Random`."""

    hidden: Tensor
    memory: Memory

    def select(self, rows: Tensor) -> Reading:
        return Reading(self.hidden.index_select(0, rows), self.memory.select(rows))


class Random(nn.Module):
    """An untrained GRU that attends to embedded source words: every part of it depends on every other."""

    def __init__(self, size: int, width: int = 8, *, sharpness: float = 4.0) -> None:
        super().__init__()
        self.words = nn.Embedding(size, width)
        self.attention = Attention(Bilinear(width, width))
        self.cell = nn.GRUCell(2 * width, width)
        self.out = nn.Linear(2 * width, size)
        self.sharpness = sharpness
        self.eval()

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None) -> Reading:
        assert source is not None
        assert lengths is not None
        memory = self.attention.remember(self.words(source), mask=Mask.padding(lengths))
        return Reading(torch.zeros(len(source), self.cell.hidden_size), memory)

    def step(self, token: Tensor, state: Reading) -> Step:
        attended = self.attention.read(state.hidden[:, None], state.memory)
        context = attended.context[:, 0]
        hidden = self.cell(torch.cat((self.words(token), context), -1), state.hidden)
        logits = self.sharpness * self.out(torch.cat((hidden, context), -1))
        return Step(logits.log_softmax(-1), Reading(hidden, state.memory), attended)


def sentences(count: int, size: int, longest: int = 6) -> tuple[Tensor, Tensor]:
    """Random sources [count, longest], padded, with their lengths; the first is of full length."""
    lengths = torch.randint(1, longest + 1, (count,))
    lengths[0] = longest
    source = torch.randint(4, size, (count, longest))
    return source.masked_fill(torch.arange(longest) >= lengths[:, None], 0), lengths
