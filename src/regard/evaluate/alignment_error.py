"""Alignment error rate, precision and recall of word links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from regard.evaluate.metric_result import MetricResult, signature
from regard.evaluate.tally import Floats, Tally, safe_ratio

LinkSet = Collection[tuple[int, int]]


def alignment_tally(
    found: Sequence[LinkSet], sure: Sequence[LinkSet], possible: Sequence[LinkSet], *, score: str = "aer"
) -> Tally:
    """Counts |A ∩ S|, |A ∩ P|, |A|, |S| of every sentence, for `alignment_scores` and for the bootstrap."""
    if not len(found) == len(sure) == len(possible):
        raise ValueError(
            f"AER: links of {len(found)} sentences, and gold links of {len(sure)} and {len(possible)}; they must be "
            "as many"
        )
    rows = [_counts(set(a), set(s), set(s) | set(p)) for a, s, p in zip(found, sure, possible, strict=True)]
    how = signature(sure=int(sum(row[3] for row in rows)), found=int(sum(row[2] for row in rows)))
    return Tally.of(score.upper() if score == "aer" else score, rows, _VALUES[score], how)


def alignment_error_rate(
    found: Sequence[LinkSet], sure: Sequence[LinkSet], possible: Sequence[LinkSet]
) -> MetricResult:
    r"""Alignment error rate of a corpus. Lower is better.

    .. math:: \mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}

    with the links A that were found, the sure gold links S and the possible ones P, of which S is a part. Och & Ney
    2003, equation 22.

    Args:
        found: links of each sentence.
        sure: S of each.
        possible: P of each; sure links need not be repeated.

    Returns:
        Score between 0 and 1.

    >>> print(alignment_error_rate([{(0, 0), (1, 1), (2, 1)}], [{(0, 0), (2, 2)}], [{(1, 1)}]))
    AER 0.4000 (sure:2|found:3)
    """
    return alignment_tally(found, sure, possible).score()


def alignment_scores(
    found: Sequence[LinkSet], sure: Sequence[LinkSet], possible: Sequence[LinkSet]
) -> dict[str, MetricResult]:
    """AER, precision |A ∩ P| / |A|, recall |A ∩ S| / |S| and F1, their harmonic mean, by name.

    >>> scores = alignment_scores([{(0, 0), (1, 1), (2, 1)}], [{(0, 0), (2, 2)}], [{(1, 1)}])
    >>> {name: round(score.value, 3) for name, score in scores.items()}
    {'aer': 0.4, 'precision': 0.667, 'recall': 0.5, 'f1': 0.571}
    """
    return {name: alignment_tally(found, sure, possible, score=name).score() for name in _VALUES}


def _counts(found: set[tuple[int, int]], sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> list[float]:
    return [len(found & sure), len(found & possible), len(found), len(sure)]


def _error_rate(summed: Floats) -> float:
    return 1 - safe_ratio(summed[0] + summed[1], summed[2] + summed[3])


def _precision(summed: Floats) -> float:
    return safe_ratio(summed[1], summed[2])


def _recall(summed: Floats) -> float:
    return safe_ratio(summed[0], summed[3])


def _f1(summed: Floats) -> float:
    precision, recall = _precision(summed), _recall(summed)
    return safe_ratio(2 * precision * recall, precision + recall)


_VALUES: dict[str, Callable[[Floats], float]] = {
    "aer": _error_rate,
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
}
