"""Field of records: the tokens of all values in one sequence, each annotated with its field."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from regard.data.fields.column import Column, Ints
from regard.data.fields.padding import PER_EXAMPLE, PaddedArray, PaddingRule
from regard.data.fields.record import NamedTexts, RecordField
from regard.specials import EOS, PAD


@dataclass(frozen=True)
class RecordTexts(NamedTexts):
    """`NamedTexts` that also store the field names common to all training records.

    Attributes:
        always: these names, sorted.
    """

    FILE: ClassVar[str] = "record_texts"

    always: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        return f"{super().fingerprint} {self.always}"

    def save(self, path: str | Path) -> None:
        super().save(path)
        content = json.loads(Path(path).read_text(encoding="utf-8")) | {"always": self.always}
        Path(path).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        plain = NamedTexts.load(path)
        always = json.loads(Path(path).read_text(encoding="utf-8")).get("always", ())
        return cls(plain.names, plain.tokenizer, tuple(map(str, always)))


@dataclass(frozen=True)
class FlatRecordField(RecordField):
    """Records as token rows [B, S, 3] (token id, field name id, field index), and their lengths [B].

    >>> from regard.data import Tokenizer
    >>> flat_record([7, 8, 3, 9, 3], [5, 4]).tolist()
    [[7, 5, 0], [8, 5, 0], [9, 4, 1]]
    """

    def learn(self, values: Iterable[Any]) -> RecordTexts:
        records = list(values)
        plain = super().learn(records)
        always = set.intersection(*(set(record) for record in records))
        return RecordTexts(plain.names, plain.tokenizer, tuple(sorted(always)))

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        both = zip(column.rows("ids", examples), column.rows("names", examples), strict=True)
        tokens, lengths = padded_records([flat_record(ids, names) for ids, names in both])
        return {
            name: PaddedArray(tokens, PaddingRule(PAD, (0, 0, None))),
            f"{name}_lengths": PaddedArray(lengths, PER_EXAMPLE),
        }


def flat_record(ids: Sequence[int] | Ints, names: Sequence[int] | Ints) -> Ints:
    """Return a record as rows [S, 3] of token id, field name id and field index.

    Args:
        ids: tokens of all values, each value terminated by EOS.
        names: ids of the names, one per value.
    """
    row = np.asarray(ids, np.int64)
    ends = row == EOS
    number = (np.cumsum(ends) - ends)[~ends]
    return np.stack((row[~ends], np.asarray(names, np.int64)[number], number), axis=1)


def padded_records(records: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Pad records to a batch [B, S, 3] and return it with their lengths in tokens [B]."""
    lengths = np.array([len(record) for record in records], np.int64)
    tokens = np.full((len(records), lengths.max(initial=0), 3), PAD, np.int64)
    for row, record in enumerate(records):
        tokens[row, : len(record)] = record
    return tokens, lengths


def encoded_record(record: Mapping[str, str], texts: NamedTexts) -> Ints:
    """Tokenise a record and return it as rows [S, 3] of token id, field name id and field index."""
    values = texts.tokenizer.encode_all(list(record.values()))
    return flat_record([index for value in values for index in (*value, EOS)], texts.ids(record))
