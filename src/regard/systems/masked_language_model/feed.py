"""Feeds of masked language models: windows of a text, and masking of the batches of any feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data import Batch, Corpus, DataError, Tokenizer
from regard.data.batching.feed import BatchPosition, Feed, WrappedFeed
from regard.data.batching.order import permutation, splitmix64
from regard.specials import EOS, IGNORE
from regard.systems.masked_language_model.masking import TokenMasking

FIXED = 0
"""Seed of the masks in evaluation, independent of the training seed."""
_OFFSET, _ORDER, _FOLLOWS, _CUT, _OTHER = 11, 12, 13, 14, 15


class WindowFeed(Feed):
    """Windows over the concatenated texts of a corpus; order and offset of the windows change in each epoch.

    Args:
        corpus: corpus with the field "text".
        rows: number of windows per batch.
        window: number of tokens per window; a shorter text is a single window.
        pairs: split each window at a random position into two texts with an end token between. With probability 1/2
            the second part is taken from another window. "next" [B] is 0 if the second text follows the first, 1 if
            not.
        seed, shuffle: as in `Batches`.
    """

    def __init__(
        self, corpus: Corpus, *, rows: int, window: int, pairs: bool = False, seed: int = 0, shuffle: bool = True
    ) -> None:
        self._ids = corpus.ids("text")
        self.window = min(window, len(self._ids))
        if self.window < (4 if pairs else 1):
            raise DataError(f"windows of {self.window} tokens are too short; raise train.batch.window, or add text")
        spare = self.window - 1 if shuffle else 0
        self.count = max((len(self._ids) - spare) // self.window, 1)
        self.rows, self.pairs, self.seed, self.shuffle = rows, pairs, seed, shuffle
        self.per_epoch = -(-self.count // rows)
        self._ordered: tuple[int, NDArray[np.int64]] | None = None

    def tokens(self, place: BatchPosition) -> int:
        return self.window * len(self._starts(place))

    def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
        starts = self._starts(place)
        text: NDArray[np.int64] = self._ids[starts[:, None] + np.arange(self.window)].astype(np.int64)
        tensors = {"text": torch.from_numpy(text)}
        if self.pairs:
            paired, follows = self._paired(text, starts, place.epoch)
            tensors = {"text": torch.from_numpy(paired), "next": torch.from_numpy(1 - follows)}
        mine = slice(rank, None, world)
        indices = tuple(starts[mine].tolist())
        return Batch({name: tensor[mine] for name, tensor in tensors.items()}, indices, self.window * len(indices))

    def _starts(self, place: BatchPosition) -> NDArray[np.int64]:
        """Return the start offsets of the windows of a batch."""
        if self._ordered is None or self._ordered[0] != place.epoch:
            self._ordered = place.epoch, self._order(place.epoch)
        return self._ordered[1][place.position * self.rows : (place.position + 1) * self.rows]

    def _order(self, epoch: int) -> NDArray[np.int64]:
        """Return the start offsets of all windows of an epoch, in order."""
        if not self.shuffle:
            return np.arange(self.count) * self.window
        spare = len(self._ids) - self.count * self.window
        offset = int(splitmix64(np.array([epoch], np.uint64), self.seed, _OFFSET)[0]) % (spare + 1)
        return offset + permutation(self.count, self.seed, epoch, _ORDER) * self.window

    def _paired(
        self, text: NDArray[np.int64], starts: NDArray[np.int64], epoch: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return pairs of text parts [B, T + 1] with an end token between, and 1 where the second follows, else 0."""
        batch, size = text.shape
        drawn = {
            name: splitmix64(starts.astype(np.uint64), self.seed, epoch, name) for name in (_FOLLOWS, _CUT, _OTHER)
        }
        # A random offset of 1 to B - 1 selects another window of the same batch, never the same one.
        others = (np.arange(batch) + 1 + (drawn[_OTHER] % np.uint64(max(batch - 1, 1))).astype(np.int64)) % batch
        follows = ((drawn[_FOLLOWS] % np.uint64(2) == 0) | (batch == 1)).astype(np.int64)
        cuts = size // 4 + (drawn[_CUT] % np.uint64(size // 2 + 1)).astype(np.int64)
        behind = np.where(follows[:, None] == 1, text, text[others])  # [B, T]
        columns, cut = np.arange(size + 1), cuts[:, None]
        first, second = text[:, np.minimum(columns, size - 1)], behind[:, np.maximum(columns - 1, 0)]
        return np.where(columns < cut, first, np.where(columns == cut, EOS, second)), follows

    def __str__(self) -> str:
        return f"{self.per_epoch:,} batches an epoch, {self.rows} windows of {self.window} tokens each"


class MaskedFeed(WrappedFeed):
    """Masks the batches of another feed: "text" is masked, and "wanted" [B, T] contains the targets.

    Args:
        inner: feed of texts or windows.
        masking: selection and replacement of the tokens.
        tokenizer: tokenizer of the texts.
        seed: seed of the masks, which change in each epoch.
    """

    def __init__(self, inner: Feed, masking: TokenMasking, tokenizer: Tokenizer, *, seed: int) -> None:
        super().__init__(inner)
        self.masking, self.seed, self.size = masking, seed, tokenizer.size
        self.begins = np.array(tokenizer.begins()) if masking.whole_words else None
        self._last: tuple[BatchPosition, Batch] | None = None

    def tokens(self, place: BatchPosition) -> int:
        return self.batch(place).tokens

    def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
        if world > 1:
            return self._masked(self.inner.batch(place, rank, world), place.epoch)
        if self._last is None or self._last[0] != place:
            self._last = place, self._masked(self.inner.batch(place), place.epoch)
        return self._last[1]

    def _masked(self, batch: Batch, epoch: int) -> Batch:
        numbers = np.array(batch.indices, np.int64)
        given, wanted = self.masking(
            batch["text"].numpy(), numbers, size=self.size, seeds=(self.seed, epoch), begins=self.begins
        )
        tensors = {**batch.tensors, "text": torch.from_numpy(given), "wanted": torch.from_numpy(wanted)}
        padding = dict(batch.padding)
        if "text" in padding:
            padding["wanted"] = padding["text"]._replace(value=IGNORE)
        return replace(batch, tensors=tensors, tokens=int((wanted != IGNORE).sum()), padding=padding)

    def check(self, files: Sequence[Path]) -> None:
        """Check that some token can be masked; unknown tokens cannot.

        Raises:
            DataError: all tokens are unknown; the message has the names of the files.
        """
        if not any(self.tokens(BatchPosition(0, number)) for number in range(self.per_epoch)):
            said = f"{', '.join(map(str, files))}: " if files else ""
            raise DataError(
                f"{said}every token is unknown to the tokenizer, and none is left to be hidden; give text of the kind "
                "that its vocabulary was made of"
            )

    def __str__(self) -> str:
        return f"{self.inner}, {self.masking.share:.0%} of them asked for"
