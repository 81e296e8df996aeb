"""Findings of a study in words: what its figures allow one to claim, and what they do not."""

from __future__ import annotations

import math

from regard.explain.study import Study

_WEAK, _STRONG = 0.3, 0.6
"""Kendall's tau below which agreement is called weak, and from which it is called strong."""
_UNMOVED, _MOVED = 0.05, 0.2
"""Total variation distances below which an answer does not depend on the weights, and from which it clearly does."""
_OTHER = 0.4
"""Share of the largest divergence, ln 2, from which other weights are called very different."""


def findings(study: Study) -> list[str]:
    """Return sentences: agreement, need of the weights, uniqueness, erasure, and what follows."""
    return [_agreement(study), _need(study), _uniqueness(study), _erasure(study), conclusion(study)]


def _agreement(study: Study) -> str:
    ranks = study.ranks["attention", "input x gradient"]
    bound = study.ranks["input x gradient", "leave-one-out"]
    if math.isnan(ranks.tau):
        return "The weights rank no words: they are constant in every text."
    degree = "weakly" if ranks.tau < _WEAK else "strongly" if ranks.tau >= _STRONG else "moderately"
    return (
        f"Attention agrees {degree} with gradients: τ = {ranks.tau:.2f} ± {ranks.deviation:.2f} over texts, "
        f"significant in {ranks.significant:.0%}. Gradients and leave-one-out, which share no weights, agree with τ = "
        f"{bound.tau:.2f}."
    )


def _need(study: Study) -> str:
    change = float(study.uniform.mean())
    if change < _UNMOVED:
        return (
            f"The weights are hardly needed: equal weights change an answer by {change:.3f} of its probability on "
            "average, so this model is no test of what attention explains."
        )
    degree = "clearly" if change >= _MOVED else "somewhat"
    return (
        f"The answers depend {degree} on the weights: equal weights move {change:.2f} of the probability on average, "
        f"permuted ones {float(study.permuted.mean()):.2f}."
    )


def _uniqueness(study: Study) -> str:
    share = float((study.distance >= _OTHER * math.log(2)).float().mean())
    return (
        f"In {share:.0%} of the texts very different weights (divergence of {_OTHER * math.log(2):.2f} nats or more) "
        f"leave the answer within {study.allowed:g}; the mean divergence found is {float(study.distance.mean()):.2f} "
        "of at most 0.69 nats."
    )


def _erasure(study: Study) -> str:
    falls = {name: erased.comprehensiveness for name, erased in study.erased.items()}
    order = sorted(falls, key=lambda name: -falls[name])
    listed = ", ".join(f"{name} {falls[name]:.3f}" for name in order)
    return f"Fall of the answer without the words that a measure calls important: {listed}."


def conclusion(study: Study) -> str:
    """Conclusion: the claim that the figures allow."""
    gain = study.erased["attention"].comprehensiveness - study.erased["random"].comprehensiveness
    if float(study.uniform.mean()) < _UNMOVED:
        return "So: do not read the weights as reasons. The model would answer the same without them."
    tau = study.ranks["attention", "input x gradient"].tau
    if gain <= 0 or math.isnan(tau) or tau < _WEAK:
        return (
            "So: the weights say what the model read, not why it answered. Show gradients or erasure beside them "
            "before a claim about a single word."
        )
    return (
        "So: the weights are a fair guide to the words that matter, as one explanation among several; other weights "
        "may give the same answer."
    )
