"""Melodies: what a tone is made of, and MIDI files that are parsed back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.data.sound.recordings import read_recording
from regard.data.sound.wav import wav_bytes
from regard.systems.melodies.notes import Note, midi_bytes, tones, write_midi

MELODY = [Note(60, 1.0), Note(64, 0.5), Note(None, 1 / 3), Note(67, 1 / 3), Note(72, 100.0)]


def parsed(data: bytes) -> tuple[dict[str, Any], list[tuple[int, int, int]]]:
    """Header with tempo and program, and (tick, duration, pitch) of each note: written from the specification."""
    assert (data[:8], data[14:18]) == (b"MThd\0\0\0\x06", b"MTrk")
    kind, tracks, ticks = (int.from_bytes(data[at : at + 2], "big") for at in (8, 10, 12))
    assert int.from_bytes(data[18:22], "big") == len(data) - 22
    found: dict[str, Any] = {"format": kind, "tracks": tracks, "ticks": ticks}
    notes, sounding, at, now = [], {}, 22, 0
    while True:
        delta = 0
        while True:
            delta, at = delta << 7 | data[at] & 0x7F, at + 1
            if data[at - 1] < 0x80:
                break
        now += delta
        status = data[at]
        if status == 0xFF:
            meta, size = data[at + 1], data[at + 2]
            if meta == 0x2F:
                assert at + 3 == len(data)
                return found | {"end": now}, notes
            assert meta == 0x51
            found["quarter"] = int.from_bytes(data[at + 3 : at + 3 + size], "big")
            at += 3 + size
        elif status == 0xC0:
            found["program"], at = data[at + 1], at + 2
        else:
            pitch, velocity = data[at + 1 : at + 3]
            if status == 0x90 and velocity:
                sounding[pitch] = now
            else:
                begin = sounding.pop(pitch)
                notes.append((begin, now - begin, pitch))
            at += 3


def test_a_midi_file_is_parsed_back(tmp_path: Path) -> None:
    write_midi(tmp_path / "a.mid", MELODY, tempo=100.0, program=5)
    found, notes = parsed((tmp_path / "a.mid").read_bytes())
    assert found == {"format": 0, "tracks": 1, "ticks": 480, "quarter": 600_000, "program": 5, "end": 49_040}
    assert notes == [(0, 480, 60), (480, 240, 64), (880, 160, 67), (1040, 48_000, 72)]


def test_a_midi_file_by_hand() -> None:
    """Middle C for half a quarter: on at 0, off after 240 ticks (0x81 0x70), the end at once."""
    assert midi_bytes([Note(60, 0.5)])[22:].hex(" ") == (
        "00 ff 51 03 07 a1 20 00 c0 13 00 90 3c 50 81 70 80 3c 00 00 ff 2f 00"
    )
    assert parsed(midi_bytes([]))[1] == []
    assert parsed(midi_bytes([Note(None, 2.0)])) == (parsed(midi_bytes([]))[0] | {"end": 960}, [])


def test_thirds_do_not_drift() -> None:
    _, notes = parsed(midi_bytes([Note(60, 1 / 7)] * 700))
    assert notes[-1][0] + notes[-1][1] == 100 * 480
    assert len(tones([Note(60, 1 / 7)] * 700, rate=8000, tempo=60)) == 100 * 8000


@pytest.mark.parametrize(("timbre", "harmonics"), [("sine", 1), ("organ", 6)])
def test_a_tone_has_its_pitch_and_its_harmonics(timbre: Any, harmonics: int) -> None:
    samples = tones([Note(69, 2.0)], rate=8000, tempo=120, timbre=timbre)
    power = np.abs(np.fft.rfft(samples * np.hanning(8000))) ** 2  # a bin per Hz
    loud = [
        hertz
        for hertz in range(1, 4000)
        if power[hertz] > 1e-3 * power.max() and power[hertz] == max(power[hertz - 3 : hertz + 4])
    ]
    assert loud == [440 * harmonic for harmonic in range(1, harmonics + 1)]
    assert 0.2 < np.abs(samples).max() <= 0.5


def test_no_harmonic_is_folded_back() -> None:
    """The second harmonic of 3,520 Hz is above half of the rate: nothing sounds below the fundamental."""
    samples = tones([Note(105, 2.0)], rate=8000)
    power = np.abs(np.fft.rfft(samples * np.hanning(8000))) ** 2
    assert power.argmax() == 3520
    assert power[:3400].max() < 1e-6 * power.max()


def test_tones_begin_and_end_softly_and_rests_are_silent() -> None:
    samples = tones([Note(69, 1.0), Note(None, 1.0), Note(70, 1.0)], rate=8000, tempo=120)
    assert samples.dtype == np.float32
    assert len(samples) == 12_000
    edges = [*range(5), *range(3995, 4005), *range(7995, 8005), *range(11_995, 12_000)]
    assert np.abs(samples[edges]).max() < 0.05
    assert samples[0] == samples[3999] == samples[-1] == 0
    assert not samples[4000:8000].any()
    assert tones([]).shape == (0,)
    assert tones([Note(60, 0.0), Note(60, 1e-4)], rate=8000).shape == (0,)


def test_a_melody_is_written_as_wav() -> None:
    samples = tones(MELODY[:3], rate=8000)
    assert np.abs(read_recording(wav_bytes(samples, 8000)).samples - samples).max() <= 2**-16 + 1e-9


@pytest.mark.parametrize(
    ("notes", "options", "word"),
    [
        ([Note(60, 1.0), Note(128, 1.0)], {}, "note 1: pitch .* 128"),
        ([Note(60, -1.0)], {}, "note 0: beats .* -1"),
        ([Note(60, float("nan"))], {}, "beats .* nan"),
        ([], {"tempo": 0.0}, "tempo .* 0"),
        ([], {"tempo": 1.0}, "tempo .* 1"),
        ([], {"program": 128}, "program .* 128"),
    ],
)
def test_what_cannot_be_written(notes: list[Note], options: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        midi_bytes(notes, **options)


def test_a_timbre_that_is_none() -> None:
    with pytest.raises(ValueError, match="'flute'"):
        tones([], timbre="flute")  # type: ignore[arg-type]
