"""Overlapping windows of long passages, and the position of the answer in each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regard.data.example import Example, WrappedExamples
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import DataError

_WORD = re.compile(r"\S+")
_AHEAD = 16  # characters per token of a window that are tokenised to split a long word


class PassageWindow(NamedTuple):
    """A part of a passage: its character offset, and its text."""

    begin: int
    text: str


@dataclass(frozen=True)
class WindowCutter:
    """Splits passages into overlapping windows.

    Attributes:
        tokenizer: tokenizer that determines lengths.
        size: maximum length of a window in tokens.
        overlap: maximum overlap of consecutive windows in tokens; less than `size`.

    Windows start and end at word boundaries, so that words are tokenised as in the whole passage. A word longer than a
    window is split; its parts have at least one character.

    >>> words = Tokenizer.train(["a b c d e f g"], kind="words")
    >>> [window.text for window in WindowCutter(words, size=4, overlap=2).windows("a b c d e f g")]
    ['a b c d', 'c d e f', 'e f g']
    """

    tokenizer: Tokenizer
    size: int = 320
    overlap: int = 128

    def windows(self, passage: str) -> list[PassageWindow]:
        """Return the windows of a passage in order; together they cover all of it."""
        words, counts = self._words(passage)
        found, first = [], 0
        while first < len(words):
            last, pieces = first, 0
            while last < len(words) and (last == first or pieces + counts[last] <= self.size):
                pieces += counts[last]
                last += 1
            found.append(PassageWindow(words[first][0], passage[words[first][0] : words[last - 1][1]]))
            if last == len(words):
                break
            again, shared = last, 0
            while again > first + 1 and shared + counts[again - 1] <= self.overlap:
                again -= 1
                shared += counts[again]
            first = again
        return found

    def _words(self, passage: str) -> tuple[list[tuple[int, int]], list[int]]:
        """Return the offsets of the words of a passage, long ones in parts, and the number of tokens of each."""
        words = [match.span() for match in _WORD.finditer(passage)]
        counts = _counts(words, self.tokenizer.places(passage))
        found: list[tuple[tuple[int, int], int]] = []
        for (begin, end), count in zip(words, counts, strict=True):
            if count <= self.size:
                found.append(((begin, end), count))
                continue
            # A part may be tokenised differently on its own than within the word, so each part becomes a window.
            parts = list(self._parts(passage, begin, end))
            found += [(part, self.size) for part in parts[:-1]]
            found.append((parts[-1], min(self.size, self._count(passage, *parts[-1]))))
        return [word for word, _ in found], [count for _, count in found]

    def _parts(self, passage: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Split a word into parts, each about as long as a window can be."""
        while begin < end:
            stop = min(end, begin + _AHEAD * self.size)
            if self._count(passage, begin, stop) > self.size:
                ends = sorted({begin + place for _, place in self.tokenizer.places(passage[begin:stop])})[: self.size]
                fit = (one for one in reversed(ends) if begin < one and self._count(passage, begin, one) <= self.size)
                stop = next(fit, begin + 1)
            yield begin, stop
            begin = stop

    def _count(self, passage: str, begin: int, end: int) -> int:
        return len(self.tokenizer.encode(passage[begin:end]))

    def span(self, window: PassageWindow, start: int, end: int) -> tuple[int, int] | None:
        """Return the first and last token of passage[start:end] in the window; None if it is not fully inside."""
        start, end = start - window.begin, end - window.begin
        if start < 0 or end > len(window.text):
            return None
        inside = [
            number for number, (a, b) in enumerate(self.tokenizer.places(window.text)) if a < min(b, end) and b > start
        ]
        return (inside[0], inside[-1]) if inside else None


@dataclass(frozen=True)
class Windows(WrappedExamples):
    """Converts examples with spans to one example per window: "question", "context" (a window) and "span" in tokens.

    Windows without the answer are left out, and so are questions whose answer is in no window.
    """

    cutting: WindowCutter

    def settings(self) -> str:
        """The examples, the sizes of windows, and the tokenizer."""
        cutting = self.cutting
        how = f"at most {cutting.size}, {cutting.overlap}, {cutting.tokenizer.json}"
        return f"Windows({how}) of {self.examples.settings()}"

    def __iter__(self) -> Iterator[Example]:
        empty = True
        for example in self.examples:
            context, start = str(example.fields["context"]), int(str(example.fields["start"]))
            end = start + len(str(example.fields["answer"]))
            for window in self.cutting.windows(context):
                span = self.cutting.span(window, start, end)
                if span is not None:
                    empty = False
                    fields = {"question": example.fields["question"], "context": window.text}
                    yield Example({**fields, "span": [str(place) for place in span]}, example.where)
        if empty:
            raise DataError(f"no answer fits a window of {self.cutting.size} pieces; raise data.window")


def word_numbers(passage: str, places: Sequence[tuple[int, int]]) -> list[int]:
    """Return the index of the word in which each token starts, by character offsets.

    >>> word_numbers("a blue hat", [(0, 1), (2, 4), (4, 6), (7, 10)])
    [0, 1, 1, 2]
    """
    ends = [match.end() for match in _WORD.finditer(passage)]
    found, number = [], 0
    for begin, _ in places:
        while number < len(ends) - 1 and begin >= ends[number]:
            number += 1
        found.append(number)
    return found


def _counts(words: Sequence[tuple[int, int]], places: Sequence[tuple[int, int]]) -> list[int]:
    """Return the number of tokens of each word, at least 1: a word without tokens must not make windows unbounded."""
    counts, number = [0] * len(words), 0
    for begin, _ in places:
        while number < len(words) - 1 and begin >= words[number][1]:
            number += 1
        counts[number] += 1
    return [max(1, count) for count in counts]
