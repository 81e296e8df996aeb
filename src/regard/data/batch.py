"""Examples side by side, padded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.corpus import Corpus
from regard.data.problems import DataError
from regard.data.sentences import folded
from regard.specials import BOS, EOS, IGNORE, PAD

Table = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """Padded tensors by name: `batch.source` or `batch["source"]`.

    For pairs: source [B, S], source_lengths [B], target [B, T] (with beginning and end), target_lengths [B]. A label
    or a number is [B]; tags are [B, T] and several labels per text [B, N], padded with -100. A story of sentences is
    [B, N, J], with the number of its sentences [B]; letters of words likewise, [B, W, L].

    Attributes:
        tensors: all of them.
        indices: which examples of the corpus these are, in order.
        tokens: how many target tokens there are to predict: ends count, beginnings and padding do not.
        begins: False for a window that goes on where the batch before it stopped.
    """

    tensors: dict[str, Tensor]
    indices: tuple[int, ...]
    tokens: int
    begins: bool = True

    @property
    def size(self) -> int:
        """B, how many examples."""
        return len(self.indices)

    def __getitem__(self, name: str) -> Tensor:
        if name in self.tensors:
            return self.tensors[name]
        raise KeyError(f"the batch has no {name!r}; it has {', '.join(self.tensors)}")

    def __getattr__(self, name: str) -> Tensor:
        tensors = self.__dict__.get("tensors", {})
        if name in tensors:
            found: Tensor = tensors[name]
            return found
        raise AttributeError(f"the batch has no {name!r}; it has {', '.join(tensors)}")

    def __contains__(self, name: object) -> bool:
        return name in self.tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Batch:
        """The same batch on another device."""
        moved = {name: tensor.to(device, non_blocking=non_blocking) for name, tensor in self.tensors.items()}
        return replace(self, tensors=moved)

    def pin_memory(self) -> Batch:
        """The same batch in memory from which a GPU copies faster."""
        return replace(self, tensors={name: tensor.pin_memory() for name, tensor in self.tensors.items()})


class Collator:
    """Makes batches of a corpus from indices; none of them make a batch of no examples.

    Args:
        corpus: where the examples are.
        bos: fields that get a beginning.
        eos: fields that get an end.
        counted: the field whose tokens are counted; None for "target" if there is one, else the last field.

    >>> from tempfile import mkdtemp
    >>> from regard.data import Digits, Tokenizer
    >>> data = Digits("copy", size=9)
    >>> words = Tokenizer.train((example.fields["source"] for example in data), kind="words")
    >>> corpus = Corpus.build(data, {"source": words, "target": words}, mkdtemp())
    >>> batch = Collator(corpus)([0, 3, 1])
    >>> bool((batch.target_lengths == batch.source_lengths + 2).all()), batch.target[:, 0].tolist()
    (True, [2, 2, 2])
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        bos: Collection[str] = ("target",),
        eos: Collection[str] = ("target",),
        counted: str | None = None,
    ) -> None:
        self.corpus = corpus
        self.bos = frozenset(bos).intersection(corpus.fields)
        self.eos = frozenset(eos).intersection(corpus.fields)
        self.counted = counted or ("target" if "target" in corpus.fields else corpus.fields[-1])
        if self.counted not in corpus.fields:
            raise DataError(f"the corpus has no field {counted!r} to count; it has {', '.join(corpus.fields)}")

    def lengths(self, *fields: str) -> NDArray[np.int64]:
        """[N, F], how long each example is in the tensors of these fields (by default all of tokens); for `Batches`.

        A story counts its words, and one for each sentence.
        """
        chosen = fields or tuple(name for name, kind in self.corpus.kinds.items() if kind in ("tokens", "sentences"))
        columns = [self.corpus.lengths(name) + (name in self.bos) + (name in self.eos) for name in chosen]
        return np.stack(columns, axis=1)

    def __call__(self, indices: Sequence[int] | NDArray[np.int64]) -> Batch:
        chosen = np.asarray(indices, np.int64)
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(self.corpus):
            raise IndexError(f"examples {chosen.min()} to {chosen.max()} of {len(self.corpus)}")
        tensors: dict[str, Tensor] = {}
        for name, kind in self.corpus.kinds.items():
            begins = self.corpus.offsets(name)[chosen]
            if kind == "label":
                tensors[name] = torch.from_numpy(self.corpus.ids(name)[begins].astype(np.int64))
            elif kind == "number":
                tensors[name] = torch.from_numpy(self.corpus.ids(name)[begins].astype(np.float32))
            elif kind in ("sentences", "spelling"):
                ends = self.corpus.offsets(name)[chosen + 1]
                ids = [self.corpus.ids(name)[begin:end] for begin, end in zip(begins, ends, strict=True)]
                tensors[name], tensors[f"{name}_lengths"] = folded(ids)
            else:
                table, lengths = self._table(name, begins, self.corpus.offsets(name)[chosen + 1] - begins)
                tensors[name], tensors[f"{name}_lengths"] = torch.from_numpy(table), torch.from_numpy(lengths)
        tokens = int(self.corpus.counts(self.counted)[chosen].sum()) + len(chosen) * (self.counted in self.eos)
        return Batch(tensors, tuple(chosen.tolist()), tokens)

    def _table(self, name: str, begins: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[Table, Table]:
        """Ids that begin at `begins` [B], `counts` [B] of them, framed and padded: [B, T], and their lengths [B]."""
        first, last = name in self.bos, name in self.eos
        lengths = counts + first + last
        pad = PAD if self.corpus.kinds[name] == "tokens" else IGNORE
        table = np.full((len(counts), lengths.max(initial=first + last)), pad, np.int64)
        places = np.arange(counts.max(initial=0))
        here = places < counts[:, None]
        inner = table[:, first : first + len(places)]
        inner[here] = self.corpus.ids(name)[(begins[:, None] + places)[here]]
        if first:
            table[:, 0] = BOS
        if last:
            table[np.arange(len(counts)), lengths - 1] = EOS
        return table, lengths


def padded(rows: Sequence[Sequence[int] | NDArray[np.int32]], pad: int) -> Tensor:
    """Rows of ids as one table [B, T], filled up with `pad`."""
    width = max((len(row) for row in rows), default=0)
    table = np.full((len(rows), width), pad, np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return torch.from_numpy(table)
