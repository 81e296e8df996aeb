"""Study of attention weights as explanation of a model's answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.explain.agreement import kendall, overlap
from regard.explain.erasure import SHARES, erasure
from regard.explain.importance import MEASURES, answers
from regard.explain.interventions import adversary, permuted, uniform
from regard.explain.subject import StagedSubject, Subject, SubjectBatch

Measure = Callable[[Subject, SubjectBatch], Tensor]

PAIRS = (
    ("attention", "gradient"),
    ("attention", "input x gradient"),
    ("attention", "integrated gradients"),
    ("attention", "leave-one-out"),
    ("input x gradient", "leave-one-out"),
    ("integrated gradients", "leave-one-out"),
    ("attention", "random"),
)
"""Compared pairs of measures; gradient and leave-one-out give a reference for the agreement to expect."""

BESIDE = ("input x gradient", "leave-one-out")
"""Measures to compare architecture-specific measures with."""

SIGNIFICANT = 0.05
"""Significance level of a correlation."""

_TOGETHER, _PAIRS = 512, 2**23  # limits of a batch: texts, and pairs of units, since pairwise ranks need [B, T, T]
_SHOWN = 12  # answers, also of a single input


class RankAgreement(NamedTuple):
    """Agreement of two measures over all texts.

    Attributes:
        tau: mean of Kendall's tau-b.
        deviation: standard deviation of tau over texts.
        significant: share of texts with a significant correlation.
        overlap: mean overlap of the top fifth of words of both measures.
    """

    tau: float
    deviation: float
    significant: float
    overlap: float


class ErasureMeans(NamedTuple):
    """Mean drop in the answer's probability over all shares of erased words.

    Attributes:
        comprehensiveness: without the most important words.
        sufficiency: with the most important words alone.
    """

    comprehensiveness: float
    sufficiency: float


class ExampleScores(NamedTuple):
    """One answer with the scores of the units of its text by each measure, [measures, T], divided by the largest."""

    words: tuple[str, ...]
    answer: str
    measures: tuple[str, ...]
    scores: Tensor


class Changes(NamedTuple):
    """Effect of interventions on the weights, one number per text.

    Attributes:
        uniform: change of the answer with uniform weights (total variation distance), [N].
        permuted: median change with permuted weights, [N].
        distance: largest divergence of weights with the same answer, [N]; None without the search.
    """

    uniform: Tensor
    permuted: Tensor
    distance: Tensor | None


@dataclass(frozen=True)
class Study:
    """Results of a study.

    Attributes:
        answers: number of answers about texts of at least two units.
        inputs: number of inputs of these answers.
        unit: name of a unit: "word" or "sentence".
        ranks: agreement of pairs of measures.
        erased: erasure results by measure.
        changes: results of interventions; None for models without a single row of weights for an answer.
        allowed: largest tolerated change of an answer in the adversarial search.
        examples: answers with the scores of their texts.
        detached: gradients treat the weights as constants.
        left_out: measures skipped because of too many texts, with their limits.
    """

    answers: int
    inputs: int
    unit: str
    ranks: dict[tuple[str, str], RankAgreement]
    erased: dict[str, ErasureMeans]
    changes: Changes | None
    allowed: float
    examples: tuple[ExampleScores, ...] = ()
    detached: bool = True
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def counted(self) -> str:
        """Name of the items that are averaged: texts, or answers if a text has several."""
        return "texts" if self.answers == self.inputs else "answers"

    @property
    def size(self) -> str:
        """Number of answers, and of texts, in words."""
        texts = f"{self.inputs:,} texts"
        return texts if self.answers == self.inputs else f"{self.answers:,} answers about {texts}"

    def as_json(self) -> dict[str, Any]:
        """Return the numbers, for a file."""
        found: dict[str, Any] = {
            "answers": self.answers,
            "inputs": self.inputs,
            "unit": self.unit,
            "agreement": [{"first": a, "second": b, **ranks._asdict()} for (a, b), ranks in self.ranks.items()],
            "erasure": {name: erased._asdict() for name, erased in self.erased.items()},
        }
        if self.changes is None:
            return found
        found |= {"uniform": float(self.changes.uniform.mean()), "permuted": float(self.changes.permuted.mean())}
        if self.changes.distance is not None:
            found["adversary"] = {"distance": float(self.changes.distance.mean()), "allowed": self.allowed}
        return found


@dataclass
class _BatchResults:
    """Results per batch, concatenated at the end."""

    pairs: dict[tuple[str, str], list[tuple[Tensor, Tensor, Tensor]]] = field(default_factory=dict)
    falls: dict[str, list[tuple[Tensor, Tensor]]] = field(default_factory=dict)
    changes: list[Changes] = field(default_factory=list)


class _Search(NamedTuple):
    """Arguments of the interventions; see `study`."""

    allowed: float
    starts: int
    steps: int
    draws: int


def study(
    subject: Subject,
    inputs: Sequence[Any],
    *,
    allowed: float = 0.05,
    starts: int = 5,
    steps: int = 500,
    draws: int = 100,
    examples: int = 3,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Study:
    """Compare the attention of a model with other importance measures on a set of inputs.

    Args:
        subject: the model.
        inputs: inputs of `predict`; texts with fewer than two units have no ranking and are skipped.
        allowed: largest tolerated change of an answer in the adversarial search.
        starts, steps: settings of the adversarial search; see `adversary`.
        draws: permutations of the weights per text.
        examples: number of inputs to show unit by unit, with at most 12 answers.
        progress: called after each batch with the number of finished answers and the total.

    Raises:
        ValueError: no input has two units.
    """
    texts = subject.read(inputs)
    usable = (texts.sizes >= 2).nonzero().flatten()
    if not len(usable):
        raise ValueError(f"no text has two {subject.unit}s, so there is nothing to rank")
    of = torch.arange(len(texts.lengths)) if texts.source is None else texts.source.cpu()
    measures, left_out = _measures(subject, len(usable))
    gathered, done = _BatchResults(), 0
    for rows in _batches(usable[texts.lengths[usable].argsort(stable=True)], texts.lengths):
        part = texts.rows(rows).shortened()
        _measure(subject, part, measures, gathered, _Search(allowed, starts, steps, draws))
        done += len(rows)
        progress(done, len(usable))
    found = of[usable.cpu()].unique().tolist()
    return Study(
        len(usable),
        len(found),
        subject.unit,
        {pair: _ranks(values) for pair, values in gathered.pairs.items()},
        {name: _erased(values) for name, values in gathered.falls.items()},
        _changes(gathered.changes),
        allowed,
        tuple(one for index in found[:examples] for one in example_scores(subject, inputs[index], measures))[:_SHOWN],
        subject.detachable,
        left_out,
    )


def _batches(order: Tensor, lengths: Tensor) -> Iterator[Tensor]:
    """Yield indices of texts per batch, the shortest first; batches of long texts are smaller."""
    while len(order):
        longest = int(lengths[order[:_TOGETHER]].max())
        count = max(1, min(_TOGETHER, _PAIRS // longest**2))
        yield order[:count]
        order = order[count:]


def _measures(subject: Subject, count: int) -> tuple[dict[str, Measure], dict[str, int]]:
    """Return the measures that support `count` texts, and the limits of those that do not, by name."""
    extras = subject.extras()
    left_out = {name: one.most for name, one in extras.items() if one.most is not None and one.most < count}
    taken = {name: _alone(one.measure) for name, one in extras.items() if name not in left_out}
    return {**MEASURES, **taken}, left_out


def _alone(measure: Callable[[SubjectBatch], Tensor]) -> Measure:
    return lambda _subject, texts: measure(texts)


def example_scores(subject: Subject, given: Any, measures: dict[str, Measure]) -> list[ExampleScores]:
    """Return the scores of an input by all measures except chance, for each of its first answers."""
    texts = subject.read([given])
    texts = texts.rows(torch.arange(min(len(texts.lengths), _SHOWN), device=texts.ids.device))
    names = tuple(name for name in measures if name != "random")
    scores = torch.stack([measures[name](subject, texts) for name in names], 1)  # [answers, measures, T]
    scores = scores / scores.amax(2, keepdim=True).clamp(min=1e-12)
    chosen, words = answers(subject, texts).tolist(), tuple(subject.words(given))
    rows = torch.arange(len(chosen), device=texts.ids.device).split(1)
    return [
        ExampleScores(words, subject.name(given, texts.rows(row), answer), names, one)
        for row, answer, one in zip(rows, chosen, scores, strict=True)
    ]


def _measure(
    subject: Subject, texts: SubjectBatch, measures: dict[str, Measure], gathered: _BatchResults, search: _Search
) -> None:
    """Compute and append the results of a batch."""
    scores = {name: measure(subject, texts) for name, measure in measures.items()}
    further = [(name, other) for name in measures if name not in MEASURES for other in BESIDE]
    for first, second in (*PAIRS, *further):
        one, other = scores[first], scores[second]
        agreement = kendall(one, other, texts.inside)
        found = agreement.tau, agreement.p, overlap(one, other, texts.inside)
        gathered.pairs.setdefault((first, second), []).append(found)
    for name, ranking in scores.items():
        gathered.falls.setdefault(name, []).append(erasure(subject, texts, ranking, SHARES))
    if not isinstance(subject, StagedSubject):
        return
    distance = None
    if subject.searched:
        distance = adversary(subject, texts, starts=search.starts, steps=search.steps, allowed=search.allowed).distance
    gathered.changes.append(Changes(uniform(subject, texts), permuted(subject, texts, draws=search.draws), distance))


def _changes(found: list[Changes]) -> Changes | None:
    if not found:
        return None
    distances = [one.distance for one in found if one.distance is not None]
    return Changes(
        torch.cat([one.uniform for one in found]),
        torch.cat([one.permuted for one in found]),
        torch.cat(distances) if distances else None,
    )


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
