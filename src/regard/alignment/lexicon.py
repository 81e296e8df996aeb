"""Lexicon: translation probability of each target word given a source word."""

from __future__ import annotations

import numpy as np
import torch

from regard.alignment.link_candidates import Floats, LinkCandidates


class Lexicon:
    """Translation probabilities t(y | x) of all word pairs that co-occur in a sentence pair.

    Args:
        cells: link candidates of the corpus.
        prior: α of a symmetric Dirichlet prior over each distribution, with a mean-field variational estimate; 0 for
            maximum likelihood. A small α keeps rare source words from collecting the links of every target word that
            nothing else explains.

    With expected counts c the estimate is c / Σ c. With a prior it is exp(ψ(c + α)) / exp(ψ(Σ (c + α))), which sums to
    less than 1 (Johnson 2007; Dyer, Chahuneau & Smith 2013, section 2.1).

    >>> cells = LinkCandidates([(["das", "Haus"], ["the", "house"]), (["das"], ["the"])])
    >>> lexicon = Lexicon(cells)
    >>> lexicon.update(np.array([0.0, 0.5, 0.5, 0.0, 0.5, 0.5, 0.0, 1.0]))
    >>> lexicon.probability[cells.entry[[1, 4]]]                # t(the | das), t(house | das)
    array([0.75, 0.25])
    """

    def __init__(self, cells: LinkCandidates, *, prior: float = 0.0) -> None:
        self.cells = cells
        self.prior = prior
        self.probability: Floats = np.full(len(cells.source_of), 1.0 / max(1, len(cells.source_of)))

    def of_cells(self) -> Floats:
        """Return the translation probability of each cell, [C]."""
        found: Floats = self.probability[self.cells.entry]
        return found

    def update(self, posteriors: Floats) -> None:
        """Re-estimate the probabilities from the posterior of each cell, [C]."""
        owner, size = self.cells.source_of, len(self.cells.source_of)
        counts: Floats = np.bincount(self.cells.entry, posteriors, minlength=size).astype(np.float64) + self.prior
        totals: Floats = np.bincount(owner, counts).astype(np.float64)
        if self.prior:
            counts, totals = _exp_digamma(counts), _exp_digamma(totals)
        below = totals[owner]
        self.probability = np.divide(counts, below, out=np.zeros(size), where=below > 0)


def _exp_digamma(values: Floats) -> Floats:
    found: Floats = torch.special.digamma(torch.from_numpy(values)).exp().numpy()
    return found
