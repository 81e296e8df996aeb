"""Field of records, mappings from names to texts, as input of data-to-text generation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Self

from regard.data.fields.column import Column, EncodedRows, Ints, Part, all_below, concatenate_rows
from regard.data.fields.field import Field
from regard.data.fields.field_encoder import FieldEncoder
from regard.data.fields.labels import names_of
from regard.data.fields.padding import PER_EXAMPLE, PaddedArray, PaddingRule, nested, table
from regard.data.fields.sentences import encoded_sentences
from regard.data.fields.tokenizer import Tokenizer
from regard.data.fields.tokens import Learner, learn_words
from regard.data.problems import DataError
from regard.specials import PAD, UNK

Record = Mapping[str, str]

_FIRST = 2  # ids of names: 0 is padding, 1 an unknown name


@dataclass(frozen=True)
class NamedTexts(FieldEncoder):
    """Vocabulary of names, with an id for unknown names, and the tokenizer of their texts.

    Attributes:
        names: all names in the training data, sorted.
        tokenizer: tokenizer of the texts.
    """

    FILE: ClassVar[str] = "named_texts"

    names: tuple[str, ...]
    tokenizer: Tokenizer

    @property
    def size(self) -> int:
        """Size of the vocabulary of the texts."""
        return self.tokenizer.size

    @property
    def num_names(self) -> int:
        """Number of name ids, including padding and the unknown name."""
        return len(self.names) + _FIRST

    @property
    def fingerprint(self) -> str:
        return json.dumps([self.names, self.tokenizer.fingerprint], ensure_ascii=False)

    def ids(self, names: Iterable[str]) -> list[int]:
        """Return the ids of names."""
        return [self._numbers.get(name, UNK) for name in names]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names, start=_FIRST)}

    def save(self, path: str | Path) -> None:
        """Write names and tokenizer as JSON."""
        content = {"names": self.names, "tokenizer": json.loads(self.tokenizer.json)}
        Path(path).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls(names_of(content["names"], path), Tokenizer(json.dumps(content["tokenizer"])))
        except DataError:
            raise
        except Exception as error:  # the library of tokenizers raises a bare Exception
            raise DataError(f"{path} does not have names and a tokenizer: {error!r}") from error


@dataclass(frozen=True)
class RecordField(Field[NamedTexts]):
    """A mapping from names to texts: texts [B, R, J], names [B, R] in `<field>_names`, and their number [B].

    The order of the names is that of the example.

    Attributes:
        learner: function that learns a tokenizer from texts.

    >>> field = RecordField(NamedTexts(("area", "name"), Tokenizer.train(["by the river"], kind="words")))
    >>> {name: part.values.tolist() for name, part in field.encode([{"area": "the river", "food": "rice"}]).items()}
    {'ids': [6, 5, 3, 1, 3], 'names': [2, 1]}
    """

    learner: Learner = field(default=learn_words, repr=False, compare=False)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("ids"), Part("names"))

    def learn(self, values: Iterable[Any]) -> NamedTexts:
        records = [_checked(value) for value in values]
        names = tuple(sorted({name for record in records for name in record}))
        if not names:
            raise DataError("there are no records in the training data")
        return NamedTexts(names, self.learner(chain.from_iterable(record.values() for record in records)))

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        records, encoder = [_checked(value) for value in values], self.learned
        texts = encoded_sentences([list(record.values()) for record in records], encoder.tokenizer.encode_all)
        return {
            "ids": concatenate_rows(texts, "int32"),
            "names": concatenate_rows([encoder.ids(record) for record in records], "int32"),
        }

    def cells(self, column: Column) -> Ints:
        return column.counts("ids")

    def predicted(self, column: Column) -> Ints:
        return column.counts("ids")

    def fits(self, column: Column) -> bool:
        ids, names = column.values["ids"], column.values["names"]
        return self.encoder is None or (all_below(ids, self.encoder.size) and all_below(names, self.encoder.num_names))

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        words, counts = nested(column.rows("ids", examples))
        names = table(column.values["names"], column.offsets["names"][examples], counts, pad=PAD)
        return {
            name: PaddedArray(words, PaddingRule(PAD, (0, 0, 0))),
            f"{name}_names": PaddedArray(names, PaddingRule(PAD, (0, 0))),
            f"{name}_lengths": PaddedArray(counts, PER_EXAMPLE),
        }


def _checked(value: Any) -> Record:
    if not isinstance(value, Mapping) or not all(isinstance(one, str) for pair in value.items() for one in pair):
        raise DataError(f"{value!r} is no record; give a mapping of names to texts")
    return value
