"""Statistical word aligners: what they have in common."""

from __future__ import annotations

import abc
from collections.abc import Callable

import numpy as np

from regard.alignment.lexicon import Lexicon
from regard.alignment.link_candidates import Floats, LinkCandidates
from regard.alignment.links import Links

Progress = Callable[[int], None]
"""Called with the number of iterations that were made since the last call."""


class WordAligner(abc.ABC):
    """A model p(target words, links | source words) in which each target word is linked to one source word or none.

    Links and words are estimated on the corpus that is to be aligned, by expectation maximisation. The cells of an
    aligner are those of its corpus: [C], for each target word the null word and the words of its source.

    Args:
        cells: of the corpus.
        null: probability that a target word is linked to no source word.
        prior: of the lexicon (see `Lexicon`).

    Attributes:
        lexicon: translation probabilities.
        log_likelihoods: of the corpus before each iteration, in nats.
    """

    def __init__(self, cells: LinkCandidates, *, null: float = 0.08, prior: float = 0.0) -> None:
        if not 0 <= null < 1:
            raise ValueError(f"null is the probability of a word without a link, 0 or more and below 1; got {null}")
        self.cells = cells
        self.null = null
        self.lexicon = Lexicon(cells, prior=prior)
        self.log_likelihoods: list[float] = []

    @abc.abstractmethod
    def expect(self) -> Floats:
        """Return the posterior of each cell [C], and append the log-likelihood."""

    def maximise(self, posteriors: Floats) -> None:
        """Estimate the parameters from the posteriors of `expect`."""
        self.lexicon.update(posteriors)

    def fit(self, iterations: int = 5, progress: Progress = lambda done: None) -> None:
        """Iterate expectation and maximisation."""
        for _ in range(iterations):
            self.maximise(self.expect())
            progress(1)

    def links(self) -> list[Links]:
        """Return the links of each pair: the most probable one of each target word, or none."""
        posteriors, found = self.expect(), []
        for number, (source, target) in enumerate(self.cells.sizes.tolist()):
            best = posteriors[self.cells.of_pair(number)].reshape(target, source + 1).argmax(1) - 1
            found.append(frozenset((word, row) for row, word in enumerate(best.tolist()) if word >= 0))
        return found

    def _normalised(self, joint: Floats) -> Floats:
        """Return joint probabilities of target words and links [C] as posteriors, where words are independent."""
        total = self.cells.sums(joint)
        self.log_likelihoods.append(float(np.log(np.maximum(total, np.finfo(np.float64).tiny)).sum()))
        spread = self.cells.spread(total)
        return np.divide(joint, spread, out=np.zeros_like(joint), where=spread > 0)
