"""Audio of melodies: synthesised samples, and standard MIDI files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

Timbre = Literal["sine", "organ"]
_DRAWBARS = (1.0, 0.5, 0.33, 0.25, 0.12, 0.12)  # strength of each harmonic of the organ
_RAMP = 0.008  # attack and release time in seconds; an abrupt onset would click
_LOUDNESS = 0.5
_TICKS = 480  # per quarter note
_MOST_TICKS = 2**28 - 1  # largest variable-length quantity


class Note(NamedTuple):
    """One note or rest of a melody.

    Attributes:
        pitch: MIDI note number, 0 to 127; 60 is middle C and 69 is A at 440 Hz; None for a rest.
        beats: duration in quarter notes.
    """

    pitch: int | None
    beats: float


def tones(
    notes: Sequence[Note], *, rate: int = 16000, tempo: float = 120.0, timbre: Timbre = "organ"
) -> NDArray[np.float32]:
    r"""Synthesise a melody as float32 samples [T] within ±0.5.

    .. math:: x(t) = \tfrac12 \, e(t) \, \frac{\sum_h d_h \sin(2 \pi h f t)}{\sum_h d_h}, \quad
              f = 440 \cdot 2^{(p - 69) / 12}

    with an envelope e that rises and falls within 8 ms. Harmonics above the Nyquist frequency are omitted.

    Args:
        notes: pitches and durations.
        rate: samples per second.
        tempo: quarter notes per minute.
        timbre: `"sine"`, only the fundamental, or `"organ"`, six harmonics.

    >>> tones([Note(69, 1.0), Note(None, 0.5)], rate=8000, tempo=60).shape
    (12000,)
    """
    _check_notes(notes, tempo)
    if timbre not in get_args(Timbre):
        raise ValueError(f"tones: timbre must be {', '.join(get_args(Timbre))}; got {timbre!r}")
    # Rounding the end times instead of the durations keeps a long melody from drifting off the beat.
    ends = np.rint(np.cumsum([note.beats for note in notes]) * 60.0 / tempo * rate).astype(np.int64)
    samples = np.zeros(int(ends[-1]) if len(ends) else 0, np.float32)
    begins = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    for note, begin, end in zip(notes, begins, ends, strict=True):
        if note.pitch is not None:
            samples[begin:end] = _tone(note.pitch, int(end - begin), rate, timbre)
    return samples


def midi_bytes(notes: Sequence[Note], *, tempo: float = 120.0, program: int = 19, velocity: int = 80) -> bytes:
    """Encode a melody as a standard MIDI file of format 0: one track, 480 ticks per quarter note.

    Args:
        notes: pitches and durations.
        tempo: quarter notes per minute.
        program: General MIDI instrument, 0 to 127; 19 is a church organ, 0 a piano.
        velocity: loudness of the notes, 1 to 127.

    The Complete MIDI 1.0 Detailed Specification, "Standard MIDI Files 1.0".

    >>> midi_bytes([Note(60, 1.0)])[:14].hex(" ", 2)
    '4d54 6864 0000 0006 0000 0001 01e0'
    """
    _check_notes(notes, tempo)
    if not 0 <= program <= 127 or not 1 <= velocity <= 127:
        raise ValueError(f"midi: program lies in 0 to 127 and velocity in 1 to 127; got {program} and {velocity}")
    quarter = round(60_000_000 / tempo)  # microseconds, stored in three bytes
    if not 1 <= quarter < 2**24:
        raise ValueError(f"midi: tempo must lie between 3.6 and 60,000,000 quarter notes per minute; got {tempo}")
    track = bytearray(b"\x00\xff\x51\x03" + quarter.to_bytes(3, "big") + bytes((0x00, 0xC0, program)))
    now, position = 0, 0.0  # ticks of the last event; quarter notes of the next
    for note in notes:
        begin, end = round(position * _TICKS), round((position + note.beats) * _TICKS)
        if note.pitch is not None and end > begin:
            track += _variable(begin - now) + bytes((0x90, note.pitch, velocity))
            track += _variable(end - begin) + bytes((0x80, note.pitch, 0))
            now = end  # MIDI times are relative to the previous event; rests only advance `position`
        position += note.beats
    track += _variable(round(position * _TICKS) - now) + b"\xff\x2f\x00"
    header = b"MThd" + (6).to_bytes(4, "big") + b"\x00\x00" + b"\x00\x01" + _TICKS.to_bytes(2, "big")
    return header + b"MTrk" + len(track).to_bytes(4, "big") + bytes(track)


def write_midi(path: str | Path, notes: Sequence[Note], *, tempo: float = 120.0, program: int = 19) -> None:
    """Write a melody to a standard MIDI file; see `midi_bytes`."""
    Path(path).write_bytes(midi_bytes(notes, tempo=tempo, program=program))


def _check_notes(notes: Sequence[Note], tempo: float) -> None:
    """Check that pitches, durations and the tempo are valid."""
    if not 0.0 < tempo < float("inf"):
        raise ValueError(f"a melody's tempo must be above 0; got {tempo}")
    for number, note in enumerate(notes):
        if note.pitch is not None and not 0 <= note.pitch <= 127:
            raise ValueError(f"note {number}: pitch must lie in 0 to 127; got {note.pitch}")
        if not 0.0 <= note.beats * _TICKS <= _MOST_TICKS:
            raise ValueError(f"note {number}: beats must lie in 0 to {_MOST_TICKS // _TICKS:,}; got {note.beats}")


def _tone(pitch: int, size: int, rate: int, timbre: Timbre) -> NDArray[np.float64]:
    hertz = 440.0 * 2.0 ** ((pitch - 69) / 12)
    strengths = _DRAWBARS if timbre == "organ" else (1.0,)
    time = np.arange(size) / rate
    wave = np.zeros(size)
    for harmonic, strength in enumerate(strengths, start=1):
        if harmonic * hertz < rate / 2:  # higher harmonics would alias
            wave += strength * np.sin(2.0 * np.pi * harmonic * hertz * time)
    ramp = min(_RAMP, size / rate / 2)  # a short note has no plateau
    envelope = np.minimum(1.0, np.minimum(time, (size - 1) / rate - time) / ramp) if size > 1 else np.zeros(size)
    return _LOUDNESS * envelope * wave / sum(strengths)


def _variable(number: int) -> bytes:
    """Encode a variable-length quantity: seven bits per byte, big-endian, the top bit set in all but the last.

    >>> _variable(0).hex(), _variable(127).hex(), _variable(128).hex(), _variable(0x0FFFFFFF).hex()
    ('00', '7f', '8100', 'ffffff7f')
    """
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.append(0x80 | number & 0x7F)
    return bytes(reversed(groups))
