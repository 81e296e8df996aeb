"""WAV files: reads 8, 16, 24 and 32 bits and floats; writes 16 bits.

The `wave` module of the standard library does not support floats, trusts the header, and fails on incomplete headers.
"""

from __future__ import annotations

import io
import struct
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_OTHERS = {2: "ADPCM", 6: "A-law", 7: "mu-law", 0x11: "IMA ADPCM", 0x55: "MP3"}
_UNFINISHED = (0, 0xFFFFFFFF)  # placeholder sizes of recorders that do not know the final length
_MOST_CHANNELS, _MOST_RATE = 64, 1_000_000


class WavError(ValueError):
    """Error in a WAV file; the message does not contain the file name."""


class Wav(NamedTuple):
    """The content of a WAV file.

    Attributes:
        samples: float32 [T, channels] in [-1, 1]; floats beyond that range stay as they are.
        rate: sample rate in Hz.
        missing: number of samples that the header declares but the file does not contain.
        bits: per sample.
    """

    samples: NDArray[np.float32]
    rate: int
    missing: int
    bits: int


def read_wav(data: bytes) -> Wav:
    """Parse the bytes of a WAV file.

    Raises:
        WavError: not a WAV file, an inconsistent header, or an unsupported compression.

    >>> wav = read_wav(wav_bytes(np.array([0.0, 0.5, -0.5]), 8000))
    >>> wav.samples[:, 0].tolist(), wav.rate
    ([0.0, 0.5, -0.5], 8000)
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise WavError("it does not begin as a WAV file does")
    layout: _Layout | None = None
    for name, body, size in _chunks(data):
        if name == b"fmt ":
            layout = _layout(body)
        elif name == b"data":
            if layout is None:
                raise WavError("its samples come before the header that describes them")
            return _decoded(body, size, layout)
    raise WavError("it has no samples: the part 'data' is missing")


def wav_bytes(samples: NDArray[np.floating], rate: int) -> bytes:
    """Return a 16-bit WAV file as bytes, from samples [T] or [T, channels] in [-1, 1]; larger values are clipped."""
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    levels = np.clip(np.rint(np.asarray(samples, np.float64) * 32768.0), -32768, 32767).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(channels)
        written.setsampwidth(2)
        written.setframerate(rate)
        written.writeframes(levels.tobytes())
    return file.getvalue()


def write_wav(path: str | Path, samples: NDArray[np.floating], rate: int) -> None:
    """Write samples [T] or [T, channels] in [-1, 1] to a file; see `wav_bytes`."""
    Path(path).write_bytes(wav_bytes(samples, rate))


class _Layout(NamedTuple):
    kind: int
    channels: int
    rate: int
    bits: int


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield name, content and declared size of each chunk of the file; chunks are aligned to two bytes."""
    at = 12
    while at + 8 <= len(data):
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        rest = data[at + 8 :] if name == b"data" and size in _UNFINISHED else data[at + 8 : at + 8 + size]
        yield name, rest, len(rest) if size in _UNFINISHED else size
        at += 8 + size + size % 2


def _layout(body: bytes) -> _Layout:
    if len(body) < 16:
        raise WavError("its header is cut off")
    kind, channels, rate, _, _, bits = struct.unpack("<HHIIHH", body[:16])
    if kind == _EXTENSIBLE and len(body) >= 26:
        kind = int.from_bytes(body[24:26], "little")  # the format code starts the sub-format GUID
    if not 1 <= channels <= _MOST_CHANNELS:
        raise WavError(f"its header says {channels} channels")
    if not 1 <= rate <= _MOST_RATE:
        raise WavError(f"its header says {rate} samples per second")
    if kind not in (_PCM, _FLOAT):
        raise WavError(f"its samples are {_OTHERS.get(kind, f'of kind {kind}')}, not PCM or floats; convert it to PCM")
    if bits not in ((8, 16, 24, 32) if kind == _PCM else (32, 64)):
        raise WavError(f"its header says {bits} bits per {'sample' if kind == _PCM else 'float'}")
    return _Layout(kind, channels, rate, bits)


def _decoded(body: bytes, size: int, layout: _Layout) -> Wav:
    frame = layout.channels * layout.bits // 8
    count = len(body) // frame
    flat = _samples(np.frombuffer(body, np.uint8, count * frame), layout)
    samples = flat.reshape(count, layout.channels)  # [T, channels]
    return Wav(samples, layout.rate, max(0, size // frame - count), layout.bits)


def _samples(raw: NDArray[np.uint8], layout: _Layout) -> NDArray[np.float32]:
    """Decode all samples in file order; the largest positive value is just below 1."""
    if layout.kind == _FLOAT:
        return raw.view(f"<f{layout.bits // 8}").astype(np.float32)
    if layout.bits == 8:  # 8-bit samples are unsigned: silence is 128
        return ((raw.astype(np.float32) - 128.0) / 128.0).astype(np.float32)
    if layout.bits == 24:  # no 24-bit dtype: use the upper three bytes of an int32
        wide = np.zeros((len(raw) // 3, 4), np.uint8)
        wide[:, 1:] = raw.reshape(-1, 3)
        return (wide.reshape(-1).view("<i4") / 2.0**31).astype(np.float32)
    return (raw.view(f"<i{layout.bits // 8}") / 2.0 ** (layout.bits - 1)).astype(np.float32)
