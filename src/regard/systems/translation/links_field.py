"""Token links of training pairs, derived from word links, for guided alignment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from regard.alignment.attention_links import words_of_pieces
from regard.alignment.links import Links, check_links, parse_pharaoh, pharaoh, read_links
from regard.alignment.sentence_pairs import SentencePair
from regard.alignment.statistical import ITERATIONS, AlignerName, align
from regard.data.batching.mixture import Mixture
from regard.data.example import Example, Examples, WrappedExamples
from regard.data.fields.column import Column, EncodedRows, Ints, Part
from regard.data.fields.field import Field
from regard.data.fields.field_encoder import FieldEncoder
from regard.data.fields.padding import PaddedArray, PaddingRule
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import DataError

LINKS = "links"
"""The field of links in a corpus."""
_NONE = -1


class Linker(Protocol):
    """Source of the links of training pairs."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that are read."""

    def __call__(self, index: int, example: Example) -> Links:
        """Return the links of an example, given its number among all."""


@dataclass(frozen=True)
class FileLinker:
    """Links from a file in the Pharaoh format, one line per line of the training file.

    Attributes:
        path: path of the file.
    """

    path: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    @cached_property
    def _links(self) -> list[Links]:
        return read_links(self.path)

    def __call__(self, index: int, example: Example) -> Links:
        line = example.line
        if line is None or line > len(self._links):
            raise DataError(
                f"{self.path} has {len(self._links)} lines of links and none for {example.where}; line n belongs to "
                "line n of the training file"
            )
        links, pair = self._links[line - 1], _pair(example)
        check_links(self.path, line, links, (len(pair.source_words), len(pair.target_words)))
        return links

    def __repr__(self) -> str:
        return "FileLinker()"  # the hash of the data includes the content of the file, not its path


@dataclass(frozen=True)
class AlignerLinker:
    """Links of a statistical aligner fitted to the training pairs, symmetrised over both directions.

    Attributes:
        examples: the training pairs.
        name: name of the aligner.
    """

    examples: Examples
    name: AlignerName

    @property
    def files(self) -> tuple[Path, ...]:
        """None beyond those of the examples."""
        return ()

    @cached_property
    def _links(self) -> list[Links]:
        return align([_pair(example) for example in self.examples], self.name)

    def __call__(self, index: int, example: Example) -> Links:
        return self._links[index]

    def __repr__(self) -> str:
        return f"AlignerLinker({self.name}, {ITERATIONS})"


@dataclass(frozen=True)
class WithLinks(WrappedExamples):
    """Examples with an additional field: the texts and their word links.

    Attributes:
        linker: source of the links; None for evaluation data without links.
    """

    linker: Linker | None

    @property
    def files(self) -> tuple[Path, ...]:
        """Files of the examples and of the links."""
        return (*self.examples.files, *(() if self.linker is None else self.linker.files))

    def settings(self) -> str:
        """Those of the examples, and the source of the links."""
        return f"WithLinks({self.examples.settings()}, {self.linker!r})"

    def __iter__(self) -> Iterator[Example]:
        for index, example in enumerate(self.examples):
            links = frozenset() if self.linker is None else self.linker(index, example)
            value = (*_pair(example), pharaoh(links))
            yield example._replace(fields={**example.fields, LINKS: value})

    @classmethod
    def without(cls, examples: Examples) -> Examples:
        """Return evaluation examples, without links."""
        return examples.each(cls.without) if isinstance(examples, Mixture) else cls(examples, None)

    @classmethod
    def of(cls, examples: Examples, links: Path | None, name: AlignerName) -> Examples:
        """Return training examples with links from a file or from an aligner.

        Raises:
            DataError: there is one file of links but several training files.
        """
        if not isinstance(examples, Mixture):
            return cls(examples, AlignerLinker(examples, name) if links is None else FileLinker(links))
        if links is not None:
            raise DataError(
                "train.guided.links: a file of links belongs to one training file, and there are several; join them, "
                "or leave links out, and an aligner makes them"
            )
        return examples.each(lambda part: cls(part, AlignerLinker(part, name)))


@dataclass(frozen=True)
class LinksField(Field[FieldEncoder]):
    """Links between tokens, [B, N, 2]: indices of target and source token; -1 for padding.

    Values are (source text, target text, links of words in the Pharaoh format).

    Attributes:
        source, target: the tokenizers.
    """

    LEARNS: ClassVar[bool] = False

    source: Tokenizer | None = None
    target: Tokenizer | None = None

    @property
    def fingerprint(self) -> str:
        assert self.source is not None
        assert self.target is not None
        return f"{self.source.fingerprint} {self.target.fingerprint}"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("pieces", inner=(2,)),)

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        rows = [self._pieces(*value) for value in values]
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        every = [link for row in rows for link in row]
        return {"pieces": EncodedRows(np.array(every, np.int32).reshape(-1, 2), counts)}

    def predicted(self, column: Column) -> Ints:
        return column.counts("pieces")

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        rows = column.rows("pieces", examples)
        found = np.full((len(rows), max(map(len, rows), default=0), 2), _NONE, np.int64)
        for number, row in enumerate(rows):
            found[number, : len(row)] = row
        return {name: PaddedArray(found, PaddingRule(_NONE, (0, 0, None)))}

    def _pieces(self, source: str, target: str, text: str) -> list[tuple[int, int]]:
        """Return (target token, source token) for all tokens of linked words."""
        links = parse_pharaoh(text)
        if not links:
            return []
        here, there = _pieces_by_word(self.source, source), _pieces_by_word(self.target, target)
        return sorted(
            (row, column) for word, other in links for row in there.get(other, ()) for column in here.get(word, ())
        )


def _pieces_by_word(tokenizer: Tokenizer | None, text: str) -> dict[int, list[int]]:
    assert tokenizer is not None
    found: dict[int, list[int]] = {}
    for piece, word in enumerate(words_of_pieces(text, tokenizer.places(text))):
        found.setdefault(word, []).append(piece)
    return found


def _pair(example: Example) -> SentencePair:
    source, target = example.fields["source"], example.fields["target"]
    if not isinstance(source, str) or not isinstance(target, str):
        raise DataError(f"{example.where}: links are of words of texts, and a field here is a list; leave guided out")
    return SentencePair(source, target)
