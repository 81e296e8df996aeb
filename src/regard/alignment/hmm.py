"""Hidden Markov model of word alignment: each link depends on the previous one."""

from __future__ import annotations

import numpy as np

from regard.alignment.link_candidates import Floats, LinkCandidates, SizeGroup
from regard.alignment.word_aligner import WordAligner


class HMM(WordAligner):
    r"""Hidden Markov model whose transitions depend on the width of the jump.

    .. math:: p(y, a \mid x) = \prod_{j=1}^{J} p(a_j \mid a_{j-1})\, t(y_j \mid x_{a_j}), \quad
              p(i \mid i') = (1 - p_0) \Bigl( (1 - \alpha) \frac{c(i - i')}{\sum_{i''} c(i'' - i')}
              + \frac{\alpha}{I} \Bigr)

    A target word is linked to the null word with probability p_0; the next jump then still starts from i', the last
    linked source position. The first jump starts before the first source word. Vogel, Ney & Tillmann 1996, equation 7;
    the null word follows Och & Ney 2003, section 2.1.1. Links are decoded by posterior per word, not by Viterbi.

    Args:
        cells: link candidates of the corpus.
        null: p_0, the probability of the null word.
        prior: Dirichlet prior of the lexicon (see `Lexicon`).
        smoothing: α, the weight of the uniform distribution in the transitions.

    Attributes:
        jumps: c(d), the expected counts of jump widths d from 1 - I to I, for I of the longest source.
    """

    def __init__(self, cells: LinkCandidates, *, null: float = 0.2, prior: float = 0.0, smoothing: float = 0.1) -> None:
        super().__init__(cells, null=null, prior=prior)
        self.smoothing = smoothing
        self._longest = int(cells.sizes[:, 0].max(initial=1))
        self.jumps: Floats = np.ones(2 * self._longest)
        self._counts = np.zeros_like(self.jumps)

    def transitions(self, source: int) -> Floats:
        """Return (1 - p_0) p(i | i'), [I + 1, I]; row 0 is the position before the first word."""
        width = np.arange(source) - np.arange(-1, source)[:, None]  # [I + 1, I]
        jumped = self.jumps[width + self._longest - 1]
        total = jumped.sum(1, keepdims=True)
        # Rows without any counted jump fall back to the uniform distribution.
        jumped = np.divide(jumped, total, out=np.full_like(jumped, 1 / source), where=total > 0)
        result: Floats = (1 - self.null) * ((1 - self.smoothing) * jumped + self.smoothing / source)
        return result

    def expect(self) -> Floats:
        posteriors = np.zeros(len(self.cells))
        self._counts = np.zeros_like(self.jumps)
        lexical, total = self.lexicon.of_cells(), 0.0
        for block in self.cells.blocks():
            found, likelihood = self._block(block, lexical[block.cells])
            posteriors[block.cells] = found
            total += likelihood
        self.log_likelihoods.append(total)
        return posteriors

    def maximise(self, posteriors: Floats) -> None:
        super().maximise(posteriors)
        self.jumps = self._counts

    def _block(self, block: SizeGroup, lexical: Floats) -> tuple[Floats, float]:
        """Run forward-backward on N pairs of one size: lexical probabilities and posteriors are [N, J, I + 1]."""
        moves = self.transitions(block.source)
        null, words = self.null * lexical[:, :, :1], lexical[:, :, 1:]
        reached, scales = self._forward(moves, null, words)
        behind = np.ones((len(lexical), block.source + 1))  # [N, I + 1], scaled backward probabilities
        posteriors, moved = np.empty_like(lexical), np.zeros_like(moves)
        for row in reversed(range(block.target)):
            before, scale = reached[row], scales[row][:, None]
            onward = words[:, row] * behind[:, 1:] / scale  # [N, I]
            stayed = null[:, row] * behind / scale  # [N, I + 1]
            posteriors[:, row, 1:] = (before @ moves) * onward
            posteriors[:, row, 0] = (before * stayed).sum(1)
            moved += before.T @ onward
            behind = onward @ moves.T + stayed
        width = np.arange(block.source) - np.arange(-1, block.source)[:, None]
        # Many transitions share a jump width; `add.at` accumulates repeated indices, which `+=` would not.
        np.add.at(self._counts, width + self._longest - 1, moves * moved)
        return posteriors, float(np.log(scales).sum())

    def _forward(self, moves: Floats, null: Floats, words: Floats) -> tuple[list[Floats], list[Floats]]:
        """Return the distribution of the last linked position before each target word, and the scaling factors.

        Each step is normalised to sum 1, which prevents underflow on long sentences; the product of the factors is the
        likelihood.
        """
        count, rows, source = words.shape
        place = np.zeros((count, source + 1))
        place[:, 0] = 1.0  # the position before the first word
        reached, scales = [], []
        for row in range(rows):
            reached.append(place)
            stayed = place * null[:, row]
            stayed[:, 1:] += (place @ moves) * words[:, row]
            scale = np.maximum(stayed.sum(1), np.finfo(np.float64).tiny)
            place = stayed / scale[:, None]
            scales.append(scale)
        return reached, scales
