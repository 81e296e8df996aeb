"""Base class of the statistical word aligners."""

from __future__ import annotations

import abc
from collections.abc import Callable

import numpy as np

from regard.alignment.lexicon import Lexicon
from regard.alignment.link_candidates import Floats, LinkCandidates
from regard.alignment.links import Links

Progress = Callable[[int], None]
"""Callback with the number of iterations completed since the last call."""


class WordAligner(abc.ABC):
    """Model p(target words, links | source words) in which each target word has at most one link.

    The parameters are estimated by expectation maximisation on the corpus to be aligned. Arrays over cells, [C], have a
    value per target word for the null word and for each word of its source sentence (see `LinkCandidates`).

    Args:
        cells: link candidates of the corpus.
        null: probability that a target word has no link.
        prior: Dirichlet prior of the lexicon (see `Lexicon`).

    Attributes:
        lexicon: translation probabilities.
        log_likelihoods: log-likelihood of the corpus before each iteration, in nats.
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
        """E step: return the posterior of each cell [C], and append the log-likelihood."""

    def maximise(self, posteriors: Floats) -> None:
        """M step: estimate the parameters from the posteriors of `expect`."""
        self.lexicon.update(posteriors)

    def fit(self, iterations: int = 5, progress: Progress = lambda done: None) -> None:
        """Run EM iterations."""
        for _ in range(iterations):
            self.maximise(self.expect())
            progress(1)

    def links(self) -> list[Links]:
        """Return the links of each pair: per target word the most probable link, or none."""
        posteriors, found = self.expect(), []
        for number, (source, target) in enumerate(self.cells.sizes.tolist()):
            best = posteriors[self.cells.of_pair(number)].reshape(target, source + 1).argmax(1) - 1
            found.append(frozenset((word, row) for row, word in enumerate(best.tolist()) if word >= 0))
        return found

    def _normalised(self, joint: Floats) -> Floats:
        """Normalise joint probabilities of target words and links [C] to posteriors, for independent target words."""
        total = self.cells.sums(joint)
        # The smallest positive float avoids log 0 where all candidates have probability 0.
        self.log_likelihoods.append(float(np.log(np.maximum(total, np.finfo(np.float64).tiny)).sum()))
        spread = self.cells.spread(total)
        return np.divide(joint, spread, out=np.zeros_like(joint), where=spread > 0)
