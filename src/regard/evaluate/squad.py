"""Answers that are spans of text, as SQuAD counts them."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from regard.evaluate.accuracy import ratio
from regard.evaluate.score import Score, signature
from regard.evaluate.tally import Tally
from regard.evaluate.texts import References, paired_texts, reference_count

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def bare_words(answer: str) -> list[str]:
    """The words of an answer: lower-cased, without ASCII punctuation and without a, an, the.

    >>> bare_words("The Rhine, in  Basel")
    ['rhine', 'in', 'basel']
    """
    return _ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split()


def span_match_tally(hypotheses: Sequence[str], references: References) -> Tally:
    """Right or wrong for every answer, for `squad_exact` and for the bootstrap."""
    grouped = paired_texts("squad_exact", hypotheses, references)
    rows = [
        (float(any(bare_words(answer) == bare_words(right) for right in group)), 1.0)
        for answer, group in zip(hypotheses, grouped, strict=True)
    ]
    return Tally.of("SQuAD exact match", rows, ratio, _signature(grouped))


def span_overlap_tally(hypotheses: Sequence[str], references: References) -> Tally:
    """F1 of the words of every answer, for `squad_f1` and for the bootstrap."""
    grouped = paired_texts("squad_f1", hypotheses, references)
    rows = [
        (max(overlap(answer, right) for right in group), 1.0) for answer, group in zip(hypotheses, grouped, strict=True)
    ]
    return Tally.of("SQuAD F1", rows, ratio, _signature(grouped))


def squad_exact(hypotheses: Sequence[str], references: References) -> Score:
    """The share of answers whose words are those of a reference, case, punctuation and articles aside.

    Args:
        hypotheses: one answer each.
        references: for every one a right answer or several.

    Returns:
        Score between 0 and 1.

    Rajpurkar et al. 2016, section 6.1.

    >>> print(squad_exact(["the Rhine", "Basel"], [["Rhine."], ["in Basel", "near Basel"]]))
    SQuAD exact match 0.5000 (nrefs:var|case:lc|punctuation:no|articles:no)
    """
    return span_match_tally(hypotheses, references).score()


def squad_f1(hypotheses: Sequence[str], references: References) -> Score:
    """The mean over answers of the F1 of their words with the nearest reference, case, punctuation and articles aside.

    >>> print(squad_f1(["the Rhine", "Basel"], [["Rhine."], ["in Basel", "near the Basel"]]))
    SQuAD F1 0.8333 (nrefs:var|case:lc|punctuation:no|articles:no)
    """
    return span_overlap_tally(hypotheses, references).score()


def overlap(answer: str, right: str) -> float:
    """F1 of the words of two answers, repeated words counted; of two answers without words, 1."""
    mine, theirs = bare_words(answer), bare_words(right)
    if not mine or not theirs:
        return float(mine == theirs)
    common = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * common / (len(mine) + len(theirs))


def _signature(references: Sequence[tuple[str, ...]]) -> str:
    return signature(nrefs=reference_count(references), case="lc", punctuation="no", articles="no")
