"""Accuracy: how many are right."""

from __future__ import annotations

from collections.abc import Sequence

from regard.evaluate.metric_result import MetricResult, signature
from regard.evaluate.tally import Floats, Tally, safe_ratio
from regard.evaluate.texts import References, paired_texts, single_reference, text_signature


def ratio(summed: Floats) -> float:
    """The first count over the second."""
    return safe_ratio(summed[0], summed[1])


def matches(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool) -> list[float]:
    """1 for every text that equals one of its references, else 0."""
    return [
        float(_plain(hypothesis, lowercase) in {_plain(text, lowercase) for text in group})
        for hypothesis, group in zip(hypotheses, references, strict=True)
    ]


def exact_match_tally(hypotheses: Sequence[str], references: References, *, lowercase: bool = False) -> Tally:
    """Right or wrong for every sentence, for `exact_match` and for the bootstrap."""
    grouped = paired_texts("exact_match", hypotheses, references)
    rows = [(right, 1.0) for right in matches(hypotheses, grouped, lowercase=lowercase)]
    return Tally.of("exact match", rows, ratio, text_signature(grouped, lowercase=lowercase, space="collapsed"))


def exact_match(hypotheses: Sequence[str], references: References, *, lowercase: bool = False) -> MetricResult:
    """The share of texts that are equal to one of their references, runs of spaces counted as one.

    Args:
        hypotheses: one text each.
        references: for every one a text or several.
        lowercase: compare without case.

    Returns:
        Score between 0 and 1.

    >>> print(exact_match(["2021-03-03", "2021-03-04"], ["2021-03-03", "2021-04-03"]))
    exact match 0.5000 (nrefs:1|case:mixed|space:collapsed)
    """
    return exact_match_tally(hypotheses, references, lowercase=lowercase).score()


def accuracy_tally(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> Tally:
    """Right labels and labels of every text, for `accuracy` and for the bootstrap."""
    pairs = label_pairs("accuracy", hypotheses, references, whole=whole)
    rows = [(sum(a == b for a, b in zip(*pair, strict=True)), len(pair[1])) for pair in pairs]
    return Tally.of("accuracy", rows, ratio, signature(unit="label"))


def accuracy(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> MetricResult:
    """The share of right labels; a text may have one label or, separated by spaces, one for each of its tokens.

    Args:
        hypotheses: the labels of each text.
        references: the true ones, equally many.
        whole: whether each text has one label, spaces and all: "very good".

    Returns:
        Score between 0 and 1, over all labels.

    >>> print(accuracy(["DT NN VBZ", "NNP"], ["DT NN NNS", "NNP"]))
    accuracy 0.7500 (unit:label)
    """
    return accuracy_tally(hypotheses, references, whole=whole).score()


def label_pairs(
    metric: str, hypotheses: Sequence[str], references: References, *, whole: bool = False
) -> list[tuple[list[str], list[str]]]:
    """The labels of every text beside the true ones; with `whole` each text is one label."""
    truths = single_reference(metric, paired_texts(metric, hypotheses, references))
    if whole:
        return [([text], [truth]) for text, truth in zip(hypotheses, truths, strict=True)]
    pairs = [(text.split(), truth.split()) for text, truth in zip(hypotheses, truths, strict=True)]
    for number, (labels, truth) in enumerate(pairs, start=1):
        if len(labels) != len(truth):
            raise ValueError(
                f"{metric}: text {number} has {len(labels)} labels but {len(truth)} true ones; "
                "every token has exactly one, without spaces; for one label a text, spaces and all, set whole"
            )
    return pairs


def _plain(text: str, lowercase: bool) -> str:
    return " ".join((text.lower() if lowercase else text).split())
