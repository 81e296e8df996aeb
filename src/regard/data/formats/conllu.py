"""Reader of the CoNLL-U format of Universal Dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from regard.data.example import BadLine, DataReader, Example, Value, good_lines
from regard.data.problems import DataError, shortened

NAMES = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
READABLE = ("form", "lemma", "upos", "xpos", "feats", "deprel")
"""Supported columns."""

_WORD = re.compile(r"[1-9][0-9]{0,8}")
_BESIDE = re.compile(r"[0-9]{1,9}[-.][0-9]{1,9}")
"""Id of a line that is not a word of the sentence: a multiword token, 3-4, or an empty node, 3.1."""


@dataclass(frozen=True)
class Conllu(DataReader):
    """One word per line in ten tab-separated columns, blank lines between sentences; fields are lists of words or tags.

    Comments, multiword tokens (`3-4`) and empty nodes (`3.1`, of enhanced dependencies) are skipped. A space inside a
    form, as in `20 000`, becomes "_", since input sentences are split at spaces in prediction. A bad line makes its
    whole sentence bad.

    Args:
        path: the file.
        columns: mapping from field to column name: form, lemma, upos, xpos, feats or deprel.

    The format: https://universaldependencies.org/format.html

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "dev.conllu"
    >>> rows = ("1-2 im _ _", "1 in in ADP", "2 dem der DET", "3 Haus Haus NOUN")
    >>> lines = ["\\t".join(f"{row} _ _ _ _ _ _".split()) for row in rows]
    >>> _ = path.write_text("\\n".join(["# text = im Haus", *lines]))
    >>> [example.fields for example in Conllu(path)]
    [{'text': ['in', 'dem', 'Haus'], 'tags': ['ADP', 'DET', 'NOUN']}]
    """

    path: str | Path
    columns: Mapping[str, str] = field(default_factory=lambda: {"text": "form", "tags": "upos"})

    def __post_init__(self) -> None:
        for name in self.columns.values():
            if name not in READABLE:
                raise DataError(f"there is no column {name!r} of CoNLL-U; there are {', '.join(READABLE)}")

    def asking(self, columns: Mapping[str, Any]) -> Self:
        return replace(self, columns=columns, questions=True)

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per sentence."""
        path = Path(self.path)
        words: list[list[str]] = []
        bad: BadLine | None = None
        start = 0
        for line in good_lines(path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                bad = bad or line
            elif line.text.strip():
                start = start or line.number
                if bad is None and not line.text.startswith("#"):
                    bad = _add(line.text, words, f"{path}:{line.number}")
            else:
                yield from self._sentence(words, bad, f"{path}:{start}")
                words, bad, start = [], None, 0
        yield from self._sentence(words, bad, f"{path}:{start}")

    def _sentence(self, words: list[list[str]], bad: BadLine | None, where: str) -> Iterator[Example | BadLine]:
        """Yield the example or bad line of a block of lines; nothing for a block of comments."""
        if bad is not None:
            yield bad
        elif words:
            places = {name: NAMES.index(column) for name, column in self.columns.items()}
            values: dict[str, Value] = {name: [word[place] for word in words] for name, place in places.items()}
            yield Example(values, where)


def _add(line: str, words: list[list[str]], where: str) -> BadLine | None:
    """Append a line to its sentence if it is a word; return a `BadLine` if it is invalid."""
    cells = [" ".join(cell.split()).replace(" ", "_") for cell in line.split("\t")]
    number = shortened(cells[0])
    if len(cells) != len(NAMES):
        return BadLine(where, f"the line has {len(cells)} columns with tabs between; CoNLL-U has {len(NAMES)}")
    if _BESIDE.fullmatch(cells[0]):
        return None
    if not _WORD.fullmatch(cells[0]):
        return BadLine(where, f"the id {number!r} is none: a word has a number (3), a token of several two (3-4)")
    if int(cells[0]) != len(words) + 1:
        return BadLine(where, f"the id is {number}, and the next word of the sentence is {len(words) + 1}")
    if not all(cells):
        return BadLine(where, f"the column {NAMES[cells.index('')]} is empty; CoNLL-U writes '_' there")
    words.append(cells)
    return None
