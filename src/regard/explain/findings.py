"""Interpretation of a study in sentences, limited to claims that its figures support."""

from __future__ import annotations

import math

from regard.explain.importance import MEASURES
from regard.explain.study import Study

_WEAK, _STRONG = 0.3, 0.6
"""Thresholds of Kendall's tau: agreement is weak below the first and strong from the second."""
_UNMOVED, _MOVED = 0.05, 0.2
"""Thresholds of total variation distance: independent of the weights below the first, dependent from the second."""
_OTHER = 0.4
"""Share of the maximum divergence, ln 2, from which alternative weights are called very different."""


def findings(study: Study) -> list[str]:
    """Return sentences on agreement, dependence on the weights, uniqueness and erasure, and a conclusion."""
    found = [_agreement(study), _extras(study), _need(study), _uniqueness(study), _erasure(study), conclusion(study)]
    return [sentence for sentence in found if sentence]


def _agreement(study: Study) -> str:
    ranks, leaving = (study.ranks["attention", other] for other in ("input x gradient", "leave-one-out"))
    bound = study.ranks["input x gradient", "leave-one-out"].tau
    if math.isnan(ranks.tau):
        return f"The weights rank no {study.unit}s: they are constant in every text."
    return (
        f"Attention agrees {_degree(ranks.tau)} with gradients: τ = {ranks.tau:.2f} ± {ranks.deviation:.2f} over "
        f"{study.counted}, significant in {ranks.significant:.0%}. With leave-one-out it agrees with τ = "
        f"{leaving.tau:.2f}, and gradients with τ = {bound:.2f}: {_bound(bound)}."
    )


def _bound(tau: float) -> str:
    """Return a sentence on the agreement of gradients and leave-one-out, the reference for attention."""
    if tau < _WEAK:
        return "these two hardly agree themselves, so neither is a yardstick here"
    return "so much can be expected of a measure here"


def _degree(tau: float) -> str:
    return "weakly" if tau < _WEAK else "strongly" if tau >= _STRONG else "moderately"


def _extras(study: Study) -> str:
    """Compare architecture-specific measures by their agreement with leave-one-out."""
    added = [name for name in study.erased if name not in MEASURES]
    if not added:
        return ""
    taus = {name: study.ranks[name, "leave-one-out"].tau for name in ("attention", *added)}
    listed = ", ".join(f"{name} {tau:.2f}" for name, tau in sorted(taus.items(), key=lambda one: -one[1]))
    return f"Agreement with leave-one-out by way of the layers, τ: {listed}."


def _need(study: Study) -> str:
    if study.changes is None:
        return (
            "The answers do not follow from these weights alone, so no others were put in their place: whether the "
            "answers need them was not measured."
        )
    change = float(study.changes.uniform.mean())
    if change < _UNMOVED:
        return (
            f"The weights are hardly needed: equal weights change an answer by {change:.3f} of its probability on "
            "average, so this model is no test of what attention explains."
        )
    degree = "clearly" if change >= _MOVED else "somewhat"
    return (
        f"The answers depend {degree} on the weights: equal weights move {change:.2f} of the probability on average, "
        f"permuted ones {float(study.changes.permuted.mean()):.2f}."
    )


def _uniqueness(study: Study) -> str:
    if study.changes is None or study.changes.distance is None:
        return ""
    distance = study.changes.distance
    share = float((distance >= _OTHER * math.log(2)).float().mean())
    return (
        f"In {share:.0%} of the {study.counted} very different weights (divergence of {_OTHER * math.log(2):.2f} nats "
        f"or more) leave the answer within {study.allowed:g}; the mean divergence found is "
        f"{float(distance.mean()):.2f} of at most 0.69 nats."
    )


def _erasure(study: Study) -> str:
    falls = {name: erased.comprehensiveness for name, erased in study.erased.items()}
    order = sorted(falls, key=lambda name: -falls[name])
    listed = ", ".join(f"{name} {falls[name]:.3f}" for name in order)
    return f"Fall of the answer without the {study.unit}s that a measure calls important: {listed}."


def conclusion(study: Study) -> str:
    """Return the claim that the figures support.

    Weights count as a fair guide if they reach at least half the value of the other measures, both in agreement with
    leave-one-out and in erasure above chance.
    """
    if study.changes is not None and float(study.changes.uniform.mean()) < _UNMOVED:
        return "So: do not read the weights as reasons. The model would answer nearly the same without them."
    falls = {name: erased.comprehensiveness for name, erased in study.erased.items()}
    gain, best = falls["attention"] - falls["random"], max(falls.values()) - falls["random"]
    tau, bound = (study.ranks[name, "leave-one-out"].tau for name in ("attention", "input x gradient"))
    if gain <= 0 or gain < best / 2 or not tau > 0 or tau < bound / 2:
        return (
            "So: the weights say what the model read, not why it answered. Show gradients or erasure beside them "
            f"before a claim about a single {study.unit}."
        )
    fair = f"So: the weights are a fair guide to the {study.unit}s that matter, as one explanation among several"
    searched = study.changes is not None and study.changes.distance is not None
    return f"{fair}; other weights may give the same answer." if searched else f"{fair}."
