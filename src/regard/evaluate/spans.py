"""Spans: F1 of whole chunks in tagged text, as conlleval counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from regard.evaluate.accuracy import label_pairs
from regard.evaluate.class_metrics import ClassF1, class_f1, f1_of
from regard.evaluate.metric_result import MetricResult, signature
from regard.evaluate.tally import Floats, Tally
from regard.evaluate.texts import References

_PLACES = frozenset("BIOESLU")


class Span(NamedTuple):
    """A chunk: its kind, its first token and the token after its last."""

    kind: str
    start: int
    end: int


def spans(tags: Sequence[str]) -> list[Span]:
    """The chunks of a tagged sentence, in BIO (IOB1, IOB2), BIOES or BILOU.

    A chunk begins at B- or S-, and, like in conlleval, at an I- or E- that cannot go on with what came before: after O,
    after another kind, after E- or S-. So a model's "O I-NP" counts as a chunk instead of as nothing.

    >>> spans("B-NP I-NP O I-VP B-VP I-NP".split())
    [Span(kind='NP', start=0, end=2), Span(kind='VP', start=3, end=4), Span(kind='VP', start=4, end=5),
     Span(kind='NP', start=5, end=6)]
    """
    found: list[Span] = []
    begun, previous, kind = 0, "O", ""
    for at, tag in enumerate([*tags, "O"]):
        place, _, named = tag.partition("-")
        if place not in _PLACES:
            raise ValueError(f"span_f1: {tag!r} is not a tag of a chunk; write B-KIND, I-KIND or O")
        goes_on = previous in ("B", "I") and place in ("I", "E", "L") and named == kind
        if previous != "O" and not goes_on:
            found.append(Span(kind, begun, at))
        if not goes_on:
            begun = at
        previous, kind = place, named
    return found


def span_f1_tally(hypotheses: Sequence[str], references: References) -> Tally:
    """Found, claimed and true chunks of every sentence, for `span_f1` and for the bootstrap."""
    rows = []
    for tags, truth in label_pairs("span_f1", hypotheses, references):
        claimed, true = set(spans(tags)), set(spans(truth))
        rows.append((len(claimed & true), len(claimed), len(true)))
    return Tally.of("span F1", rows, _f1, signature(unit="span", average="micro", tags="conlleval"))


def span_f1(hypotheses: Sequence[str], references: References) -> MetricResult:
    """F1 of chunks: found only where kind, first and last token are all right.

    Args:
        hypotheses: the tags of each sentence, separated by spaces.
        references: the true ones, equally many.

    Returns:
        Score between 0 and 1, over all chunks of all sentences; conlleval prints it times 100.

    Tjong Kim Sang & Buchholz 2000, "Introduction to the CoNLL-2000 Shared Task: Chunking".

    >>> print(span_f1(["B-NP I-NP O B-VP"], ["B-NP I-NP B-NP B-VP"]))   # 2 found, 2 claimed, 3 true
    span F1 0.8000 (unit:span|average:micro|tags:conlleval)
    """
    return span_f1_tally(hypotheses, references).score()


def span_f1_per_kind(hypotheses: Sequence[str], references: References) -> dict[str, ClassF1]:
    """Precision, recall, F1 and support of each kind of chunk, by name.

    >>> span_f1_per_kind(["B-NP I-NP O B-VP"], ["B-NP I-NP B-NP B-VP"])["NP"]
    ClassF1(precision=1.0, recall=0.5, f1=0.667, support=2)
    """
    found: Counter[str] = Counter()
    claimed: Counter[str] = Counter()
    true: Counter[str] = Counter()
    for tags, truth in label_pairs("span_f1", hypotheses, references):
        claims, truths = set(spans(tags)), set(spans(truth))
        found.update(span.kind for span in claims & truths)
        claimed.update(span.kind for span in claims)
        true.update(span.kind for span in truths)
    return {kind: class_f1(found[kind], claimed[kind], true[kind]) for kind in sorted({*claimed, *true})}


def _f1(summed: Floats) -> float:
    return f1_of(*summed.tolist())
