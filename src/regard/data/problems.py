"""Data errors, and counts of skipped lines."""

from __future__ import annotations

from dataclasses import dataclass, field

NAMED = 5


class DataError(ValueError):
    """Error in the data; the message names the file, the line and the remedy."""


class TextError(DataError):
    """Error in one input of a model; other inputs may be valid."""


def shortened(text: str, most: int = 60) -> str:
    """Shorten a text for quotation in a message.

    >>> shortened("a long text", most=9)
    'a long...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


@dataclass
class SkippedLines:
    """Number of lines that a reader skipped, with the reasons for the first few.

    >>> skipped = SkippedLines()
    >>> skipped.add("train.tsv:3: 1 column")
    >>> print(skipped)
    1 line skipped: train.tsv:3: 1 column
    """

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, what: str) -> None:
        """Add one item."""
        self.count += 1
        if self.count <= NAMED:
            self.first.append(what)

    def clear(self) -> None:
        """Reset the count."""
        self.count = 0
        self.first = []

    def __str__(self) -> str:
        if not self.count:
            return "no lines skipped"
        more = f"; and {self.count - NAMED} more" if self.count > NAMED else ""
        return f"{self.count} line{'s' if self.count > 1 else ''} skipped: {'; '.join(self.first)}{more}"


@dataclass
class FileNotes(SkippedLines):
    """Number of notes on files that were converted or looked damaged, with the first few notes.

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
