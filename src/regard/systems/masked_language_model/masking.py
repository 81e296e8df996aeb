"""Words hidden from a model that learns to fill them in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.order import splitmix64
from regard.data.problems import DataError
from regard.specials import IGNORE, MASK, MASKED

Ids = NDArray[np.int64]
_CHOICE, _FATE, _WORD = 1, 2, 3
_ROOM = np.uint64(32)  # bits for the place in a text


@dataclass(frozen=True)
class TokenMasking:
    """Chooses the words of a text that are hidden, and what replaces them.

    Of `share` of the words of each text, at least one, `masked` become `<mask>`, `random` become any word, and the rest
    stay: the model is asked for all of them and cannot know which of those it sees are right. Special ids and
    unknown words are never chosen. Every choice is a function of the seeds, the text's number and the place in it,
    so that masks are new in each epoch, and the same whatever batch or process the text is in.

    Attributes:
        share: of the words that are chosen.
        masked, random: of the chosen ones.
        whole_words: whether all pieces of a word are chosen with it. The last word is finished even beyond `share`.

    Devlin et al. 2019, section 3.1 and appendix A.1; anew each epoch: Liu et al. 2019 (RoBERTa), section 4.1.

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
        """Hide words of some texts.

        Args:
            ids: [B, T], padded.
            numbers: [B], which texts these are.
            size: V, how many ids there are.
            seeds: what the choice depends on beside number and place: a seed, the epoch.
            begins: [V], whether an id begins a word; for whole words.

        Returns:
            What the model is given, and what it is asked for: the ids that were chosen, -100 elsewhere.
        """
        if size <= len(MASKED):
            raise DataError(f"a vocabulary of {size} ids has no words that could be hidden")
        if not ids.size:
            return ids, ids
        places = np.arange(ids.shape[1], dtype=np.uint64)
        keys = (numbers.astype(np.uint64)[:, None] << _ROOM) + places
        chosen = self._chosen(ids, keys, seeds, begins)
        fate = splitmix64(keys, *seeds, _FATE) / 2.0**64
        drawn = (splitmix64(keys, *seeds, _WORD) % np.uint64(size - len(MASKED))).astype(np.int64) + len(MASKED)
        given = np.where(chosen & (fate < self.masked), MASK, ids)
        given = np.where(chosen & (self.masked <= fate) & (fate < self.masked + self.random), drawn, given)
        return given, np.where(chosen, ids, IGNORE)

    def _chosen(
        self, ids: Ids, keys: NDArray[np.uint64], seeds: tuple[int, ...], begins: NDArray[np.bool_] | None
    ) -> NDArray[np.bool_]:
        """[B, T]: those whose hash is among the smallest; the pieces of a word share the hash of its first."""
        words = ids >= len(MASKED)
        ranks = splitmix64(keys, *seeds, _CHOICE)
        if self.whole_words:
            if begins is None:
                raise DataError("whole_words needs to know where words begin; characters do not say it")
            firsts = np.where(begins[ids] | ~words, np.arange(ids.shape[1]), 0)
            ranks = np.take_along_axis(ranks, np.maximum.accumulate(firsts, axis=1), axis=1)
        ranks = np.where(words, ranks, np.uint64(2**64 - 1))
        counts = words.sum(1)
        wanted = np.clip(np.rint(self.share * counts).astype(np.int64), 1, np.maximum(counts, 1))
        last = np.take_along_axis(np.sort(ranks, axis=1), wanted[:, None] - 1, axis=1)
        chosen: NDArray[np.bool_] = words & (ranks <= last)
        return chosen
