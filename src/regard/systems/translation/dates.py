"""Generated pairs of dates: written forms in many languages, and ISO 8601."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.order import splitmix64
from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part, hash_fraction
from regard.data.problems import DataError
from regard.systems.translation.date_formats import KEPT, LANGUAGES, Format, formats

_PARTS: tuple[Part, ...] = ("train", "valid", "test")
_FIRST, _LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)


@dataclass(frozen=True)
class Dates(Generated):
    """Generated pairs: "el 3 de marzo de 2021" to "2021-03-03".

    Names and patterns are CLDR's, through Babel. Valid and test have only dates (a tenth each of 1900 to 2099) and only
    pairs of language and format (a tenth each) that the other splits do not have, and no text that train would write
    alike, by any format in the same language or by the same pattern in another. What they are made of is known: in
    every language and case the whole and the short names of the months are in train. Every text stands for one date:
    day and month are never both bare numbers, but in 2021-03-03 and where a character names them (3月3日), and years
    have four digits.

    Args:
        split: "train", "valid" or "test".
        size: number of examples; each is a function of seed, split and its index.
        seed: random seed of the examples; it does not change the split of dates and formats.
        languages: languages, out of `regard.systems.translation.date_formats.LANGUAGES`.

    >>> for example in Dates("train", size=2, seed=2, languages=("es", "ja")):
    ...     print(example.fields)
    {'source': 'el sábado, 25 de septiembre de 2038', 'target': '2038-09-25'}
    {'source': '2032-12-05', 'target': '2032-12-05'}
    """

    split: Part = "train"
    size: int = field(default=20000, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    languages: tuple[str, ...] = field(default=LANGUAGES, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if self.size < 1:
            raise DataError(f"size is {self.size}; it must be at least 1")
        unknown = set(self.languages) - set(LANGUAGES)
        if unknown or not self.languages:
            asked = f"there are no dates in {sorted(unknown)[0]!r}" if unknown else "dates need at least one language"
            raise DataError(f"{asked}; there are {', '.join(LANGUAGES)}")
        object.__setattr__(self, "languages", tuple(self.languages))

    def settings(self) -> str:
        """All settings, and the version of the CLDR data."""
        import babel

        return f"{self!r} by Babel {babel.__version__}"

    def formats(self) -> tuple[tuple[Format, ...], ...]:
        """The formats of this split, per language."""
        return tuple(_formats(language, self.split) for language in self.languages)

    def example(self, index: int) -> Example:
        return next(self._between(index, index + 1))

    def __iter__(self) -> Iterator[Example]:
        return self._between(0, self.size)

    def _between(self, begin: int, end: int) -> Iterator[Example]:
        part = _PARTS.index(self.split)
        drawn = splitmix64(np.arange(3 * begin, 3 * end, dtype=np.uint64), self.seed, part).reshape(-1, 3)
        for index, draw in enumerate(drawn.tolist(), start=begin):
            way, date = self._chosen(draw)
            attempt = 0
            while self.split != "train" and _familiar(way, date, self.languages):
                attempt += 1
                way, date = self._chosen(
                    splitmix64(np.arange(3, dtype=np.uint64), self.seed, part, index, attempt).tolist()
                )
            yield Example({"source": way.write(date), "target": date.isoformat()}, self.where(index))

    def _chosen(self, draw: list[int]) -> tuple[Format, datetime.date]:
        language, form, day = draw
        ways = _formats(self.languages[language % len(self.languages)], self.split)
        dates = _dates(self.split)
        return ways[form % len(ways)], datetime.date.fromordinal(int(dates[day % len(dates)]))


def _familiar(way: Format, date: datetime.date, languages: tuple[str, ...]) -> bool:
    """Return True if train has the same text by another format: dd for d, MMM for MMMM in May, en for id."""
    text = way.write(date)
    own = _formats(way.language, "train")
    others = (known for language in languages for known in _formats(language, "train") if known.pattern == way.pattern)
    return any(known.write(date) == text for known in (*own, *others))


@cache
def _formats(language: str, split: Part) -> tuple[Format, ...]:
    """Return the formats of a split: a tenth of those not reserved for train, chosen by hash."""
    loose = sorted(
        (way for way in formats(language) if way.pattern not in KEPT), key=lambda way: hash_fraction(" ".join(way))
    )
    tenth = -(-len(loose) // 10)
    held = {"valid": loose[:tenth], "test": loose[tenth : 2 * tenth]}
    if split != "train":
        return tuple(held[split])
    return tuple(way for way in formats(language) if way not in held["valid"] and way not in held["test"])


@cache
def _dates(split: Part) -> NDArray[np.int64]:
    """Return the days of a split as ordinals (days since year 1)."""
    days = range(_FIRST.toordinal(), _LAST.toordinal() + 1)
    places = np.array([hash_fraction(datetime.date.fromordinal(day).isoformat(), "dates") for day in days])
    parts = {"valid": places < 0.1, "test": (places >= 0.1) & (places < 0.2), "train": places >= 0.2}
    return _FIRST.toordinal() + np.flatnonzero(parts[split])
