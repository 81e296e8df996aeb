"""Answers that are spans of text, as SQuAD counts them."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from regard.evaluate.accuracy import ratio
from regard.evaluate.metric_result import MetricResult, signature
from regard.evaluate.tally import Tally
from regard.evaluate.texts import References, paired_texts, reference_count, unknown

VERSIONS = ("1.1", "2.0")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def bare_words(answer: str) -> list[str]:
    """The words of an answer: lower-cased, without ASCII punctuation and without a, an, the.

    >>> bare_words("The Rhine, in  Basel")
    ['rhine', 'in', 'basel']
    """
    return _ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split()


def span_match_tally(hypotheses: Sequence[str], references: References, *, version: str | float = "1.1") -> Tally:
    """Right or wrong for every answer, for `squad_exact` and for the bootstrap."""
    version, grouped = _compared("squad_exact", hypotheses, references, version)
    rows = [(float(same_words(answer, group)), 1.0) for answer, group in zip(hypotheses, grouped, strict=True)]
    return Tally.of("SQuAD exact match", rows, ratio, _signature(grouped, version))


def span_overlap_tally(hypotheses: Sequence[str], references: References, *, version: str | float = "1.1") -> Tally:
    """F1 of the words of every answer, for `squad_f1` and for the bootstrap."""
    version, grouped = _compared("squad_f1", hypotheses, references, version)
    rows = [
        (max(overlap(answer, right, version=version) for right in group), 1.0)
        for answer, group in zip(hypotheses, grouped, strict=True)
    ]
    return Tally.of("SQuAD F1", rows, ratio, _signature(grouped, version))


def squad_exact(hypotheses: Sequence[str], references: References, *, version: str = "1.1") -> MetricResult:
    """The share of answers whose words are those of a reference, case, punctuation and articles aside.

    Both versions of SQuAD's evaluation lower-case, drop ASCII punctuation and articles, and compare words. They differ
    in answers without words: "the", or the empty answer to a question that a passage does not answer.

    Args:
        hypotheses: one answer each.
        references: for every one a right answer or several.
        version: `"1.1"` takes references as they are; `"2.0"` passes over those without words where others have some.

    Returns:
        Score between 0 and 1.

    Rajpurkar et al. 2016, section 6.1; Rajpurkar et al. 2018, "Know What You Don't Know".

    >>> print(squad_exact(["the Rhine", "Basel"], [["Rhine."], ["in Basel", "near Basel"]]))
    SQuAD exact match 0.5000 (nrefs:var|case:lc|punctuation:no|articles:no|version:1.1)
    """
    return span_match_tally(hypotheses, references, version=version).score()


def squad_f1(hypotheses: Sequence[str], references: References, *, version: str = "1.1") -> MetricResult:
    """The mean over answers of the F1 of their words with the nearest reference, case, punctuation and articles aside.

    Args:
        hypotheses: one answer each.
        references: for every one a right answer or several.
        version: of the official evaluation. By `"1.1"` an answer without words has F1 0 with every reference, also one
            without words; by `"2.0"` it has F1 1 with such a one, so that an empty answer is right where there is none.

    >>> print(squad_f1(["the Rhine", "Basel"], [["Rhine."], ["in Basel", "near the Basel"]]))
    SQuAD F1 0.8333 (nrefs:var|case:lc|punctuation:no|articles:no|version:1.1)
    >>> squad_f1([""], [""]).value, squad_f1([""], [""], version="2.0").value
    (0.0, 1.0)
    """
    return span_overlap_tally(hypotheses, references, version=version).score()


def same_words(answer: str, references: Sequence[str]) -> bool:
    """Return whether the words of an answer are those of a reference."""
    return bare_words(answer) in [bare_words(right) for right in references]


def overlap(answer: str, right: str, *, version: str = "1.1") -> float:
    """F1 of the words of two answers, repeated words counted; of two without words 0 in version 1.1, 1 in 2.0."""
    mine, theirs = bare_words(answer), bare_words(right)
    if not mine or not theirs:
        return float(version == "2.0" and mine == theirs)
    common = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * common / (len(mine) + len(theirs))


def _compared(
    metric: str, hypotheses: Sequence[str], references: References, version: str | float
) -> tuple[str, list[tuple[str, ...]]]:
    """The version as a text, though YAML reads it as a number, and the references that it compares with."""
    named = str(version)
    if named not in VERSIONS:
        raise unknown(metric, "version", named, VERSIONS)
    grouped = paired_texts(metric, hypotheses, references)
    if named == "1.1":
        return named, grouped
    return named, [tuple(right for right in group if bare_words(right)) or ("",) for group in grouped]


def _signature(references: Sequence[tuple[str, ...]], version: str) -> str:
    return signature(nrefs=reference_count(references), case="lc", punctuation="no", articles="no", version=version)
