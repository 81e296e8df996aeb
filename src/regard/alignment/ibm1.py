"""IBM model 1: uniform distribution over the source words that a target word may be linked to."""

from __future__ import annotations

from regard.alignment.link_candidates import Floats
from regard.alignment.word_aligner import WordAligner


class IBM1(WordAligner):
    r"""IBM model 1.

    .. math:: p(y, a \mid x) = \prod_{j=1}^{J} p(a_j)\, t(y_j \mid x_{a_j}), \quad
              p(0) = p_0, \quad p(i) = \frac{1 - p_0}{I}

    Brown et al. 1993, section 4.2. There the null word is one of I + 1 equally likely words; here it has a fixed
    probability p_0, as in the other models.

    >>> from regard.alignment.link_candidates import LinkCandidates
    >>> texts = [("das Haus", "the house"), ("das Buch", "the book"), ("ein Buch", "a book")]
    >>> aligner = IBM1(LinkCandidates([(source.split(), target.split()) for source, target in texts]), null=0.0)
    >>> aligner.fit(iterations=3)
    >>> sorted(aligner.links()[0])
    [(0, 0), (1, 1)]
    """

    def expect(self) -> Floats:
        cells = self.cells
        prior = cells.spread((1 - self.null) / (cells.width - 1))
        prior[cells.begin] = self.null
        return self._normalised(self.lexicon.of_cells() * prior)
