"""One long text in windows, for language models that carry their state between batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from regard.data.batching.corpus import Corpus
from regard.data.problems import DataError
from regard.specials import EOS


class StreamWindow(NamedTuple):
    """Input and target of one window; `begins` is True if the state is reset before it."""

    text: Tensor  # [B, T]
    target: Tensor  # [B, T], text shifted by one position
    begins: bool


class Stream:
    """A text cut into B parallel rows of equal length, in windows of T tokens (Zaremba et al. 2014, section 4.1).

    Row b of a window continues row b of the previous one, so the state of the model is carried from window to window
    and reset only where `begins` is True. Each window is a function of its index. Up to B - 1 tokens at the end of the
    text are dropped, and the first token of each row is not predicted. To measure perplexity on all tokens but one, use
    B = 1.

    Args:
        ids: ids of the text, [N].
        batch: B, the number of rows.
        steps: T, tokens per window; the last window may be shorter.
        ends: ascending positions in `ids` before which an end-of-sentence token is inserted; none by default.

    >>> stream = Stream(range(10, 21), batch=2, steps=3)
    >>> len(stream), stream[0].text.tolist(), stream[0].target.tolist(), stream[1].text.tolist()
    (2, [[10, 11, 12], [15, 16, 17]], [[11, 12, 13], [16, 17, 18]], [[13], [18]])
    """

    def __init__(self, ids: ArrayLike, *, batch: int, steps: int, ends: ArrayLike = ()) -> None:
        if batch < 1 or steps < 1:
            raise DataError(f"a stream needs batch and steps of at least 1, not {batch} and {steps}")
        self._ids = np.asanyarray(ids)
        self._ends = np.asarray(ends, dtype=np.int64) + np.arange(np.size(ends))  # positions after insertion
        self.tokens = len(self._ids) + len(self._ends)
        self.batch, self.steps, self.row = batch, steps, self.tokens // batch
        if self.row < 2:
            raise DataError(f"a text of {self.tokens} tokens is too short for {batch} rows; make batch smaller")

    @classmethod
    def of(cls, corpus: Corpus, field: str = "text", *, batch: int, steps: int, eos: bool = True) -> Stream:
        """Return a stream of the concatenated examples of a corpus; `eos` appends an end-of-sentence token to each."""
        return cls(corpus.ids(field), batch=batch, steps=steps, ends=corpus.offsets(field)[1:] if eos else ())

    def __len__(self) -> int:
        return -(-(self.row - 1) // self.steps)

    def __getitem__(self, number: int) -> StreamWindow:
        if not 0 <= number < len(self):
            raise IndexError(f"window {number} of {len(self)}")
        begin = number * self.steps
        width = min(self.steps, self.row - 1 - begin)
        places = np.arange(self.batch)[:, None] * self.row + begin + np.arange(width + 1)  # [B, T + 1]
        ids = torch.from_numpy(self._at(places))
        return StreamWindow(ids[:, :-1].contiguous(), ids[:, 1:].contiguous(), begins=number == 0)

    def __iter__(self) -> Iterator[StreamWindow]:
        return (self[number] for number in range(len(self)))

    def _at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ids at positions of the text with inserted ends of sentences, which is never materialised."""
        before = np.searchsorted(self._ends, places, side="left")  # ends inserted before each position
        inside = np.minimum(places - before, max(len(self._ids) - 1, 0))
        ids = self._ids[inside].astype(np.int64) if len(self._ids) else np.full(places.shape, EOS, np.int64)
        if len(self._ends):
            # A position equal to an inserted end is that end; the index above is only a placeholder for it.
            ids[self._ends[np.minimum(before, len(self._ends) - 1)] == places] = EOS
        return ids
