"""What a person looking over your shoulder would say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.data import EOS, Corpus
from regard.train.validation import Measured


@dataclass(frozen=True)
class Notices:
    """Warnings that a run earns: a model at the unigram floor, attention that stays flat.

    Attributes:
        floor: the loss of a model that knows only how frequent each token is, in nats.
    """

    floor: float

    @staticmethod
    def of(corpus: Corpus, field: str) -> Notices:
        """The floor of what is predicted, ends of texts included."""
        counts = np.bincount(corpus.ids(field), minlength=EOS + 1).astype(np.float64)
        if corpus.kinds[field] == "tokens":
            counts[EOS] += len(corpus)
        shares = counts[counts > 0] / counts.sum()
        return Notices(float(-(shares * np.log(shares)).sum()))

    def after(self, step: int, steps: int, measured: Measured) -> list[str]:
        """What to say after a validation; nothing in the first tenth of a run."""
        if step * 10 < steps:
            return []
        said = []
        if measured.loss > 0.95 * self.floor:
            said.append(
                f"the loss {measured.loss:.2f} is not below the unigram floor {self.floor:.2f}: the model knows "
                "at most which ones are frequent; try another learning rate, and look whether what is read and what is "
                "to be said belong together"
            )
        if measured.flatness is not None and measured.flatness > 0.95:
            said.append(
                f"attention is flat ({measured.flatness:.0%} of the entropy of looking everywhere alike): it has not "
                "found what to look at; train longer, or try a larger learning rate or another score"
            )
        return said
