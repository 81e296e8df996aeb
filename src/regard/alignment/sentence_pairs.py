"""Sentence pairs as lists of words, from two parallel files or from one file with ` ||| ` as separator."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from regard.data.formats.lines import Line, lines
from regard.data.problems import DataError

BETWEEN = "|||"
"""Separator of source and target in a file that holds both."""


class SentencePair(NamedTuple):
    """A sentence and its translation. Words are separated by white space.

    Attributes:
        source, target: the texts.
    """

    source: str
    target: str

    @property
    def source_words(self) -> list[str]:
        """Words of the source."""
        return self.source.split()

    @property
    def target_words(self) -> list[str]:
        """Words of the target."""
        return self.target.split()

    def turned(self) -> SentencePair:
        """Return the pair with source and target swapped."""
        return SentencePair(self.target, self.source)


def read_pairs(source: Path, target: Path | None = None) -> list[SentencePair]:
    """Read sentence pairs, one per line. Blank lines are kept as pairs without links.

    Args:
        source: file of source sentences; without `target` each line is `source ||| target`.
        target: file of target sentences, with the same number of lines.

    Raises:
        DataError: a line that cannot be read or has no separator, or files of different lengths.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "both"
    >>> _ = path.write_text("das Haus ||| the house\\n")
    >>> read_pairs(path)
    [SentencePair(source='das Haus', target='the house')]
    """
    if target is None:
        return [_both(source, line) for line in lines(source)]
    pairs, counts = [], [0, 0]
    for one, other in zip_longest(lines(source), lines(target)):
        counts = [count + (line is not None) for count, line in zip(counts, (one, other), strict=True)]
        if one is not None and other is not None:
            pairs.append(SentencePair(_text(source, one), _text(target, other)))
    if counts[0] != counts[1]:
        raise DataError(
            f"{source} has {counts[0]} lines and {target} has {counts[1]}; line n must belong to line n of the other"
        )
    return pairs


def _both(path: Path, line: Line) -> SentencePair:
    text = _text(path, line)
    left, between, right = text.partition(BETWEEN)
    if not between and text.strip():
        raise DataError(
            f"{path}:{line.number}: there is no {BETWEEN!r} between source and target; give the targets in a file of "
            "their own"
        )
    return SentencePair(left.strip(), right.strip())


def _text(path: Path, line: Line) -> str:
    if line.problem is not None:
        raise DataError(f"{path}:{line.number}: {line.problem}")
    return line.text
