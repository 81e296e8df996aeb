"""BLEU-n as the lecture notes define it, with both brevity penalties."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from regard.evaluate.metric_result import MetricResult
from regard.evaluate.tally import Floats, Tally
from regard.evaluate.texts import References, paired_texts, text_signature, unknown

BREVITIES = ("linear", "exponential", "none")


def brevity_penalty(system: float, reference: float, kind: str = "linear") -> float:
    r"""Brevity penalty of c words where the reference has r.

    .. math:: \text{linear: } \min(1, c/r), \qquad \text{exponential: } \min(1, e^{1 - r/c})

    The notes have the linear one; Papineni et al. 2002 and everybody's BLEU the exponential one. They agree only where
    nothing is to be paid: they differ for 4 words against 7.

    >>> brevity_penalty(5, 3), brevity_penalty(4, 7, "linear"), brevity_penalty(4, 7, "exponential")
    (1.0, 0.571, 0.472)
    """
    if kind not in BREVITIES:
        raise unknown("note_bleu", "brevity penalty", kind, BREVITIES)
    if kind == "none" or system >= reference:
        return 1.0
    if system == 0:
        return 0.0
    return system / reference if kind == "linear" else math.exp(1 - reference / system)


def note_bleu_tally(
    hypotheses: Sequence[str],
    references: References,
    *,
    order: int = 4,
    brevity: str = "linear",
    lowercase: bool = False,
) -> Tally:
    """Lengths and n-gram counts of every sentence, for `note_bleu` and for the bootstrap."""
    if order < 1:
        raise ValueError(f"note_bleu: order must be 1 or more; got {order}")
    brevity_penalty(1, 1, brevity)
    grouped = paired_texts("note_bleu", hypotheses, references)
    rows = [
        _counts(_words(hypothesis, lowercase), [_words(text, lowercase) for text in group], order)
        for hypothesis, group in zip(hypotheses, grouped, strict=True)
    ]

    def value(summed: Floats) -> float:
        system, reference, *counts = summed.tolist()
        matched, total = counts[:order], counts[order:]
        if min(matched) == 0:
            return 0.0
        logs = sum(math.log(hits / grams) for hits, grams in zip(matched, total, strict=True))
        return brevity_penalty(system, reference, brevity) * math.exp(logs / order)

    how = text_signature(grouped, lowercase=lowercase, tok="none", smooth="none", brevity=brevity)
    return Tally.of(f"BLEU-{order}", rows, value, how)


def note_bleu(
    hypotheses: Sequence[str],
    references: References,
    *,
    order: int = 4,
    brevity: str = "linear",
    lowercase: bool = False,
) -> MetricResult:
    r"""BLEU-n between 0 and 1: geometric mean of the clipped precisions up to n, times the brevity penalty.

    .. math:: \text{BLEU-}n = \mathrm{brevity} \cdot \Big(\prod_{k=1}^n p_k\Big)^{1/n}

    Args:
        hypotheses: one text a sentence; words are what stands between spaces.
        references: for every sentence one text or several; a count is clipped by the largest of any one reference, and
            the length that counts is the one closest to the hypothesis (the shorter of two).
        order: n.
        brevity: `"linear"` (the notes), `"exponential"` (Papineni) or `"none"` (as captioning papers report).
        lowercase: compare without case.

    Returns:
        Score; 0 where no n-gram of some order matches: nothing is smoothed.

    The notes' example, 3 of 5 words and 1 of 4 pairs, gives √(3/5 · 1/4) under either penalty:

    >>> print(note_bleu(["the Taro visited the Hanako"], ["Taro visited Hanako"], order=2))
    BLEU-2 0.387 (nrefs:1|case:mixed|tok:none|smooth:none|brevity:linear)
    """
    return note_bleu_tally(hypotheses, references, order=order, brevity=brevity, lowercase=lowercase).score()


def _words(text: str, lowercase: bool) -> list[str]:
    return (text.lower() if lowercase else text).split()


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def _counts(system: list[str], references: list[list[str]], order: int) -> list[float]:
    """[length, reference length, matches of each order, n-grams of each order]."""
    matched, total = [], []
    for n in range(1, order + 1):
        allowed: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            allowed |= _grams(reference, n)
        grams = _grams(system, n)
        matched.append((grams & allowed).total())
        total.append(grams.total())
    closest = min((abs(len(words) - len(system)), len(words)) for words in references)[1]
    return [len(system), closest, *matched, *total]
