"""Encoding of cloze questions: token ids for the embeddings, and word numbers for the sum over equal words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from regard.data.fields.tokenizer import Tokenizer
from regard.specials import UNK
from regard.systems.cloze.question import Cloze

ABSENT = -1
"""Number of a word that does not occur in the passage."""


class Numbered(NamedTuple):
    """An encoded cloze question.

    Attributes:
        passage: ids of the words of the passage, for embeddings.
        words: number of each word of the passage: equal words have the same number, in the order of first occurrence.
        question: ids of the words of the question, including the blank.
        candidates: number of each candidate; `ABSENT` if it does not occur in the passage.
        names: normal form -> first surface form of each distinct word of the passage, in the order of numbers.
        lines: number of words of each sentence.
        asked: words of the question.
    """

    passage: list[int]
    words: list[int]
    question: list[int]
    candidates: list[int]
    names: dict[str, str]
    lines: list[int]
    asked: list[str]


@dataclass(frozen=True)
class ClozeReading:
    """Encoder of cloze questions.

    A candidate of several words ("the King") counts as one word wherever it occurs in the passage. Words are equal if
    their normal forms are. Distinct out-of-vocabulary words get distinct ids: the first of a question gets V, the next
    V + 1, and so on, modulo `slots`.

    Attributes:
        tokenizer: word tokenizer with V ids.
        slots: number of ids for out-of-vocabulary words; with 0, all share one id.
        hide: replace all candidates, known or not, by such ids, as in the anonymised CNN data.

    >>> known = Tokenizer.train(["left home XXXXX"], kind="words", split="whitespace")
    >>> cloze = Cloze(("the King left Bo", "Bo left"), "XXXXX left", ("the King", "Bo", "Cy"))
    >>> numbered = ClozeReading(known, slots=8)(cloze)
    >>> numbered.words, list(numbered.names.values()), numbered.candidates
    ([0, 1, 2, 2, 1], ['the King', 'left', 'Bo'], [0, 2, -1])
    >>> numbered.passage == [known.size, known.encode("left")[0], known.size + 1, known.size + 1, numbered.passage[1]]
    True
    """

    tokenizer: Tokenizer
    slots: int = 0
    hide: bool = False
    _ids: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __call__(self, cloze: Cloze) -> Numbered:
        """Encode a cloze question."""
        candidates = [self._words(one) for one in cloze.candidates]
        longer = sorted({tuple(self._normal(one)) for one in candidates if len(one) > 1}, key=len, reverse=True)
        lines = [self._merged(self._words(sentence), longer) for sentence in cloze.passage]
        asked = self._merged(self._words(cloze.question), longer)
        words = list(chain.from_iterable(lines))
        names: dict[str, str] = {}
        for normal, word in words:
            names.setdefault(normal, word)
        numbers = {normal: number for number, normal in enumerate(names)}
        keys = [" ".join(self._normal(one)) for one in candidates]
        look_up = self._look_up([normal for normal, _ in (*words, *asked)], keys)
        return Numbered(
            [look_up[normal] for normal, _ in words],
            [numbers[normal] for normal, _ in words],
            [look_up[normal] for normal, _ in asked],
            [numbers.get(key, ABSENT) for key in keys],
            names,
            [len(line) for line in lines],
            [word for _, word in asked],
        )

    def number(self, text: str, numbered: Numbered) -> int:
        """Return the number of a word or candidate in a passage; `ABSENT` if it does not occur there."""
        key = " ".join(self.normal_words(text))
        return list(numbered.names).index(key) if key in numbered.names else ABSENT

    def normal_words(self, text: str) -> list[str]:
        """Return the words of a text in their normal form."""
        return self._normal(self._words(text))

    def _words(self, text: str) -> list[str]:
        return [text[begin:end] for begin, end in self.tokenizer.places(text)]

    def _normal(self, words: Sequence[str]) -> list[str]:
        return [self.tokenizer.normal(word) for word in words]

    def _merged(self, words: Sequence[str], longer: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
        """Return normal form and surface form of each word; multi-word candidates are merged, the longest first."""
        normal, at, found = self._normal(words), 0, []
        while at < len(words):
            size = next((len(one) for one in longer if tuple(normal[at : at + len(one)]) == one), 1)
            found.append((" ".join(normal[at : at + size]), " ".join(words[at : at + size])))
            at += size
        return found

    def _look_up(self, normal: Sequence[str], candidates: Sequence[str]) -> dict[str, int]:
        """Return the embedding id of each word; hidden candidates get the first slots."""
        new = [word for word in dict.fromkeys(normal) if word not in self._ids]
        for word, ids in zip(new, self.tokenizer.encode_all(new) if new else [], strict=True):
            self._ids[word] = ids[0] if len(ids) == 1 else UNK
        hidden = set(candidates) if self.hide else set()
        found: dict[str, int] = {}
        free = 0
        for word in dict.fromkeys(normal):
            found[word] = self._ids[word]
            if self.slots and (word in hidden or found[word] == UNK):
                found[word] = self.tokenizer.size + free % self.slots
                free += 1
        return found
