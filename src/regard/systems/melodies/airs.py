"""Generated airs: short melodies from a small grammar, with repeated phrases."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.random_draws import Dice, random_numbers
from regard.systems.melodies.keys import LETTERS

_KEYS = ("C", "D", "F", "G", "A", "Bb")
_STEPS = (-2, -1, 1, 2)
_LOW, _HIGH = -2, 9  # degrees of the scale above the tonic


class AirMetre(NamedTuple):
    """A metre: the rhythms of a bar, in groups of eighths, and the length of the last note."""

    name: str
    rhythms: tuple[tuple[tuple[int, ...], ...], ...]
    last: int


_METRES = (
    AirMetre("3/4", (((2,), (2,), (2,)), ((2,), (1, 1), (2,)), ((3, 1), (2,)), ((4,), (1, 1))), 6),
    AirMetre("4/4", (((2, 2), (2, 2)), ((2, 2), (1, 1, 2)), ((1, 1, 2), (4,)), ((3, 1), (2, 2))), 8),
    AirMetre("6/8", (((1, 1, 1), (1, 1, 1)), ((2, 1), (2, 1)), ((3,), (1, 1, 1)), ((2, 1), (3,))), 6),
)


@dataclass(frozen=True)
class Airs(Generated):
    """Airs of two repeated parts of four bars in ABC notation: |:a b a c:| |:d b d c:|.

    Key, metre, the rhythm of each of the bars a, b, c, d and each step of the melody are drawn uniformly; c is a long
    tonic. A repeated bar is determined by its first occurrence, so a model can copy it by attention. All bars are
    complete. Each bar starts at its own degree, and the melody moves by a second or a third.

    Args:
        split: "train" (80% of all airs), "valid" or "test" (10% each).
        size: number of airs.
        seed: seed of the airs.

    >>> print(Airs(size=1)[0].fields["text"])
    M:6/8
    K:Bb
    |:f2e g2b|d3 BAc|f2e g2b|B6:||:B3 ABd|d3 BAc|B3 ABd|B6:|
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()

    def example(self, index: int) -> Example:
        return Example({"text": self._air(index).text}, self.where(index))

    def surprise(self, index: int) -> float:
        """Return -log p of the random choices of an air in nats, a lower bound of the expected loss."""
        return self._air(index).surprise

    def _air(self, index: int) -> _Air:
        return self.first_here(partial(self._drawn, index), lambda air: air.text)

    def _drawn(self, index: int, attempt: int) -> _Air:
        dice = _CountedDice(random_numbers(self.seed, index, attempt))
        key, metre = dice.of(_KEYS), dice.of(_METRES)
        tonic = LETTERS.index(key[0])
        a, b, d = (_bar(dice, metre, tonic) for _ in range(3))
        c = _note(tonic, metre.last)
        text = f"M:{metre.name}\nK:{key}\n|:{a}|{b}|{a}|{c}:||:{d}|{b}|{d}|{c}:|"
        return _Air(text, dice.surprise)


class _Air(NamedTuple):
    text: str
    surprise: float


class _CountedDice(Dice):
    """Uniform draws, with the sum of their nats."""

    surprise = 0.0

    def below(self, bound: int) -> int:
        self.surprise += math.log(bound)
        return super().below(bound)


def _bar(dice: Dice, metre: AirMetre, tonic: int) -> str:
    """Return a bar of notes: a rhythm, a first degree from the tonic chord, and steps."""
    groups = dice.of(metre.rhythms)
    degree: int | None = None
    written: list[str] = []
    for group in groups:
        notes = ""
        for length in group:
            if degree is None:
                degree = dice.of((0, 2, 4, 7))
            else:
                steps = [step for step in _STEPS if _LOW <= degree + step <= _HIGH]
                degree += dice.of(steps)
            notes += _note(tonic + degree, length)
        written.append(notes)
    return " ".join(written)


def _note(place: int, length: int) -> str:
    """Return a note in ABC notation by its diatonic distance from middle C.

    >>> _note(0, 1), _note(-1, 2), _note(7, 3), _note(14, 1)
    ('C', 'B,2', 'c3', "c'")
    """
    octave, letter = divmod(place, 7)
    name = LETTERS[letter] + "," * -octave if octave < 1 else LETTERS[letter].lower() + "'" * (octave - 1)
    return name + (str(length) if length > 1 else "")
