"""The frames that each symbol of a CTC transcript came from: its likeliest alignment (Viterbi)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Spans = tuple[tuple[int, int], ...]


def ctc_frames(
    log_probs: Tensor, transcripts: Sequence[Sequence[int]], lengths: Tensor | None = None, *, blank: int = 0
) -> list[Spans]:
    """Return the frames of each symbol in the likeliest alignment of a transcript.

    Args:
        log_probs: [B, T, V], log p(symbol v in frame t).
        transcripts: B sequences of symbols without blanks.
        lengths: [B], true frames; None for T.
        blank: the number of the blank.

    Returns:
        For each transcript one pair per symbol: its first frame, and the one after its last.

    Raises:
        ValueError: a transcript that no alignment gives, because the frames are too few or a symbol is impossible.

    `regard.ops.ctc_alignment` has the posterior of all alignments instead of the likeliest.

    >>> import torch
    >>> probs = torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
    >>> ctc_frames(probs.log()[None], [[1, 1]])
    [((0, 1), (2, 4))]
    """
    emission, frames = checked(log_probs, lengths, blank)
    if len(transcripts) != len(emission):
        raise ValueError(f"ctc: one transcript per row is needed; got {len(transcripts)} for {len(emission)} rows")
    return best_frames(emission, frames, np.arange(len(emission)), transcripts, blank)


def checked(log_probs: Tensor, lengths: Tensor | None, blank: int) -> tuple[Floats, Integers]:
    """Emissions [B, T, V] in float64 and true lengths [B], as arrays on the CPU; what does not fit is an error."""
    if log_probs.dim() != 3:
        raise ValueError(f"ctc: log_probs must be [B, T, V]; got {list(log_probs.shape)}")
    batch, frames, symbols = log_probs.shape
    if not 0 <= blank < symbols:
        raise ValueError(f"ctc: the blank must be one of the {symbols} symbols, 0 to {symbols - 1}; got {blank}")
    emission = log_probs.detach().double().cpu().numpy()
    if lengths is None:
        return emission, np.full(batch, frames)
    if lengths.shape != (batch,) or (batch and not 0 <= int(lengths.min()) <= int(lengths.max()) <= frames):
        raise ValueError(
            f"ctc: lengths are one integer from 0 to {frames} for each of the {batch} rows; got {lengths.tolist()}"
        )
    return emission, lengths.cpu().numpy().astype(np.int64)


def best_frames(
    emission: Floats, frames: Integers, rows: Integers, transcripts: Sequence[Sequence[int]], blank: int
) -> list[Spans]:
    """`ctc_frames` of several transcripts of a row: `rows` [H] says which row each of the H transcripts is of."""
    if not transcripts:
        return []
    sizes = np.array([len(symbols) for symbols in transcripts])
    states = np.full((len(transcripts), 2 * sizes.max() + 1), blank)  # [H, 2U + 1]: blanks around every symbol
    for number, symbols in enumerate(transcripts):
        states[number, 1 : 2 * len(symbols) : 2] = symbols
    path = _viterbi(emission, frames, rows, states, sizes, blank)  # [H, T]
    found = []
    for number, size in enumerate(sizes):
        emitted = path[number, : frames[rows[number]]]
        first = np.searchsorted(emitted, 2 * np.arange(size) + 1, side="left")
        last = np.searchsorted(emitted, 2 * np.arange(size) + 1, side="right")
        found.append(tuple(zip(first.tolist(), last.tolist(), strict=True)))
    return found


def _viterbi(
    emission: Floats, frames: Integers, rows: Integers, states: Integers, sizes: Integers, blank: int
) -> Integers:
    """The state in every frame of the likeliest path through the states [H, 2U + 1] of each transcript, [H, T]."""
    count, width = states.shape
    each = np.arange(count)[:, None]
    # A symbol can follow the one before without a blank between them, if it is another.
    leap = np.zeros((count, width), dtype=bool)
    leap[:, 3::2] = states[:, 3::2] != states[:, 1:-2:2]
    score = np.full((count, width + 2), -np.inf)  # two impossible states first, so that every state has two before it
    score[:, 2] = 0.0  # before the first frame, in the first blank
    moves = np.zeros((emission.shape[1], count, width), dtype=np.int64)
    for t in range(emission.shape[1]):
        ways = np.stack((score[:, 2:], score[:, 1:-1], np.where(leap, score[:, :-2], -np.inf)))  # [3, H, 2U + 1]
        moves[t] = ways.argmax(0)
        reached = ways.max(0) + emission[rows[:, None], t, states]
        going = (t < frames[rows])[:, None]
        score[:, 2:] = np.where(going, reached, score[:, 2:])
    ends = 2 * sizes[:, None] + np.array([0, -1])  # the last blank, the last symbol
    final = np.where(ends >= 0, score[each, np.maximum(ends, 0) + 2], -np.inf)
    if np.isneginf(final.max(1)).any():
        number = int(np.isneginf(final.max(1)).argmax())
        raise ValueError(f"ctc: transcript {number} has no alignment with {frames[rows[number]]} frames")
    state = ends[each[:, 0], final.argmax(1)]
    path = np.zeros((count, emission.shape[1]), dtype=np.int64)
    for t in reversed(range(emission.shape[1])):
        going = t < frames[rows]
        path[:, t] = state
        state = np.where(going, state - moves[t, each[:, 0], state], state)
    return path
