"""One long text in windows, for language models that carry their state."""

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
    """Input and target of one window; `begins` where no state is carried in."""

    text: Tensor  # [B, T]
    target: Tensor  # [B, T], text one place on
    begins: bool


class Stream:
    """A text cut into B rows of equal length, read side by side in windows of T (Zaremba et al. 2014, section 4.1).

    Row b goes on in the next window where it stopped in this one, so the state of the model is carried from window to
    window and is reset only where `begins` is true. Every window is a function of its number. Fewer than B tokens at
    the end of the text are not read, and the first token of each row is not predicted: to measure perplexity on all
    but one token, B = 1.

    Args:
        ids: the text, [N].
        batch: B.
        steps: T; the last window may be shorter.
        ends: where to put an end-of-sentence: the places in `ids` before which one stands, ascending; none by default.

    >>> stream = Stream(range(10, 21), batch=2, steps=3)
    >>> len(stream), stream[0].text.tolist(), stream[0].target.tolist(), stream[1].text.tolist()
    (2, [[10, 11, 12], [15, 16, 17]], [[11, 12, 13], [16, 17, 18]], [[13], [18]])
    """

    def __init__(self, ids: ArrayLike, *, batch: int, steps: int, ends: ArrayLike = ()) -> None:
        if batch < 1 or steps < 1:
            raise DataError(f"a stream needs batch and steps of at least 1, not {batch} and {steps}")
        self._ids = np.asanyarray(ids)
        self._ends = np.asarray(ends, dtype=np.int64) + np.arange(np.size(ends))  # where they stand in the whole text
        self.tokens = len(self._ids) + len(self._ends)
        self.batch, self.steps, self.row = batch, steps, self.tokens // batch
        if self.row < 2:
            raise DataError(f"a text of {self.tokens} tokens is too short for {batch} rows; make batch smaller")

    @classmethod
    def of(cls, corpus: Corpus, field: str = "text", *, batch: int, steps: int, eos: bool = True) -> Stream:
        """The examples of a corpus one after another, with an end-of-sentence behind each if `eos`."""
        return cls(corpus.ids(field), batch=batch, steps=steps, ends=corpus.offsets(field)[1:] if eos else ())

    def __len__(self) -> int:
        return -(-(self.row - 1) // self.steps)

    def __getitem__(self, number: int) -> StreamWindow:
        if not 0 <= number < len(self):
            raise IndexError(f"window {number} of {len(self)}")
        begin = number * self.steps
        width = min(self.steps, self.row - 1 - begin)
        places = np.arange(self.batch)[:, None] * self.row + begin + np.arange(width + 1)
        ids = torch.from_numpy(self._at(places))
        return StreamWindow(ids[:, :-1].contiguous(), ids[:, 1:].contiguous(), begins=number == 0)

    def __iter__(self) -> Iterator[StreamWindow]:
        return (self[number] for number in range(len(self)))

    def _at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ids at places of the whole text, ends of sentences included, without ever building that text."""
        before = np.searchsorted(self._ends, places, side="left")
        inside = np.minimum(places - before, max(len(self._ids) - 1, 0))
        ids = self._ids[inside].astype(np.int64) if len(self._ids) else np.full(places.shape, EOS, np.int64)
        if len(self._ends):
            ids[self._ends[np.minimum(before, len(self._ends) - 1)] == places] = EOS
        return ids
