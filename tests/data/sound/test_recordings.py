"""Recordings: widths, channels, rates, and what is wrong with a file as one sentence with its name."""

from __future__ import annotations

import io
import struct
import sys
import types
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from regard.data.problems import DataError
from regard.data.sound.recordings import read_recording, resample
from regard.data.sound.wav import wav_bytes, write_wav


def sine(hertz: float, rate: int, seconds: float = 0.25) -> NDArray[np.float32]:
    return np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate).astype(np.float32)


def wav(body: bytes, *, kind: int = 1, channels: int = 1, rate: int = 8000, bits: int = 16, **sizes: int) -> bytes:
    """A WAV file by hand; `data` and `riff` are sizes that lie."""
    frame = channels * bits // 8
    header = struct.pack("<HHIIHH", kind, channels, rate, rate * frame, frame, bits)
    data = b"data" + struct.pack("<I", sizes.get("data", len(body))) + body
    parts = b"WAVEfmt " + struct.pack("<I", len(header)) + header + b"LIST\x03\0\0\0abc\0" + data
    return b"RIFF" + struct.pack("<I", sizes.get("riff", len(parts))) + parts


@pytest.mark.parametrize(
    ("bits", "kind", "body"),
    [
        (8, 1, bytes([128, 192, 0])),
        (16, 1, struct.pack("<3h", 0, 2**14, -(2**15))),
        (24, 1, b"\0\0\0" + b"\0\0\x40" + b"\0\0\x80"),
        (32, 1, struct.pack("<3i", 0, 2**30, -(2**31))),
        (32, 3, struct.pack("<3f", 0, 0.5, -1)),
        (64, 3, struct.pack("<3d", 0, 0.5, -1)),
    ],
)
def test_every_width_by_hand(bits: int, kind: int, body: bytes) -> None:
    recording = read_recording(wav(body, bits=bits, kind=kind))
    assert recording.samples.tolist() == [0.0, 0.5, -1.0]
    assert recording.samples.dtype == np.float32
    assert recording.rate == 8000
    noted = "the recording: it has 8 bits per sample: quiet sounds are rounded away"
    assert recording.note == (noted if bits == 8 else None)


def test_an_extensible_header() -> None:
    body = struct.pack("<2h", 2**14, 0)
    plain = wav(body)
    header = struct.pack("<HHIIHH", 0xFFFE, 1, 8000, 16000, 2, 16) + struct.pack("<HHIH", 22, 16, 4, 1) + b"\0" * 14
    data = plain[:16] + struct.pack("<I", len(header)) + header + plain[36:]
    assert read_recording(data).samples.tolist() == [0.5, 0.0]


def test_channels_are_mixed() -> None:
    body = struct.pack("<4h", 2**14, 0, -(2**14), 2**14)
    mixed = read_recording(wav(body, channels=2), name="a.wav")
    assert mixed.samples.tolist() == [0.25, 0.0]
    assert mixed.note == "a.wav: its 2 channels were averaged"


def test_what_is_written_is_read_by_the_standard_library_too(tmp_path: Path) -> None:
    write_wav(tmp_path / "a.wav", np.array([0.0, 0.5, -1.0, 1.0, 7.0]), 11025)
    with wave.open(str(tmp_path / "a.wav")) as file:
        assert file.getparams()[:4] == (1, 2, 11025, 5)
        assert struct.unpack("<5h", file.readframes(5)) == (0, 2**14, -(2**15), 2**15 - 1, 2**15 - 1)
    assert read_recording(tmp_path / "a.wav", rate=11025).samples[:3].tolist() == [0.0, 0.5, -1.0]


def test_arrays() -> None:
    assert read_recording(np.array([2**14], np.int16), source_rate=7).samples.tolist() == [0.5]
    assert read_recording(np.array([192], np.uint8), source_rate=7).samples.tolist() == [0.5]
    assert read_recording(np.array([[0.5, -1.0]]), source_rate=7).samples.tolist() == [-0.25]
    for array, rate, word in (
        (np.zeros((2, 3, 5)), 7, r"\[2, 3, 5\]"),
        (np.zeros(3, complex), 7, "complex128"),
        (np.array([np.nan]), 7, "no numbers"),
        (np.zeros(0), 7, "no samples"),
        (np.zeros(3), None, "source_rate"),
    ):
        with pytest.raises(DataError, match=f"^mine: .*{word}"):
            read_recording(array, source_rate=rate, name="mine")


@pytest.mark.parametrize(
    ("before", "after"), [(8000, 16000), (44100, 8000), (16000, 8000), (22050, 16000), (8000, 7919)]
)
def test_a_sine_stays_that_sine(before: int, after: int) -> None:
    """1 kHz at any rate is the same function of time; at the ends it is cut by what lies outside."""
    result, truth = resample(sine(1000, before), before, after), sine(1000, after)
    assert abs(len(result) - len(truth)) <= 1
    inner = slice(after // 50, -(after // 50) - 1)
    size = min(len(result), len(truth))
    assert np.abs(result[:size][inner] - truth[:size][inner]).max() < 1e-4


def test_what_a_lower_rate_cannot_hold_is_gone() -> None:
    """7 kHz would be heard as 1 kHz at 8,000 samples per second."""
    assert np.abs(resample(sine(7000, 44100), 44100, 8000)[200:-200]).max() < 1e-4
    naive = sine(7000, 48000)[::6]
    assert np.abs(naive).max() > 0.7


def test_a_constant_stays_constant_and_the_rest_is_exact() -> None:
    level = np.full(2000, 0.5, np.float32)
    assert np.abs(resample(level, 3, 7)[100:-100] - 0.5).max() < 1e-6
    assert resample(level, 8000, 8000) is level
    assert resample(np.zeros(0, np.float32), 3, 7).shape == (0,)
    for size in (1, 2, 17, 101):
        assert len(resample(level[:size], 3, 7)) == -(-size * 7 // 3)
    with pytest.raises(ValueError, match="got 0 and 8000"):
        resample(level, 0, 8000)


def test_a_file_is_resampled() -> None:
    recording = read_recording(wav_bytes(sine(1000, 44100), 44100), rate=8000)
    assert recording.rate == 8000
    assert len(recording.samples) == 2000


def test_silence_and_truncation_are_noted() -> None:
    assert read_recording(wav(bytes(8)), name="a.wav").note == "a.wav: every sample is 0: it is silent"
    cut = read_recording(wav(struct.pack("<2h", 1, 2), data=8000), name="a.wav")
    assert cut.note == "a.wav: it is cut off: 0.00 s of 0.50 s are there"
    assert len(cut.samples) == 2


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF])
def test_a_header_that_was_never_completed(size: int) -> None:
    recording = read_recording(wav(struct.pack("<2h", 2**14, 0), data=size, riff=size))
    assert recording.samples.tolist() == [0.5, 0.0]
    assert recording.note is None


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b"RIFF", "does not begin"),
        (b"RIFFxxxxWAVE", "'data' is missing"),
        (wav(b"")[:-8], "'data' is missing"),
        (wav(b""), "no samples"),
        (wav(b"\0"), "no samples"),
        (wav(bytes(8), channels=0), "0 channels"),
        (wav(bytes(8), rate=0), "0 samples per second"),
        (wav(bytes(8), bits=12), "12 bits"),
        (wav(bytes(8), kind=7, bits=8), "mu-law"),
        (wav(bytes(8), kind=77), "kind 77"),
        (wav(struct.pack("<f", np.nan), kind=3, bits=32), "no numbers"),
        (b"RIFFxxxxWAVEdata\4\0\0\0abcd", "before the header"),
        (b"RIFFxxxxWAVEfmt \4\0\0\0abcd", "header is cut off"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, data: bytes, word: str) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(data)
    with pytest.raises(DataError, match=rf"a\.wav: .*{word}"):
        read_recording(path)


def test_damaged_bytes_are_a_recording_or_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    random, good = np.random.default_rng(0), wav(struct.pack("<9h", *range(9)))
    for _ in range(2000):
        data = bytearray(good[: random.integers(len(good) + 1)] if random.random() < 0.2 else good)
        for place in random.integers(0, max(len(data), 1), 3 if data else 0):
            data[place] = random.integers(256)
        try:
            said = str(read_recording(bytes(data), name="a.wav").note or "a.wav: ")
        except DataError as problem:
            said = str(problem)
        assert said.startswith("a.wav: ")


def test_other_formats_need_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(DataError, match=r"a\.flac: .*regard\[audio\]"):
        read_recording(b"fLaC...", name="a.flac")


def test_other_formats_are_read_by_soundfile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is not needed for the tests: its interface is."""

    def read(file: io.BytesIO, dtype: str, always_2d: bool) -> tuple[NDArray[Any], int]:
        if file.read() != b"fLaC good":
            raise RuntimeError("Format not recognised.")
        assert always_2d
        return np.full((3, 2), 0.5, dtype), 16000

    module = types.ModuleType("soundfile")
    module.read = read  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "soundfile", module)
    recording = read_recording(b"fLaC good")
    assert (recording.samples.tolist(), recording.rate) == ([0.5, 0.5, 0.5], 16000)
    with pytest.raises(DataError, match=r"a\.ogg: .*not recognised"):
        read_recording(b"hello", name="a.ogg")
