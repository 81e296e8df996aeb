"""Generated translation between two invented languages, with gold word links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import NamedTuple

import numpy as np

from regard.alignment.links import pharaoh
from regard.data.batching.order import splitmix64
from regard.data.example import Example
from regard.data.generated import SYLLABLES, Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError
from regard.data.random_draws import Dice, random_numbers

_NOUNS, _ADJECTIVES, _VERBS, _ADVERBS = 60, 20, 30, 10
_SUBJECT, _OBJECT, _JOIN = "ka", "wo", "to"
_THE, _WHILE = "the", "while"


class _Entry(NamedTuple):
    """A source word and its translation, one word or two."""

    source: str
    target: tuple[str, ...]


class _Lexicon(NamedTuple):
    nouns: list[_Entry]
    adjectives: list[_Entry]
    verbs: list[_Entry]
    adverbs: list[_Entry]


class _TargetWord(NamedTuple):
    """A target word and the number of its source word; None for a word of grammar."""

    word: str
    source: int | None


@dataclass(frozen=True)
class Clauses(Generated):
    """Sentences of an invented language to those of another, with gold links of their words.

    The source has subject, object, verb, each noun before its adjective and with a particle behind it; the target has
    subject, verb, object, with adjectives before nouns and an article before each noun phrase. Of two clauses the
    target says the second one first. A third of the nouns and verbs become two words. Particles and articles are linked
    to nothing, and the word that joins two clauses to its counterpart.

    Args:
        split: "train" (80% of all sentences), "valid" or "test" (10% each).
        size: number of examples; each is a function of seed, split and its index.
        seed: random seed of the examples; it changes neither the split of a sentence nor the lexicon.

    >>> example = Clauses(size=1, seed=3)[0]
    >>> for name in ("source", "target", "links"):
    ...     print(example.fields[name])
    pobube lupebe ka zutoba ganebe wo tiseba
    the panobe gobube gebebe the zivaba damoba
    1-1 0-2 6-3 4-5 3-6
    """

    split: Part = "train"
    size: int = field(default=8000, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if self.size < 1:
            raise DataError(f"size is {self.size}; it must be at least 1")

    def example(self, index: int) -> Example:
        for attempt in count():
            dice = Dice(random_numbers(self.seed, index, attempt))
            source: list[str] = []
            clauses = [_clause(dice, source)]
            if dice.below(2):
                source.append(_JOIN)
                joint = _TargetWord(_WHILE, len(source) - 1)
                clauses = [[*_clause(dice, source), joint], *clauses]
            if self.is_here(" ".join(source)):
                break
        target = [said for clause in clauses for said in clause]
        links = {(said.source, place) for place, said in enumerate(target) if said.source is not None}
        texts = {"source": " ".join(source), "target": " ".join(said.word for said in target)}
        return Example({**texts, "links": pharaoh(links)}, self.where(index))


def _clause(dice: Dice, source: list[str]) -> list[_TargetWord]:
    """Append a clause to the source, and return its translation."""
    lexicon = _lexicon()
    subject = _phrase(dice, source, _SUBJECT)
    thing = _phrase(dice, source, _OBJECT)
    adverb = _word(dice, lexicon.adverbs, source) if dice.below(3) == 0 else []
    verb = _word(dice, lexicon.verbs, source)
    return [*subject, *verb, *thing, *adverb]


def _phrase(dice: Dice, source: list[str], particle: str) -> list[_TargetWord]:
    lexicon = _lexicon()
    noun = _word(dice, lexicon.nouns, source)
    adjective = _word(dice, lexicon.adjectives, source) if dice.below(2) else []
    source.append(particle)
    return [_TargetWord(_THE, None), *adjective, *noun]


def _word(dice: Dice, entries: list[_Entry], source: list[str]) -> list[_TargetWord]:
    entry = dice.of(entries)
    source.append(entry.source)
    return [_TargetWord(word, len(source) - 1) for word in entry.target]


@cache
def _lexicon() -> _Lexicon:
    """Return the words of both languages, which share none."""
    words = [first + second + third for first in SYLLABLES for second in SYLLABLES for third in SYLLABLES[:2]]
    order = np.argsort(splitmix64(np.arange(len(words), dtype=np.uint64), 11), kind="stable")
    fresh = (words[place] for place in order.tolist())
    kinds = ((_NOUNS, 3), (_ADJECTIVES, 0), (_VERBS, 3), (_ADVERBS, 0))
    return _Lexicon(*(_entries(fresh, number, every) for number, every in kinds))


def _entries(fresh: Iterator[str], number: int, every: int) -> list[_Entry]:
    """Take entries from new words; of each `every` one has two target words, 0 for none."""
    return [
        _Entry(next(fresh), tuple(next(fresh) for _ in range(2 if every and place % every == 0 else 1)))
        for place in range(number)
    ]
