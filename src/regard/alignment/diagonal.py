"""IBM model 2 with a prior that favours the diagonal: the model of fast_align."""

from __future__ import annotations

import numpy as np

from regard.alignment.link_candidates import Floats, LinkCandidates
from regard.alignment.word_aligner import WordAligner

_LEAST, _MOST = 0.1, 14.0
_STEPS, _RATE = 8, 20.0


class Diagonal(WordAligner):
    r"""IBM model 2 with a single parameter for positions: the tension λ towards the diagonal.

    .. math:: p(y, a \mid x) = \prod_{j=1}^{J} p(a_j \mid j)\, t(y_j \mid x_{a_j}), \quad p(0 \mid j) = p_0, \quad
              p(i \mid j) = (1 - p_0) \frac{e^{-\lambda |i/I - j/J|}}{\sum_{i'} e^{-\lambda |i'/I - j/J|}}

    λ is updated by gradient steps after each EM iteration and clipped to [0.1, 14] (Dyer, Chahuneau & Smith 2013).
    Unlike the paper, the gradient weights each target word by its posterior probability of being linked.

    Args:
        cells: link candidates of the corpus.
        null: p_0, the probability of the null word.
        prior: Dirichlet prior of the lexicon (see `Lexicon`).
        tension: initial value of λ.
    """

    def __init__(self, cells: LinkCandidates, *, null: float = 0.08, prior: float = 0.01, tension: float = 4.0) -> None:
        super().__init__(cells, null=null, prior=prior)
        self.tension = tension
        place = np.arange(len(cells)) - cells.spread(cells.begin)  # [C], source position i; 0 is the null word
        words = cells.sizes[cells.pair]  # [T, 2]
        # `pair` is ascending: searchsorted finds the first target word of each pair, so the difference is j - 1.
        row = (np.arange(cells.words) - np.searchsorted(cells.pair, cells.pair) + 1) / words[:, 1]  # [T], j / J
        self._distance = np.abs(place / cells.spread(words[:, 0]) - cells.spread(row))  # [C]
        rows = np.stack((words[:, 0], words[:, 1], np.round(row * words[:, 1]).astype(np.int64)), axis=1)
        # The expected distance depends on (I, J, j) only: compute it once per distinct triple rather than per word.
        self._rows, self._row_of = np.unique(rows, axis=0, return_inverse=True) if cells.words else (rows, cells.pair)

    def expect(self) -> Floats:
        cells = self.cells
        prior = np.exp(-self.tension * self._distance)
        prior[cells.begin] = 0.0  # the null word takes no part in the normalisation over source positions
        prior *= cells.spread((1 - self.null) / cells.sums(prior))
        prior[cells.begin] = self.null
        return self._normalised(self.lexicon.of_cells() * prior)

    def maximise(self, posteriors: Floats) -> None:
        super().maximise(posteriors)
        if not self.cells.words:
            return
        linked = 1 - posteriors[self.cells.begin]  # [T]
        distances = self._distance * posteriors
        distances[self.cells.begin] = 0.0
        observed = float(distances.sum()) / max(float(linked.sum()), np.finfo(np.float64).tiny)
        weights = np.bincount(self._row_of.reshape(-1), linked, minlength=len(self._rows))
        for _ in range(_STEPS):
            expected = float((weights * self._expected_distance()).sum() / max(weights.sum(), 1e-300))
            self.tension = float(np.clip(self.tension + _RATE * (expected - observed), _LEAST, _MOST))

    def _expected_distance(self) -> Floats:
        """Return the mean of |i/I - j/J| under the prior, one value per distinct (I, J, j)."""
        source, target, row = (column[:, None].astype(np.float64) for column in self._rows.T)
        place = np.arange(1, int(self._rows[:, 0].max()) + 1)  # padded to the longest source; masked below
        distance = np.abs(place / source - row / target)
        weights = np.where(place <= source, np.exp(-self.tension * distance), 0.0)
        mean: Floats = (weights * distance).sum(1) / weights.sum(1)
        return mean
