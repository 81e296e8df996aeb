"""Batch: padded tensors of several examples, and their collation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batching.corpus import Corpus
from regard.data.fields.padding import PaddingRule
from regard.data.problems import DataError

if TYPE_CHECKING:
    from dataclasses import Field as DataclassField


class _View(Protocol):
    """A dataclass whose attributes are tensors of a batch."""

    __dataclass_fields__: ClassVar[dict[str, DataclassField[Any]]]


View = TypeVar("View", bound=_View)


@dataclass(frozen=True)
class Batch:
    """Padded tensors by name.

    Code that knows its fields accesses them through a dataclass with an attribute per tensor, which is type-checked:
    `pair = batch.view(PairBatch)`, `pair.source`. Code that gets the field name as an argument uses `batch[name]`. The
    kind of a field defines its tensors (`Field.collate`): a field of tokens has ids [B, T] and `<field>_lengths` [B].

    Attributes:
        tensors: the tensors by name.
        indices: corpus indices of the examples, in order.
        tokens: number of target tokens to predict, including `</s>`, without `<s>` and padding.
        begins: False for a window that continues the text of the previous batch, so that the state is carried over.
        padding: padding rule of each tensor that may be padded to a larger size. Tensors without a rule have a fixed
            size, such as the windows of a stream.

    >>> @dataclass(frozen=True)
    ... class Pair:
    ...     source: Tensor  # [B, S]
    ...     target: Tensor | None = None  # [B, T]
    >>> pair = Batch({"source": torch.ones(2, 3)}, (0, 1), 6).view(Pair)
    >>> pair.source.shape, pair.target
    (torch.Size([2, 3]), None)
    """

    tensors: dict[str, Tensor]
    indices: tuple[int, ...]
    tokens: int
    begins: bool = True
    padding: Mapping[str, PaddingRule] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """B, the number of examples."""
        return len(self.indices)

    def view(self, kind: type[View]) -> View:
        """Return the tensors as a dataclass; attributes with a default are optional.

        Raises:
            KeyError: a required tensor is missing.
        """
        needed = {one.name: one.default is MISSING for one in fields(kind)}
        return kind(**{name: self[name] for name, must in needed.items() if must or name in self.tensors})

    def __getitem__(self, name: str) -> Tensor:
        if name in self.tensors:
            return self.tensors[name]
        raise KeyError(f"the batch has no {name!r}; it has {', '.join(self.tensors)}")

    def __contains__(self, name: object) -> bool:
        return name in self.tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Batch:
        """Return a copy of the batch on another device."""
        moved = {name: tensor.to(device, non_blocking=non_blocking) for name, tensor in self.tensors.items()}
        return replace(self, tensors=moved)

    def pin_memory(self) -> Batch:
        """Return a copy of the batch in page-locked memory, for faster and asynchronous transfers to a GPU."""
        return replace(self, tensors={name: tensor.pin_memory() for name, tensor in self.tensors.items()})


class Collator:
    """Collates examples of a corpus, specified by index, to a batch; no indices give an empty batch.

    Args:
        corpus: the examples; the kinds of its fields define padding, `<s>` and `</s>`.
        counted: the field whose tokens are counted as targets; None for the last field.

    >>> from tempfile import mkdtemp
    >>> from regard.data import Tokenizer, TokensField
    >>> from regard.systems.translation.digits import Digits
    >>> data = Digits("copy", size=9)
    >>> words = Tokenizer.train((example.fields["source"] for example in data), kind="words")
    >>> fields = {"source": TokensField(words), "target": TokensField(words, begin=True, end=True)}
    >>> batch = Collator(Corpus.build(data, fields, mkdtemp()))([0, 3, 1])
    >>> bool((batch["target_lengths"] == batch["source_lengths"] + 2).all()), batch["target"][:, 0].tolist()
    (True, [2, 2, 2])
    """

    def __init__(self, corpus: Corpus, *, counted: str | None = None) -> None:
        self.corpus = corpus
        self.counted = counted or corpus.fields[-1]
        if self.counted not in corpus.fields:
            raise DataError(f"the corpus has no field {counted!r} to count; it has {', '.join(corpus.fields)}")
        self._predicted = corpus.counts(self.counted)

    def lengths(self, *names: str) -> NDArray[np.int64]:
        """Return the width of each example in a padded batch per field, [N, F], as `Batches` expects it.

        Args:
            names: the fields; by default all whose lengths count towards the budget.
        """
        chosen = names or self.corpus.fields
        cells = {name: self.corpus.kinds[name].cells(self.corpus.column(name)) for name in chosen}
        counting = [column for column in cells.values() if column is not None]
        return np.stack(counting or [np.ones(len(self.corpus), np.int64)], axis=1)

    def __call__(self, indices: Sequence[int] | NDArray[np.int64]) -> Batch:
        chosen = np.asarray(indices, np.int64)
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(self.corpus):
            raise IndexError(f"examples {chosen.min()} to {chosen.max()} of {len(self.corpus)}")
        tensors: dict[str, Tensor] = {}
        padding: dict[str, PaddingRule] = {}
        for name, kind in self.corpus.kinds.items():
            for key, padded in kind.collate(name, self.corpus.column(name), chosen).items():
                tensors[key], padding[key] = torch.from_numpy(padded.values), padded.padding  # shares memory, no copy
        return Batch(tensors, tuple(chosen.tolist()), int(self._predicted[chosen].sum()), padding=padding)


def padded(rows: Sequence[Sequence[int] | NDArray[np.int32]], pad: int) -> Tensor:
    """Return rows of ids as one tensor [B, T], padded with `pad`."""
    width = max((len(row) for row in rows), default=0)
    table = np.full((len(rows), width), pad, np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return torch.from_numpy(table)
