"""Diversity of texts: distinct n-grams over a set, and repetition within each text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.evaluate.accuracy import ratio
from regard.evaluate.metric_result import MetricResult, signature
from regard.evaluate.sacre import splitter
from regard.evaluate.tally import Tally, safe_ratio
from regard.evaluate.texts import References, paired_texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class DistinctTally(Tally):
    """A tally that also holds the n-grams of every text, since distinct ones of several texts do not add up.

    Attributes:
        grams: the numbers of all n-grams, text after text.
        first: [N + 1], where the n-grams of each text begin.
        kinds: how many different n-grams there are.
    """

    grams: NDArray[np.int64]
    first: NDArray[np.int64]
    kinds: int

    def score(self) -> MetricResult:
        """The share over all texts."""
        return MetricResult(self.name, safe_ratio(self.kinds, len(self.grams)), self.signature, len(self))

    def resampled(self, picks: NDArray[np.int64]) -> float:
        """The share over these texts; a text drawn twice has its n-grams twice, but no more distinct ones."""
        import numpy as np

        there = np.zeros(self.kinds, dtype=bool)
        chosen = np.zeros(len(self), dtype=bool)
        chosen[picks] = True
        there[self.grams[np.repeat(chosen, np.diff(self.first))]] = True
        return safe_ratio(int(there.sum()), float(self.rows[picks].sum()))


def distinct_tally(
    hypotheses: Sequence[str], references: References, *, n: int = 1, lowercase: bool = True, tokenize: str = "13a"
) -> Tally:
    """The n-grams of every text, for `distinct` and for the bootstrap."""
    import numpy as np

    numbers: dict[tuple[str, ...], int] = {}
    found: list[int] = []
    first = [0]
    for grams in _grams("distinct", hypotheses, references, n, lowercase, tokenize):
        found += [numbers.setdefault(gram, len(numbers)) for gram in grams]
        first.append(len(found))
    begins = np.array(first)
    how = signature(n=n, case="lc" if lowercase else "mixed", tok=tokenize, over="set")
    rows = np.diff(begins).astype(np.float64)[:, None]
    return DistinctTally(f"distinct-{n}", rows, ratio, how, np.array(found, dtype=np.int64), begins, len(numbers))


def distinct(
    hypotheses: Sequence[str], references: References, *, n: int = 1, lowercase: bool = True, tokenize: str = "13a"
) -> MetricResult:
    """Distinct-n, between 0 and 1: different n-grams of all texts over their number. Higher is more diverse.

    Args:
        hypotheses: one text each.
        references: not compared with; there must be as many.
        n: the length of the n-grams.
        lowercase: count without case.
        tokenize: one of sacrebleu's tokenizers.

    Returns:
        Score. It falls with the number of words, so compare sets of like sizes. For the same reason, resamples of a
        bootstrap, in which texts repeat, lie below the value itself; differences between two systems may be read.

    Li et al. 2016, "A Diversity-Promoting Objective Function for Neural Conversation Models", section 5.

    >>> print(distinct(["i do not know", "i do not care"], ["fine", "well"]))   # i do not know care: 5 of 8
    distinct-1 0.6250 (n:1|case:lc|tok:13a|over:set)
    """
    return distinct_tally(hypotheses, references, n=n, lowercase=lowercase, tokenize=tokenize).score()


def repetition_tally(
    hypotheses: Sequence[str], references: References, *, n: int = 4, lowercase: bool = True, tokenize: str = "13a"
) -> Tally:
    """The share of repeated n-grams of every text, for `repetition` and for the bootstrap."""
    texts = _grams("repetition", hypotheses, references, n, lowercase, tokenize)
    rows = [(safe_ratio(len(grams) - len(set(grams)), len(grams)), 1.0) for grams in texts]
    how = signature(n=n, case="lc" if lowercase else "mixed", tok=tokenize, over="text")
    return Tally.of(f"repetition-{n}", rows, ratio, how)


def repetition(
    hypotheses: Sequence[str], references: References, *, n: int = 4, lowercase: bool = True, tokenize: str = "13a"
) -> MetricResult:
    r"""The mean share of the n-grams of a text that occurred in it before, between 0 and 1; lower is better.

    .. math:: \mathrm{rep}_n = \frac{1}{N} \sum_h \Big(1 - \frac{|\text{different } n\text{-grams of } h|}
              {|n\text{-grams of } h|}\Big)

    Args:
        hypotheses: one text each.
        references: not compared with; there must be as many.
        n: the length of the n-grams; a text with fewer words counts as 0.
        lowercase: count without case.
        tokenize: one of sacrebleu's tokenizers.

    Returns:
        Score.

    Welleck et al. 2020, "Neural Text Generation with Unlikelihood Training", section 4 (seq-rep-n). In the first text,
    2 of 5 pairs come again; in the second none does.

    >>> print(repetition(["so it goes so it goes", "the end"], ["a", "b"], n=2))   # (2 / 5 + 0) / 2
    repetition-2 0.2000 (n:2|case:lc|tok:13a|over:text)
    """
    return repetition_tally(hypotheses, references, n=n, lowercase=lowercase, tokenize=tokenize).score()


def _grams(
    metric: str, hypotheses: Sequence[str], references: References, n: int, lowercase: bool, tokenize: str
) -> list[list[tuple[str, ...]]]:
    """The n-grams of every text, in order."""
    if n < 1:
        raise ValueError(f"{metric}: n must be 1 or more; got {n}")
    words = splitter(metric, tokenize, lowercase=lowercase)
    paired_texts(metric, hypotheses, references)
    texts = [words(text) for text in hypotheses]
    return [[tuple(text[at : at + n]) for at in range(len(text) - n + 1)] for text in texts]
