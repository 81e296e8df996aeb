"""Free Spoken Digit Dataset: single spoken digits, and strings of digits of one speaker."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError
from regard.data.random_draws import uniform_draws
from regard.systems.speech.sounds import Sound

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_PARTS: tuple[Part, ...] = ("train", "valid", "test")
_HISS = 1e-3  # noise level in gaps: digital silence would reveal the boundaries of recordings
_STREAM = 0xD161


@dataclass(frozen=True, eq=False)
class SpokenDigits:
    """All recordings of the archive, concatenated.

    Attributes:
        audio: int16 samples of all recordings.
        offsets: [N + 1], start offset of each recording, and the end of the last.
        label: [N], the digit.
        speaker: [N], name of the speaker.
        index: [N], index of the take.
        rate: samples per second.
    """

    audio: NDArray[np.int16]
    offsets: NDArray[np.int64]
    label: NDArray[np.int64]
    speaker: NDArray[Any]
    index: NDArray[np.int64]
    rate: int

    def samples(self, number: int) -> NDArray[np.float32]:
        """Return one recording in [-1, 1]."""
        taken = self.audio[self.offsets[number] : self.offsets[number + 1]]
        return taken.astype(np.float32) / np.float32(32768)


@dataclass(frozen=True)
class Fsdd(Generated):
    """Digits with the field "recording", a `Sound`, and the field "transcript", their names.

    A string concatenates recordings of one speaker and one split, with low noise in the gaps. Splits share no
    recordings.

    - Seen speakers: test has takes 0 to 4, the official split of the data set; valid has takes 5 to 9, train the rest.
    - `unseen` speaker: test has all takes of this speaker. Of the others, valid has takes 5 to 9, and train the rest.

    Args:
        split: "train", "valid" or "test".
        path: path of the archive `fsdd.npz`.
        size: number of examples; None for each recording once, as single digits.
        shortest, longest: minimum and maximum number of digits in a string.
        gap: maximum gap, in seconds.
        unseen: speaker reserved for test; None for none.
        seed: random seed of the strings.
    """

    split: Part = "train"
    path: Path = field(default=Path("fsdd.npz"), kw_only=True)
    size: int | None = field(default=None, kw_only=True)  # type: ignore[assignment]
    shortest: int = field(default=1, kw_only=True)
    longest: int = field(default=1, kw_only=True)
    gap: float = field(default=0.1, kw_only=True)
    unseen: str | None = field(default=None, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if not 1 <= self.shortest <= self.longest:
            raise DataError(f"strings of {self.shortest} to {self.longest} digits: 1 <= shortest <= longest")
        if self.size is None:
            if self.longest > 1:
                raise DataError("strings are drawn, so that they need a number; set train_size, valid_size, test_size")
            object.__setattr__(self, "size", len(self._numbers))

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)

    def settings(self) -> str:
        """All settings except the path of the archive, which is identified by its content."""
        kept = (self.split, self.size, self.shortest, self.longest, self.gap, self.unseen, self.seed)
        return f"Fsdd{kept!r}"

    @property
    def _numbers(self) -> NDArray[np.int64]:
        return _taken(self.path, self.split, self.unseen)

    def example(self, index: int) -> Example:
        digits, numbers = read_digits(self.path), self._numbers
        dice = uniform_draws([index], 2 + 2 * self.longest, self.seed, _PARTS.index(self.split), _STREAM)[0]
        if self.longest == 1 and self.size == len(numbers):
            chosen = numbers[index : index + 1]
        else:
            chosen = self._drawn(digits, numbers, dice)
        names = " ".join(NAMES[digits.label[number]] for number in chosen)
        where = self.where(index)

        def made() -> NDArray[np.float32]:
            parts = [digits.samples(number) for number in chosen]
            for place in reversed(range(1, len(parts))):
                parts.insert(place, self._gap(digits.rate, index, place, float(dice[2 + self.longest + place])))
            return np.concatenate(parts)

        sound = Sound(f"{where} ({digits.speaker[chosen[0]]})", digits.rate, made)
        return Example({"recording": sound, "transcript": names}, where)

    def _drawn(self, digits: SpokenDigits, numbers: NDArray[np.int64], dice: NDArray[np.float64]) -> NDArray[np.int64]:
        """Draw the recordings of one string: a length, a speaker, and takes of that speaker."""
        count = self.shortest + int(dice[0] * (self.longest - self.shortest + 1))
        speakers = sorted(set(digits.speaker[numbers]))
        speaker = speakers[int(dice[1] * len(speakers))]
        mine = numbers[digits.speaker[numbers] == speaker]
        chosen: NDArray[np.int64] = mine[(dice[2 : 2 + count] * len(mine)).astype(np.int64)]
        return chosen

    def _gap(self, rate: int, index: int, place: int, share: float) -> NDArray[np.float32]:
        size = int(share * self.gap * rate)
        rng = np.random.default_rng((self.seed, _PARTS.index(self.split), index, place))
        return (_HISS * rng.standard_normal(size)).astype(np.float32)


@cache
def read_digits(path: Path) -> SpokenDigits:
    """Load the recordings of an archive.

    Raises:
        DataError: the file does not exist, or is not this archive.
    """
    try:
        with np.load(path, allow_pickle=False) as found:
            audio, rate = found["audio"], int(found["rate"])
            columns = {name: found[name].astype(np.int64) for name in ("offsets", "label", "index")}
            return SpokenDigits(audio, speaker=found["speaker"], rate=rate, **columns)
    except (OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as problem:
        raise DataError(
            f"{path} is no archive of spoken digits (audio, offsets, label, speaker, index, rate): {problem}"
        ) from None


@cache
def _taken(path: Path, split: Part, unseen: str | None) -> NDArray[np.int64]:
    """Return the indices of the recordings of a split."""
    digits = read_digits(path)
    known = sorted(set(digits.speaker.tolist()))
    if unseen is not None and unseen not in known:
        raise DataError(f"unseen is {unseen!r}; the speakers are {', '.join(known)}")
    theirs, first, second = digits.speaker == unseen, digits.index < 5, (digits.index >= 5) & (digits.index < 10)
    test = theirs if unseen is not None else first
    found = {"test": test, "valid": second & ~theirs, "train": ~test & ~second & ~theirs}[split]
    return np.flatnonzero(found)
