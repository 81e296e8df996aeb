"""Token masking for masked language models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.order import splitmix64
from regard.data.problems import DataError
from regard.specials import IGNORE, MASK, MASKED

Ids = NDArray[np.int64]
_CHOICE, _FATE, _WORD = 1, 2, 3
_ROOM = np.uint64(32)  # bits of a key reserved for the position in a text


@dataclass(frozen=True)
class TokenMasking:
    """Selects tokens of a text for prediction, and replaces them.

    In each text a fraction `share` of the tokens is selected, at least one. Of these, `masked` become `<mask>`,
    `random` become a random token, and the rest is unchanged. The model predicts all selected tokens and cannot know
    which visible tokens are original. Special ids and unknown tokens are never selected. Every choice is a hash of the
    seeds, the number of the text and the position. So masks change in each epoch, but do not depend on the batch or the
    process.

    Attributes:
        share: fraction of selected tokens.
        masked, random: fractions of the selected tokens.
        whole_words: select all pieces of a word together. The last word is completed even beyond `share`.

    Devlin et al. 2019, section 3.1 and appendix A.1; new masks in each epoch: Liu et al. 2019 (RoBERTa), section 4.1.

    >>> given, wanted = TokenMasking(share=0.5)(np.array([[7, 8, 9, 1]]), np.array([0]), size=11, seeds=(3,))
    >>> given.tolist(), wanted.tolist()
    ([[4, 8, 4, 1]], [[7, -100, 9, -100]])
    """

    share: float = 0.15
    masked: float = 0.8
    random: float = 0.1
    whole_words: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or min(self.masked, self.random) < 0 or self.masked + self.random > 1:
            raise DataError(
                f"masking: share {self.share} lies in (0, 1], and masked {self.masked} and random {self.random} are "
                "shares of the chosen words, at most 1 together"
            )

    def __call__(
        self, ids: Ids, numbers: Ids, *, size: int, seeds: tuple[int, ...], begins: NDArray[np.bool_] | None = None
    ) -> tuple[Ids, Ids]:
        """Mask a batch of texts.

        Args:
            ids: padded ids [B, T].
            numbers: number [B] of each text in the corpus.
            size: vocabulary size V.
            seeds: seed and epoch, hashed together with the number and the position.
            begins: [V], True for ids that start a word; required for whole words.

        Returns:
            The masked ids [B, T], and the targets [B, T]: the original ids at selected positions, -100 elsewhere.
        """
        if size <= len(MASKED):
            raise DataError(f"a vocabulary of {size} ids has no words that could be hidden")
        if not ids.size:
            return ids, ids
        places = np.arange(ids.shape[1], dtype=np.uint64)
        keys = (numbers.astype(np.uint64)[:, None] << _ROOM) + places  # [B, T], unique per text and position
        chosen = self._chosen(ids, keys, seeds, begins)
        fate = splitmix64(keys, *seeds, _FATE) / 2.0**64
        drawn = (splitmix64(keys, *seeds, _WORD) % np.uint64(size - len(MASKED))).astype(np.int64) + len(MASKED)
        given = np.where(chosen & (fate < self.masked), MASK, ids)
        given = np.where(chosen & (self.masked <= fate) & (fate < self.masked + self.random), drawn, given)
        return given, np.where(chosen, ids, IGNORE)

    def _chosen(
        self, ids: Ids, keys: NDArray[np.uint64], seeds: tuple[int, ...], begins: NDArray[np.bool_] | None
    ) -> NDArray[np.bool_]:
        """Return a mask [B, T] of the tokens with the smallest hashes; pieces of a word share the hash of the first."""
        words = ids >= len(MASKED)
        ranks = splitmix64(keys, *seeds, _CHOICE)
        if self.whole_words:
            if begins is None:
                raise DataError("whole_words needs to know where words begin; characters do not say it")
            firsts = np.where(begins[ids] | ~words, np.arange(ids.shape[1]), 0)
            # The running maximum gives the position of the first piece of each token's word.
            ranks = np.take_along_axis(ranks, np.maximum.accumulate(firsts, axis=1), axis=1)  # [B, T]
        ranks = np.where(words, ranks, np.uint64(2**64 - 1))
        counts = words.sum(1)
        wanted = np.clip(np.rint(self.share * counts).astype(np.int64), 1, np.maximum(counts, 1))
        # Comparing with the k-th smallest hash also selects its ties: the other pieces of the last word.
        last = np.take_along_axis(np.sort(ranks, axis=1), wanted[:, None] - 1, axis=1)
        chosen: NDArray[np.bool_] = words & (ranks <= last)
        return chosen
