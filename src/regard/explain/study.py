"""A study of a model: do its attention weights explain its answers?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.explain.agreement import kendall, overlap
from regard.explain.erasure import SHARES, erasure
from regard.explain.importance import MEASURES, answers
from regard.explain.interventions import adversary, permuted, uniform
from regard.explain.subject import Subject, SubjectBatch

PAIRS = (
    ("attention", "gradient"),
    ("attention", "input x gradient"),
    ("attention", "integrated gradients"),
    ("attention", "leave-one-out"),
    ("input x gradient", "leave-one-out"),
    ("integrated gradients", "leave-one-out"),
    ("attention", "random"),
)
"""Measures that are compared; the gradient beside leave-one-out shows what agreement can be expected at all."""

SIGNIFICANT = 0.05
"""Largest p at which a correlation counts as significant."""

_TOGETHER = 256  # texts in a batch


class RankAgreement(NamedTuple):
    """Agreement of two measures over all texts.

    Attributes:
        tau: mean of Kendall's tau-b.
        deviation: standard deviation of it over texts.
        significant: share of texts with a significant correlation.
        overlap: mean share of the largest fifth of words that both have.
    """

    tau: float
    deviation: float
    significant: float
    overlap: float


class ErasureMeans(NamedTuple):
    """Mean falls of the answer's probability over all shares of erased words.

    Attributes:
        comprehensiveness: without the words that a measure calls important.
        sufficiency: with them alone.
    """

    comprehensiveness: float
    sufficiency: float


class ExampleScores(NamedTuple):
    """One text with the scores of its words by each measure, [measures, T], each divided by its largest."""

    words: tuple[str, ...]
    answer: str
    measures: tuple[str, ...]
    scores: Tensor


@dataclass(frozen=True)
class Study:
    """Outcome of a study.

    Attributes:
        texts: number of texts with at least two words.
        ranks: agreement of pairs of measures.
        erased: erasure by each measure.
        uniform: [N], change of each answer with uniform weights (total variation distance).
        permuted: [N], median change with permuted weights.
        distance: [N], largest divergence of weights that leave the answer within `allowed`.
        allowed: largest change of an answer that counts as the same.
        examples: texts with their scores.
    """

    texts: int
    ranks: dict[tuple[str, str], RankAgreement]
    erased: dict[str, ErasureMeans]
    uniform: Tensor
    permuted: Tensor
    distance: Tensor
    allowed: float
    examples: tuple[ExampleScores, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The numbers, for a file."""
        return {
            "texts": self.texts,
            "agreement": [{"first": a, "second": b, **ranks._asdict()} for (a, b), ranks in self.ranks.items()],
            "erasure": {name: erased._asdict() for name, erased in self.erased.items()},
            "uniform": float(self.uniform.mean()),
            "permuted": float(self.permuted.mean()),
            "adversary": {"distance": float(self.distance.mean()), "allowed": self.allowed},
        }


@dataclass
class _BatchResults:
    """Results of batches, to be joined."""

    pairs: dict[tuple[str, str], list[tuple[Tensor, Tensor, Tensor]]] = field(default_factory=dict)
    falls: dict[str, list[tuple[Tensor, Tensor]]] = field(default_factory=dict)
    changes: list[tuple[Tensor, Tensor, Tensor]] = field(default_factory=list)


def study(
    subject: Subject,
    inputs: Sequence[str],
    *,
    allowed: float = 0.05,
    starts: int = 5,
    steps: int = 500,
    draws: int = 100,
    examples: int = 3,
    progress: Callable[[int], None] = lambda _texts: None,
) -> Study:
    """Compare the attention of a model with other measures of importance, on these inputs.

    Args:
        subject: the model.
        inputs: texts; those with fewer than two words have no ranking and are left out.
        allowed: largest change of an answer that counts as the same, for the adversary.
        starts, steps: of the adversary; see `adversary`.
        draws: permutations of the weights of each text.
        examples: the first so many texts are shown word by word.
        progress: called with the number of texts that are done, after each batch.

    Raises:
        ValueError: no input has two words.
    """
    texts = subject.read(inputs)
    usable = (texts.lengths >= 2).nonzero().flatten()
    if not len(usable):
        raise ValueError("no text has two words, so there is nothing to rank")
    order = usable[texts.lengths[usable].argsort(stable=True)]
    gathered = _BatchResults()
    for rows in order.split(_TOGETHER):
        part = texts.rows(rows)
        size = int(part.lengths.max())
        part = SubjectBatch(part.ids[:, :size], part.lengths, part.padding)
        _measure(subject, part, gathered, allowed=allowed, starts=starts, steps=steps, draws=draws)
        progress(len(rows))
    even, shuffled, distance = (torch.cat(parts) for parts in zip(*gathered.changes, strict=True))
    return Study(
        len(usable),
        {pair: _ranks(found) for pair, found in gathered.pairs.items()},
        {name: _erased(found) for name, found in gathered.falls.items()},
        even,
        shuffled,
        distance,
        allowed,
        tuple(example_scores(subject, inputs[int(index)]) for index in usable[:examples]),
    )


def example_scores(subject: Subject, given: str) -> ExampleScores:
    """Scores of one text by all measures but chance."""
    texts = subject.read([given])
    names = tuple(name for name in MEASURES if name != "random")
    scores = torch.cat([MEASURES[name](subject, texts) for name in names])  # [measures, T]
    scores = scores / scores.amax(1, keepdim=True).clamp(min=1e-12)
    return ExampleScores(tuple(subject.words(given)), subject.names[int(answers(subject, texts))], names, scores)


def _measure(
    subject: Subject,
    texts: SubjectBatch,
    gathered: _BatchResults,
    *,
    allowed: float,
    starts: int,
    steps: int,
    draws: int,
) -> None:
    """Add the results of a batch."""
    scores = {name: measure(subject, texts) for name, measure in MEASURES.items()}
    for first, second in PAIRS:
        one, other = scores[first], scores[second]
        agreement = kendall(one, other, texts.inside)
        found = agreement.tau, agreement.p, overlap(one, other, texts.inside)
        gathered.pairs.setdefault((first, second), []).append(found)
    for name, ranking in scores.items():
        gathered.falls.setdefault(name, []).append(erasure(subject, texts, ranking, SHARES))
    attacked = adversary(subject, texts, starts=starts, steps=steps, allowed=allowed)
    changes = uniform(subject, texts), permuted(subject, texts, draws=draws), attacked.distance
    gathered.changes.append(changes)


def _ranks(found: list[tuple[Tensor, Tensor, Tensor]]) -> RankAgreement:
    tau, p, shared = (torch.cat(parts) for parts in zip(*found, strict=True))
    known = ~tau.isnan()
    tau, p = tau[known], p[known]
    if not len(tau):
        return RankAgreement(float("nan"), float("nan"), float("nan"), float(shared.mean()))
    significant = float((p < SIGNIFICANT).float().mean())
    return RankAgreement(float(tau.mean()), float(tau.std(correction=0)), significant, float(shared.mean()))


def _erased(found: list[tuple[Tensor, Tensor]]) -> ErasureMeans:
    without, alone = (torch.cat(parts) for parts in zip(*found, strict=True))
    return ErasureMeans(float(without.mean()), float(alone.mean()))
