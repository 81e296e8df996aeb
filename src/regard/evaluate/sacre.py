"""BLEU, chrF and TER by sacrebleu, whose numbers are the ones that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from regard.evaluate.tally import Floats, Tally
from regard.evaluate.texts import References, paired_texts, unknown

if TYPE_CHECKING:  # sacrebleu is imported when a text is counted, not when a recipe names it
    from sacrebleu.metrics.base import Metric as SacreMetric
from regard.evaluate.metric_result import MetricResult


def sacre_tally(name: str, metric: SacreMetric, hypotheses: Sequence[str], references: References) -> Tally:
    """The sentence statistics of one of sacrebleu's metrics, with its own formula and its own signature.

    The two methods with an underscore are those of sacrebleu's significance tests; its public functions would count all
    n-grams again for every resample.
    """
    grouped = paired_texts(name, hypotheses, references)
    streams = list(zip_longest(*grouped))  # sacrebleu wants all first references, then all second ones; None is a gap
    rows = metric._extract_corpus_statistics(hypotheses, streams)

    def value(summed: Floats) -> float:
        return float(metric._compute_score_from_stats(summed.tolist()).score)

    return Tally.of(name, rows, value, str(metric.get_signature()))


def check_tokenizer(metric: str, name: str) -> None:
    """A tokenizer of sacrebleu, or one sentence."""
    from sacrebleu.metrics.bleu import BLEU

    if name not in BLEU.TOKENIZERS:
        raise unknown(metric, "tokenizer", name, BLEU.TOKENIZERS)


def splitter(metric: str, name: str, *, lowercase: bool) -> Callable[[str], list[str]]:
    """From a text to its words, by one of sacrebleu's tokenizers."""
    from sacrebleu.metrics.bleu import BLEU

    check_tokenizer(metric, name)
    prepare = BLEU(lowercase=lowercase, tokenize=name)._preprocess_segment
    return lambda text: prepare(text).split()


def bleu_tally(
    hypotheses: Sequence[str], references: References, *, tokenize: str = "13a", lowercase: bool = False
) -> Tally:
    """The n-gram counts of every sentence, for `bleu` and for the bootstrap."""
    from sacrebleu.metrics.bleu import BLEU

    check_tokenizer("bleu", tokenize)
    # Text that is meant to be tokenised already needs no warning that it looks tokenised.
    metric = BLEU(lowercase=lowercase, tokenize=tokenize, force=tokenize == "none")
    return sacre_tally("BLEU", metric, hypotheses, references)


def bleu(
    hypotheses: Sequence[str], references: References, *, tokenize: str = "13a", lowercase: bool = False
) -> MetricResult:
    r"""BLEU-4 of a corpus, between 0 and 100.

    .. math:: \mathrm{BLEU} = \min(1, e^{1 - r/c}) \prod_{n=1}^4 p_n^{1/4}

    with :math:`p_n` the clipped n-gram precision of the whole corpus, c the length of the hypotheses and r that of the
    references closest to them in length.

    Args:
        hypotheses: one plain text a sentence.
        references: for every sentence one text or several.
        tokenize: `"13a"` for plain text (the comparable number), `"none"` for text that is tokenised already and is
            compared with tokenised figures, `"char"`, `"zh"`, `"intl"` and the others of sacrebleu.
        lowercase: compare without case.

    Returns:
        Score with sacrebleu's signature.

    Papineni et al. 2002; Post 2018, "A Call for Clarity in Reporting BLEU Scores". Where no n-gram of an order matches,
    sacrebleu's exponential smoothing is applied (`smooth:exp`). `note_bleu` is the definition of the lecture notes.

    >>> print(bleu(["the cat sat on a mat"], [["the cat sat on the mat"]]))
    BLEU 53.73 (nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...)
    """
    return bleu_tally(hypotheses, references, tokenize=tokenize, lowercase=lowercase).score()


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
) -> MetricResult:
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


def ter_tally(
    hypotheses: Sequence[str], references: References, *, lowercase: bool = True, normalized: bool = False
) -> Tally:
    """The edits and reference lengths of every sentence, for `ter` and for the bootstrap."""
    from sacrebleu.metrics.ter import TER

    return sacre_tally("TER", TER(case_sensitive=not lowercase, normalized=normalized), hypotheses, references)


def ter(
    hypotheses: Sequence[str], references: References, *, lowercase: bool = True, normalized: bool = False
) -> MetricResult:
    """Edits (insert, delete, substitute, move a block) for every hundred reference words: lower is better.

    Args:
        hypotheses: one plain text a sentence.
        references: for every sentence one text or several; the edits are those to the nearest, over their mean length.
        lowercase: compare without case, as the original program does.
        normalized: split off punctuation first; without it words are what stands between spaces.

    Returns:
        Score with sacrebleu's signature; it can exceed 100.

    Snover et al. 2006, "A Study of Translation Edit Rate with Targeted Human Annotation".

    >>> print(ter(["on the mat the cat sat"], ["the cat sat on the mat"]))   # one block moved, six words
    TER 16.67 (nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:...)
    """
    return ter_tally(hypotheses, references, lowercase=lowercase, normalized=normalized).score()
