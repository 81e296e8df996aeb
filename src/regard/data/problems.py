"""Errors of data, and counts of lines that are left out."""

from __future__ import annotations

from dataclasses import dataclass, field

NAMED = 5


class DataError(ValueError):
    """Data that cannot be used, in one sentence: which file, which line, what to do."""


class TextError(DataError):
    """An input that a model cannot read, in one sentence; other inputs may be fine."""


def shortened(text: str, most: int = 60) -> str:
    """A text as a sentence quotes it.

    >>> shortened("a long text", most=9)
    'a long...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


@dataclass
class SkippedLines:
    """Number of lines that a reader left out, and the first few by name.

    >>> skipped = SkippedLines()
    >>> skipped.add("train.tsv:3: 1 column")
    >>> print(skipped)
    1 line skipped: train.tsv:3: 1 column
    """

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, what: str) -> None:
        """Count one more."""
        self.count += 1
        if self.count <= NAMED:
            self.first.append(what)

    def clear(self) -> None:
        """Begin to count anew."""
        self.count = 0
        self.first = []

    def __str__(self) -> str:
        if not self.count:
            return "no lines skipped"
        more = f"; and {self.count - NAMED} more" if self.count > NAMED else ""
        return f"{self.count} line{'s' if self.count > 1 else ''} skipped: {'; '.join(self.first)}{more}"


@dataclass
class FileNotes(SkippedLines):
    """Number of notes on files that were changed or looked damaged when they were read, and the first few notes.

    >>> notes = FileNotes()
    >>> notes.add("a.wav: every sample is 0: it is silent")
    >>> print(notes)
    1 note on files: a.wav: every sample is 0: it is silent
    """

    def __str__(self) -> str:
        if not self.count:
            return "no notes on files"
        more = f"; and {self.count - NAMED} more" if self.count > NAMED else ""
        return f"{self.count} note{'s' if self.count > 1 else ''} on files: {'; '.join(self.first)}{more}"
