"""Audio inputs: samples with their rate, from a file, bytes, a mapping or a generated example."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.problems import DataError
from regard.data.sound.recordings import read_recording, resample


@dataclass(frozen=True)
class Sound:
    """One channel of samples.

    Attributes:
        name: name in messages.
        rate: samples per second.
        audio: samples, or a function that loads them on demand, since many passes over examples need no samples.
        note: warning about the file; None if there is none.
    """

    name: str
    rate: int
    audio: NDArray[np.float32] | Callable[[], NDArray[np.float32]] = field(repr=False, compare=False)
    note: str | None = None

    @cached_property
    def samples(self) -> NDArray[np.float32]:
        """Samples, float32 [T], with full scale 1."""
        return self.audio() if callable(self.audio) else self.audio

    def at(self, rate: int) -> NDArray[np.float32]:
        """Return the samples resampled to another rate."""
        return resample(self.samples, self.rate, rate)

    def notes(self, rate: int) -> list[str]:
        """Return warnings about a recording that is resampled for the model, truncated or silent."""
        found = [] if self.note is None else [self.note]
        if self.rate != rate:
            lost = f"; nothing is above {self.rate // 2:,} Hz" if self.rate < rate else ""
            found.append(f"{self.name}: resampled from {self.rate:,} to {rate:,} samples per second{lost}")
        return found


def sound_of(given: Any) -> Sound:
    """Return a sound from a path, the bytes of a file, or a mapping with `recording` (and `rate`, of an array).

    Raises:
        DataError: the argument is not a recording; the message names it.

    >>> sound_of({"recording": np.zeros(5, np.float32), "rate": 8000})
    Sound(name='the recording', rate=8000, note='the recording: every sample is 0: it is silent')
    """
    if isinstance(given, Sound):
        return given
    rate = None
    if isinstance(given, Mapping):
        if "recording" not in given:
            raise DataError(f"the input has no 'recording', only {', '.join(map(str, given)) or 'nothing'}")
        given, rate = given["recording"], given.get("rate")
        if isinstance(given, Sound):
            return given
        if isinstance(given, np.ndarray) and rate is None:
            raise DataError("an array has no rate; give the samples per second as 'rate' beside 'recording'")
    if not isinstance(given, str | Path | bytes | np.ndarray):
        raise DataError(f"{type(given).__name__} is no recording; give a path, the bytes of a file or a mapping")
    if isinstance(given, np.ndarray) and rate is None:
        raise DataError("an array has no rate; give {'recording': array, 'rate': samples per second}")
    heard = read_recording(given, source_rate=rate)
    name = str(given) if isinstance(given, str | Path) else "the recording"
    return Sound(name, heard.rate, heard.samples, heard.note)
