"""Reader of pretrained word vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.formats.lines import lines
from regard.data.problems import DataError, shortened


class _Entry(NamedTuple):
    """A word with its unparsed values and line number."""

    line: int
    word: str
    numbers: list[str]


@dataclass(frozen=True)
class WordVectors:
    """Word vectors in the text format of GloVe or word2vec: a word and its values per line, separated by spaces.

    A first line of two integers is the word2vec header (count and width). All lines have the same number of values as
    the first; spaces before the values belong to the word. The first of several lines with the same word is used.

    Attributes:
        path: the file; .gz is decompressed.

    Pennington, Socher & Manning 2014, "GloVe: Global Vectors for Word Representation"; Mikolov et al. 2013.

    >>> from tempfile import mkdtemp
    >>> vectors = WordVectors(Path(mkdtemp()) / "some.txt")
    >>> _ = vectors.path.write_text("2 3\\na 0.5 1 -1\\nhouse 0 2 0\\n")
    >>> vectors.width, list(vectors.words()), vectors.read(["house", "hat"])
    (3, ['a', 'house'], {'house': array([0., 2., 0.], dtype=float32)})
    """

    path: Path

    @cached_property
    def width(self) -> int:
        """Dimension of the vectors."""
        return len(next(self._entries()).numbers)

    def words(self) -> Iterator[str]:
        """Yield all words in file order, usually by descending frequency."""
        return (entry.word for entry in self._entries() if " " not in entry.word)

    def read(self, wanted: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of those of the requested words that are in the file."""
        names, found = frozenset(wanted), dict[str, NDArray[np.float32]]()
        for entry in self._entries():
            if entry.word in names and entry.word not in found:
                found[entry.word] = self._vector(entry)
        return found

    def _entries(self) -> Iterator[_Entry]:
        """Yield each line, split into word and values.

        Raises:
            DataError: the file is missing or empty, or a line does not have the same number of values as the first.
        """
        width = 0
        for line in lines(self.path):
            if line.problem is not None:
                raise DataError(f"{self.path}:{line.number}: {line.problem}")
            text = line.text.rstrip(" ")
            if line.number == 1 and _is_header(text):
                continue
            cells = text.rsplit(" ", width or -1)
            width = width or len(cells) - 1
            if not width or len(cells) != width + 1 or not cells[0]:
                raise DataError(
                    f"{self.path}:{line.number}: {shortened(text)!r} is not a word and "
                    f"{width or 'its'} numbers with spaces between; is it a file of word vectors?"
                )
            yield _Entry(line.number, cells[0], cells[1:])
        if not width:
            raise DataError(f"{self.path} has no word vectors; each line has a word and its numbers")

    def _vector(self, entry: _Entry) -> NDArray[np.float32]:
        try:
            vector = np.array(entry.numbers, dtype=np.float32)
        except ValueError:
            vector = np.full(1, np.nan, dtype=np.float32)
        if not np.isfinite(vector).all():
            wrong = next(one for one in entry.numbers if not _is_finite(one))
            raise DataError(
                f"{self.path}:{entry.line}: {shortened(wrong)!r} in the vector of {shortened(entry.word)!r} is no "
                "number; mend the line"
            )
        return vector


def _is_header(text: str) -> bool:
    cells = text.split(" ")
    return len(cells) == 2 and all(cell.isdecimal() for cell in cells)


def _is_finite(text: str) -> bool:
    try:
        return bool(np.isfinite(np.float32(text)))
    except ValueError:
        return False
