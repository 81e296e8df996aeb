"""Decoding of recordings of any format to mono samples at a fixed rate."""

from __future__ import annotations

import io
import math
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.pictures.members import read_bytes
from regard.data.problems import DataError
from regard.data.sound.wav import WavError, read_wav

Source = str | Path | bytes | NDArray[Any]
_ZERO_CROSSINGS = 16  # of the interpolation filter, on each side; more are sharper and slower
_ROLLOFF = 0.94  # cutoff of the filter, as a fraction of the lower Nyquist frequency
_BLOCK = 1 << 15  # output samples computed per block, which limits memory
_KAISER = 9.0  # β of the Kaiser window; the stop band is attenuated by about 90 dB


class Recording(NamedTuple):
    """A decoded recording.

    Attributes:
        samples: float32 [T], mono, full scale is 1.
        rate: sample rate in Hz.
        note: note on conversions or anomalies, with the file name; None for an ordinary recording.
    """

    samples: NDArray[np.float32]
    rate: int
    note: str | None = None


def read_recording(
    source: Source, *, rate: int | None = None, source_rate: int | None = None, name: str | None = None
) -> Recording:
    """Decode a recording, mix it down to mono, and resample it.

    WAV files need NumPy only. FLAC, Ogg, MP3 and other formats need the extra `regard[audio]`.

    Args:
        source: a path, `sounds.zip:name.wav`, the bytes of a file, or an array [T] or [T, channels] of floats in
            [-1, 1] or of integers with the full scale of their dtype.
        rate: sample rate of the result; None for that of the source.
        source_rate: sample rate of an array; files contain their own.
        name: name of the recording in messages; None for its path, or "the recording".

    Raises:
        DataError: the file is not a recording, has no samples, or its header is inconsistent.

    >>> read_recording(np.zeros((5, 2)), source_rate=8000, name="mine").note
    'mine: its 2 channels were averaged; every sample is 0: it is silent'
    """
    name = name or (str(source) if isinstance(source, str | Path) else "the recording")
    missing = bits = 0
    if isinstance(source, np.ndarray):
        samples, before = _of_array(source, name), _rate_of_array(source_rate, name)
    else:
        samples, before, missing, bits = _of_bytes(source if isinstance(source, bytes) else read_bytes(source), name)
    if not len(samples):
        raise DataError(f"{name}: the recording has no samples")
    if not np.isfinite(samples).all():
        raise DataError(f"{name}: some samples are infinite or no numbers")
    remarks = []
    if missing:
        total = len(samples) + missing
        remarks.append(f"it is cut off: {len(samples) / before:.2f} s of {total / before:.2f} s are there")
    if bits == 8:
        remarks.append("it has 8 bits per sample: quiet sounds are rounded away")
    if samples.ndim == 2 and samples.shape[1] > 1:
        remarks.append(f"its {samples.shape[1]} channels were averaged")
    mixed = samples.mean(axis=1, dtype=np.float32) if samples.ndim == 2 else samples
    if not mixed.any():
        remarks.append("every sample is 0: it is silent")
    after = before if rate is None else rate
    note = f"{name}: {'; '.join(remarks)}" if remarks else None
    return Recording(resample(mixed, before, after), after, note)


def resample(samples: NDArray[np.float32], before: int, after: int) -> NDArray[np.float32]:
    r"""Resample samples [T] by windowed sinc interpolation.

    .. math:: y_n = \sum_t x_t \, h\Bigl(\tfrac{n}{r'} - \tfrac{t}{r}\Bigr), \quad
              h(\tau) = \tfrac{2f}{r} \, \mathrm{sinc}(2 f \tau) \, w(\tau), \quad f = 0.94 \, \tfrac{\min(r, r')}{2}

    with rates r and r' and a Kaiser window w of 16 zero crossings on each side. With r'/r = p/q in lowest terms, only
    p different filters occur: output n is the product of one of them with the samples around n r / r'.

    Args:
        samples: [T].
        before: r.
        after: r'.

    Returns:
        float32 [⌈T r' / r⌉]. The recording is zero-padded at both ends.

    Crochiere & Rabiner 1983, chapter 4.

    >>> resample(np.ones(80, np.float32), 8000, 16000).shape
    (160,)
    """
    if before < 1 or after < 1:
        raise ValueError(f"resample: rates must be at least 1; got {before} and {after}")
    samples = np.ascontiguousarray(samples, dtype=np.float32)
    if before == after or not len(samples):
        return samples
    divisor = math.gcd(before, after)
    step, phases = before // divisor, after // divisor
    bank, reach = _filters(step, phases)
    size = -(-len(samples) * phases // step)
    padded = np.pad(samples, (reach, reach + 1))
    windows = np.lib.stride_tricks.sliding_window_view(padded, bank.shape[1])  # [T, taps], no copy
    result = np.empty(size, np.float32)
    for begin in range(0, size, _BLOCK):
        numbers = np.arange(begin, min(begin + _BLOCK, size), dtype=np.int64)
        # Index of the sample at or before each output, and the phase of the output after that sample.
        before_it, phase = np.divmod(numbers * step, phases)
        result[begin : begin + _BLOCK] = np.einsum("nk,nk->n", windows[before_it], bank[phase])
    return result


@lru_cache(maxsize=8)
def _filters(step: int, phases: int) -> tuple[NDArray[np.float32], int]:
    """Return the filter of each phase, [phases, taps], and its reach in samples before the current one."""
    cutoff = _ROLLOFF * min(1.0, phases / step)  # as a fraction of the source's Nyquist frequency
    reach = math.ceil(_ZERO_CROSSINGS / cutoff)
    places = np.arange(-reach, reach + 2)  # sample offsets from the one at or before the output
    distance = (np.arange(phases) / phases)[:, None] - places[None, :]  # [phases, taps]
    inside = np.clip(1.0 - (distance * cutoff / _ZERO_CROSSINGS) ** 2, 0.0, None)
    window = np.where(inside > 0.0, np.i0(_KAISER * np.sqrt(inside)) / np.i0(_KAISER), 0.0)
    bank = cutoff * np.sinc(cutoff * distance) * window
    return (bank / bank.sum(axis=1, keepdims=True)).astype(np.float32), reach  # unit gain at DC


def _of_array(array: NDArray[Any], name: str) -> NDArray[np.float32]:
    if array.ndim not in (1, 2):
        raise DataError(f"{name}: an array must be [T] or [T, channels]; got {list(array.shape)}")
    if array.dtype == np.uint8:
        return ((array.astype(np.float32) - 128.0) / 128.0).astype(np.float32)
    if np.issubdtype(array.dtype, np.signedinteger):
        return (array / -float(np.iinfo(array.dtype).min)).astype(np.float32)
    if np.issubdtype(array.dtype, np.floating):
        return array.astype(np.float32)
    raise DataError(f"{name}: an array must hold floats, signed integers or uint8; got {array.dtype}")


def _rate_of_array(rate: int | None, name: str) -> int:
    if rate is None or rate < 1:
        raise DataError(f"{name}: source_rate must say how many samples per second the array has; got {rate}")
    return rate


def _of_bytes(data: bytes, name: str) -> tuple[NDArray[np.float32], int, int, int]:
    """Decode samples [T, channels]; also return the rate, the number of missing samples, and bits per sample or 0."""
    if not data:
        raise DataError(f"{name}: the file is empty")
    if data[:4] == b"RIFF":
        try:
            return read_wav(data)
        except WavError as problem:
            raise DataError(f"{name}: the recording cannot be read: {problem}") from problem
    return _by_soundfile(data, name)


def _by_soundfile(data: bytes, name: str) -> tuple[NDArray[np.float32], int, int, int]:
    try:
        import soundfile
    except (ImportError, OSError):  # OSError: the package is installed without its C library
        raise DataError(f"{name}: is not a WAV file; for FLAC, Ogg and MP3, pip install 'regard[audio]'") from None
    try:
        samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    except (RuntimeError, ValueError, TypeError) as problem:  # soundfile's own errors are RuntimeErrors
        why = str(getattr(problem, "error_string", problem))  # without the name of the buffer
        raise DataError(f"{name}: is not a recording that can be read ({why})") from problem
    return samples, int(rate), 0, 0
