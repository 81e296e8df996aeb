"""chrF and chrF++ (Popović 2015, 2017), by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence

from regard.evaluate.sacre import sacre_tally
from regard.evaluate.score import Score
from regard.evaluate.tally import Tally
from regard.evaluate.texts import References


def chrf_tally(
    hypotheses: Sequence[str], references: References, *, word_order: int = 0, beta: int = 2, lowercase: bool = False
) -> Tally:
    """The character n-gram counts of every sentence, for `chrf` and for the bootstrap."""
    from sacrebleu.metrics.chrf import CHRF

    if word_order < 0 or beta < 1:
        raise ValueError(f"chrf: word_order must be 0 or more and beta 1 or more; got {word_order} and {beta}")
    metric = CHRF(word_order=word_order, beta=beta, lowercase=lowercase)
    return sacre_tally(f"chrF{beta}" + "+" * word_order, metric, hypotheses, references)


def chrf(
    hypotheses: Sequence[str], references: References, *, word_order: int = 0, beta: int = 2, lowercase: bool = False
) -> Score:
    r"""F-score of character n-grams up to 6, between 0 and 100: kind to languages with many word forms.

    .. math:: \mathrm{chrF}_\beta = (1 + \beta^2)\, \frac{P R}{\beta^2 P + R}

    with P and R the precision and recall of character n-grams, averaged over the orders.

    Args:
        hypotheses: one plain text a sentence.
        references: for every sentence one text or several.
        word_order: 2 adds word unigrams and bigrams: chrF++.
        beta: how many times more recall counts than precision.
        lowercase: compare without case.

    Returns:
        Score with sacrebleu's signature.

    Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation"; 2017, "chrF++".

    >>> print(chrf(["the cat sat on a mat"], ["the cat sat on the mat"]))
    chrF2 65.98 (nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:...)
    """
    return chrf_tally(hypotheses, references, word_order=word_order, beta=beta, lowercase=lowercase).score()
