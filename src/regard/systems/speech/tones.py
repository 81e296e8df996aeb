"""Synthetic speech: source-filter syllables of synthetic speakers in noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError
from regard.data.random_draws import uniform_draws
from regard.systems.speech.sounds import Sound

RATE = 8000
WORDS = tuple(f"{consonant}{vowel}" for consonant in "bms" for vowel in "aiu")
_FORMANTS = {"a": (730, 1090, 2440), "i": (270, 2290, 3010), "u": (300, 870, 2240), "m": (250, 1000, 2200)}
_WIDTHS = (80.0, 110.0, 170.0)  # bandwidths of the formants in Hz
_PARTS: tuple[Part, ...] = ("train", "valid", "test")
_SPEAKERS, _STRINGS = 0x70E5, 0x57E1  # separate random streams for speakers and strings

Floats = NDArray[np.float64]


class Speaker(NamedTuple):
    """A synthetic speaker.

    Attributes:
        pitch: in Hz.
        tract: factor of all formants; a short tract has high ones.
        speed: factor of all durations.
    """

    pitch: float
    tract: float
    speed: float

    @classmethod
    def of(cls, number: int, seed: int) -> Speaker:
        """Return the speaker of a number."""
        pitch, tract, speed = uniform_draws([number], 3, seed, _SPEAKERS)[0].tolist()
        return cls(90.0 + 150.0 * pitch, 0.88 + 0.27 * tract, 0.8 + 0.5 * speed)


@dataclass(frozen=True)
class Tones(Generated):
    """Strings of syllables: "recording" is a `Sound` of 8 kHz, "transcript" the syllables, "sa bi mu".

    A syllable is a consonant (b a burst, m a hum, s a hiss) and a vowel (a, i, u): harmonics of the pitch of a speaker
    under three formants. Pitch, formants and speed differ between speakers and vary within a string. Noise is 12 to
    30 dB below the voice. Speakers are disjoint between splits.

    Args:
        split: "train", "valid" or "test".
        size: number of examples.
        shortest, longest: minimum and maximum number of syllables in a string.
        speakers: number of speakers in each split.
        seed: random seed of speakers and strings.

    >>> example = Tones(size=1).example(0)
    >>> example.fields["transcript"], example.fields["recording"].rate
    ('mu mi ba sa si', 8000)
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    shortest: int = field(default=1, kw_only=True)
    longest: int = field(default=5, kw_only=True)
    speakers: int = field(default=20, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if not 1 <= self.shortest <= self.longest:
            raise DataError(f"strings of {self.shortest} to {self.longest} syllables: 1 <= shortest <= longest")

    def example(self, index: int) -> Example:
        part = _PARTS.index(self.split)
        dice = uniform_draws([index], 3 + self.longest, self.seed, part, _STRINGS)[0]
        count = self.shortest + int(dice[0] * (self.longest - self.shortest + 1))
        number = part * self.speakers + int(dice[1] * self.speakers)
        words = [WORDS[int(share * len(WORDS))] for share in dice[3 : 3 + count]]
        noise = 12.0 + 18.0 * float(dice[2])

        def made() -> NDArray[np.float32]:
            rng = np.random.default_rng((self.seed, part, index))
            return synthesise(words, Speaker.of(number, self.seed), rng, noise=noise)

        where = self.where(index)
        return Example({"recording": Sound(where, RATE, made), "transcript": " ".join(words)}, where)


def synthesise(words: list[str], speaker: Speaker, rng: np.random.Generator, *, noise: float) -> NDArray[np.float32]:
    """Synthesise a string of syllables in the voice of a speaker, float32 [T] within ±1.

    Args:
        words: syllables out of `WORDS`.
        speaker: the speaker.
        rng: random generator of the variation and the noise.
        noise: level of the noise in decibels below the voice.
    """
    parts = [np.zeros(_size(0.05))]
    for consonant, vowel in map(tuple, words):
        own = Speaker(*(value * float(rng.normal(1.0, 0.04)) for value in speaker))
        parts += [*_consonant(consonant, own, rng), _voiced(vowel, 0.16 * float(rng.uniform(0.7, 1.3)), own)]
        parts.append(np.zeros(_size(0.09 * float(rng.random()))))
    voice = np.concatenate([*parts, np.zeros(_size(0.05))])
    level = float(np.sqrt(np.square(voice).mean()))
    voice = voice + level * 10.0 ** (-noise / 20.0) * rng.standard_normal(len(voice))
    loud: NDArray[np.float32] = (voice * (0.5 / np.abs(voice).max())).astype(np.float32)
    return loud


def _consonant(name: str, speaker: Speaker, rng: np.random.Generator) -> list[Floats]:
    if name == "m":
        return [0.5 * _voiced("m", 0.08, speaker)]
    if name == "s":
        return [0.5 * _noise(0.10 / speaker.speed, 2600.0, 3900.0, rng)]
    return [np.zeros(_size(0.05 / speaker.speed)), 0.7 * _noise(0.015, 200.0, 1100.0, rng)]


def _voiced(name: str, seconds: float, speaker: Speaker) -> Floats:
    """Return a voiced sound: harmonics of the pitch, filtered by three formant resonances."""
    size = _size(seconds / speaker.speed)
    time = np.arange(size) / RATE
    harmonics = speaker.pitch * np.arange(1, int(RATE / 2 / speaker.pitch) + 1)
    gains = np.zeros(len(harmonics))
    for number, (formant, width) in enumerate(zip(_FORMANTS[name], _WIDTHS, strict=True)):
        gains += 0.5**number / (1.0 + np.square((harmonics - formant * speaker.tract) / width))
    wave: Floats = gains @ np.sin(2.0 * np.pi * harmonics[:, None] * time)
    return _shaped(wave / max(1e-9, float(np.sqrt(np.square(wave).mean()))))


def _noise(seconds: float, low: float, high: float, rng: np.random.Generator) -> Floats:
    """Return noise between two frequencies."""
    size = _size(seconds)
    bins = np.fft.rfftfreq(size, 1.0 / RATE)
    wave: Floats = np.fft.irfft(np.fft.rfft(rng.standard_normal(size)) * ((bins >= low) & (bins <= high)), size)
    return _shaped(wave / max(1e-9, float(np.sqrt(np.square(wave).mean()))))


def _shaped(wave: Floats) -> Floats:
    """Apply fade-in and fade-out of 8 ms."""
    ramp = min(_size(0.008), len(wave) // 2)
    envelope = np.minimum(1.0, np.minimum(np.arange(1, len(wave) + 1), np.arange(len(wave), 0, -1)) / max(1, ramp))
    return wave * envelope


def _size(seconds: float) -> int:
    return max(1, round(seconds * RATE))
