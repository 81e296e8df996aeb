"""Rankings: how near the top the right ones are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from regard.evaluate.accuracy import ratio
from regard.evaluate.metric_result import signature
from regard.evaluate.tally import Tally
from regard.evaluate.texts import References, reference_count

Rankings = Sequence[str | Sequence[str]]
"""For each query what was found, best first; a text alone is a ranking of one."""


def reciprocal_rank_tally(rankings: Rankings, references: References, *, k: int = 10) -> Tally:
    r"""Reciprocal rank of the first right item of each query, for `mrr`.

    .. math:: \mathrm{MRR@k} = \frac{1}{Q} \sum_q \frac{1}{\mathrm{rank}_q}, \quad 0 \text{ beyond rank } k

    Voorhees 1999, "The TREC-8 Question Answering Track Report".

    >>> reciprocal_rank_tally([["b", "a"], ["c", "d"]], ["a", "a"]).score().value
    0.25
    """
    return _tally(f"MRR@{k}", "mrr", rankings, references, k, lambda hits, right: max(_reciprocal(hits), default=0.0))


def recall_at_tally(rankings: Rankings, references: References, *, k: int = 10) -> Tally:
    """Share of the right items of each query among its first k, for `recall_at`.

    >>> recall_at_tally([["b", "a", "c"]], [["a", "c", "d"]], k=2).score().value
    0.3333333333333333
    """
    return _tally(f"recall@{k}", "recall_at", rankings, references, k, lambda hits, right: sum(hits) / right)


def gain_tally(rankings: Rankings, references: References, *, k: int = 10) -> Tally:
    r"""Normalised discounted cumulative gain of each query, for `ndcg`.

    .. math:: \mathrm{nDCG@k} = \frac{\sum_{i \le k} \mathrm{rel}_i / \log_2 (i + 1)}
              {\sum_{i \le \min(k, R)} 1 / \log_2 (i + 1)}

    rel_i is 1 if item i is right, and R the number of right items. Järvelin & Kekäläinen 2002.

    >>> round(gain_tally([["b", "a"]], ["a"]).score().value, 4)
    0.6309
    """

    def gain(hits: Sequence[bool], right: int) -> float:
        return _discounted(hits) / _discounted([True] * min(k, right))

    return _tally(f"nDCG@{k}", "ndcg", rankings, references, k, gain)


def _tally(
    name: str,
    metric: str,
    rankings: Rankings,
    references: References,
    k: int,
    value: Callable[[Sequence[bool], int], float],
) -> Tally:
    """Return the mean over queries of a value of hits [k] and the number of right items."""
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise ValueError(f"{metric}: k is {k!r}; it is a whole number, 1 or more")
    if len(rankings) != len(references):
        raise ValueError(f"{metric}: {len(rankings)} rankings and right items of {len(references)} queries")
    if not rankings:
        raise ValueError(f"{metric}: there is nothing to score: the set of rankings is empty")
    rows = list[tuple[float, float]]()
    grouped = [(one,) if isinstance(one, str) else tuple(one) for one in references]
    for ranking, right in zip(rankings, grouped, strict=True):
        if not right:
            raise ValueError(f"{metric}: query {len(rows) + 1} has no right item; leave it out")
        wanted = {_plain(one) for one in right}
        found = dict.fromkeys(map(_plain, [ranking] if isinstance(ranking, str) else ranking[:k]))
        rows.append((value([one in wanted for one in found], len(wanted)), 1.0))
    return Tally.of(name, rows, ratio, signature(nrefs=reference_count(grouped), k=k))


def _plain(item: str) -> str:
    return " ".join(item.split())


def _reciprocal(hits: Sequence[bool]) -> list[float]:
    return [1 / rank for rank, hit in enumerate(hits, start=1) if hit]


def _discounted(hits: Sequence[bool]) -> float:
    return sum(1 / math.log2(rank + 1) for rank, hit in enumerate(hits, start=1) if hit)
