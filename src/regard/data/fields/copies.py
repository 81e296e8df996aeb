"""Copy mechanism: ids in a vocabulary extended by the unknown words of each source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from regard.data.batching.mixture import Mixture
from regard.data.example import Example, Examples, WrappedExamples
from regard.data.fields.column import Column, EncodedRows, Ints, Part, concatenate_rows
from regard.data.fields.field import Field
from regard.data.fields.field_encoder import FieldEncoder
from regard.data.fields.padding import PaddedArray, PaddingRule, table
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import DataError
from regard.specials import PAD, UNK

COPIES = "copies"
"""Name of the field of copy ids in a corpus."""


class CopySource(NamedTuple):
    """A source text with the ids for copying its tokens.

    Attributes:
        words: the original words, one per source token; empty for subword tokenizers.
        ids: the ids in the extended target vocabulary, one per source token.
    """

    words: list[str]
    ids: list[int]


@dataclass(frozen=True)
class CopyVocabulary:
    """Target vocabulary of V ids, extended per source: the unknown word at position i has the id V + i.

    A repeated word has the id of its first occurrence. Word tokenizers copy words. A joint subword tokenizer copies
    its pieces, which are all in the vocabulary, so it needs no extension.

    Attributes:
        source, target: the tokenizers.

    >>> source = Tokenizer.train(["where is Ann"], kind="words")
    >>> copies = CopyVocabulary(source, Tokenizer.train(["Ann is here"], kind="words"))
    >>> copied = copies.source_of(["is Bo here, Bo?"])
    >>> copied.ids, copies.wanted("Bo is", copied)
    ([6, 8, 5, 10, 8, 12], [8, 6])
    >>> copies.text([8, 6], copied)
    'Bo is'
    """

    source: Tokenizer
    target: Tokenizer
    _known: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self._of_words and self.source != self.target:
            raise ValueError(
                "copy is of tokens that source and target share: of two tokenizers of kind words, or of a joint one; "
                f"they are of the kinds {self.source.kind} and {self.target.kind}"
            )

    def source_of(self, texts: Sequence[str]) -> CopySource:
        """Return the copy ids of the concatenation of some texts."""
        if not self._of_words:
            return CopySource([], [*chain.from_iterable(self.source.encode_all(list(texts)))])
        words = [text[begin:end] for text in texts for begin, end in self.source.places(text)]
        self._look_up(words)
        ids, first = list[int](), dict[str, int]()
        for position, word in enumerate(words):
            known = self._known[word]
            ids.append(known if known != UNK else first.setdefault(self.target.normal(word), position + self.size))
        return CopySource(words, ids)

    def wanted(self, text: str, copied: CopySource) -> list[int]:
        """Return the ids of a target; out-of-vocabulary words that occur in the source have extended ids."""
        ids = self.target.encode(text)
        if not self._of_words or UNK not in ids:
            return ids
        words = [text[begin:end] for begin, end in self.target.places(text)]
        there = {self.target.normal(word): index for word, index in zip(*copied, strict=True) if index >= self.size}
        return [
            there.get(self.target.normal(word), UNK) if index == UNK else index
            for word, index in zip(words, ids, strict=True)
        ]

    def tokens(self, ids: Sequence[int], copied: CopySource) -> list[str]:
        """Return a printable token per id; extended ids are words of the source."""
        size = self.size
        return [copied.words[one - size] if one >= size else self.target.tokens([one])[0] for one in ids]

    def text(self, ids: Sequence[int], copied: CopySource) -> str:
        """Decode ids to text."""
        if not self._of_words:
            return self.target.decode(ids)
        return self.target.joined([word for word in self.words(ids, copied) if word])

    def words(self, ids: Sequence[int], copied: CopySource) -> list[str]:
        """Return the word of each id; empty for special ids other than `<unk>`."""
        size = self.size
        return [copied.words[one - size] if one >= size else self.target.decode([one]) for one in ids]

    @property
    def size(self) -> int:
        """V."""
        return self.target.size

    @property
    def _of_words(self) -> bool:
        return self.source.kind == self.target.kind == "words"

    def _look_up(self, words: Sequence[str]) -> None:
        new = [word for word in dict.fromkeys(words) if word not in self._known]
        for word, ids in zip(new, self.target.encode_all(new) if new else [], strict=True):
            self._known[word] = ids[0] if len(ids) == 1 else UNK


@dataclass(frozen=True)
class CopiesField(Field[FieldEncoder]):
    """Copy ids of a source, [B, S], and of its target in `<field>_target`, [B, T].

    Values are pairs of a source and a target text (`WithCopies`). Targets have `<s>` and `</s>`, as all predicted
    texts.

    Attributes:
        vocabulary: the extended vocabulary.
    """

    LEARNS: ClassVar[bool] = False

    vocabulary: CopyVocabulary | None = None

    @property
    def fingerprint(self) -> str:
        assert self.vocabulary is not None
        return f"{self.vocabulary.source.fingerprint} {self.vocabulary.target.fingerprint}"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("ids"), Part("target"))

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        assert self.vocabulary is not None
        copied = [self.vocabulary.source_of(texts) for texts, _ in values]
        wanted = [self.vocabulary.wanted(target, one) for one, (_, target) in zip(copied, values, strict=True)]
        return {
            "ids": concatenate_rows([one.ids for one in copied], "int32"),
            "target": concatenate_rows(wanted, "int32"),
        }

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        ids, wanted = (_table(column, part, examples, part == "target") for part in ("ids", "target"))
        return {
            name: PaddedArray(ids, PaddingRule(PAD, (0, 0))),
            f"{name}_target": PaddedArray(wanted, PaddingRule(PAD, (0, 1))),
        }


@dataclass(frozen=True)
class WithCopies(WrappedExamples):
    """Examples with an additional field: the pair of source and target texts.

    Attributes:
        source, target: names of the source and target fields.
    """

    source: str
    target: str

    @classmethod
    def of(cls, examples: Examples, source: str, target: str) -> Examples:
        """Return examples with the field of copies; for a mixture, applied to each part."""
        if isinstance(examples, Mixture):
            return examples.each(lambda part: cls(part, source, target))
        return cls(examples, source, target)

    def settings(self) -> str:
        """Return the settings of the wrapped examples."""
        return f"WithCopies({self.examples.settings()}, {self.source}, {self.target})"

    def __iter__(self) -> Iterator[Example]:
        for example in self.examples:
            texts, target = texts_of(example.fields[self.source]), example.fields[self.target]
            if texts is None or not isinstance(target, str):
                raise DataError(f"{example.where}: copy reads texts, and a field here is a list; leave copy out")
            yield example._replace(fields={**example.fields, COPIES: (texts, target)})


def texts_of(value: Any) -> list[str] | None:
    """Return the texts of a source: the text itself, or the values of a record; None for other types."""
    if isinstance(value, str):
        return [value]
    return [str(text) for text in value.values()] if isinstance(value, Mapping) else None


def _table(column: Column, part: str, examples: Ints, framed: bool) -> Ints:
    begins = column.offsets[part][examples]
    counts = column.offsets[part][examples + 1] - begins
    return table(column.values[part], begins, counts, pad=PAD, first=framed, last=framed)
