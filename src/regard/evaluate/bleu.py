"""BLEU (Papineni et al. 2002), by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence

from regard.evaluate.sacre import check_tokenizer, sacre_tally
from regard.evaluate.score import Score
from regard.evaluate.tally import Tally
from regard.evaluate.texts import References


def bleu_tally(
    hypotheses: Sequence[str], references: References, *, tokenize: str = "13a", lowercase: bool = False
) -> Tally:
    """The n-gram counts of every sentence, for `bleu` and for the bootstrap."""
    from sacrebleu.metrics.bleu import BLEU

    check_tokenizer("bleu", tokenize)
    # Text that is meant to be tokenised already needs no warning that it looks tokenised.
    metric = BLEU(lowercase=lowercase, tokenize=tokenize, force=tokenize == "none")
    return sacre_tally("BLEU", metric, hypotheses, references)


def bleu(hypotheses: Sequence[str], references: References, *, tokenize: str = "13a", lowercase: bool = False) -> Score:
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
