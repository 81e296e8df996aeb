"""Metrics by name: the one function behind the number during training and the number of `regard evaluate`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from regard.evaluate.accuracy import accuracy_tally, exact_match_tally
from regard.evaluate.bootstrap import PairedComparison, paired_bootstrap
from regard.evaluate.captions import caption_bleu_tally, cider_tally
from regard.evaluate.class_metrics import balanced_accuracy_tally, f1_tally, mcc_tally, precision_tally, recall_tally
from regard.evaluate.diversity import distinct_tally, repetition_tally
from regard.evaluate.error_rate import error_rate_tally, string_error_tally
from regard.evaluate.label_sets import label_set_f1_tally
from regard.evaluate.meteor import meteor_tally
from regard.evaluate.metric_result import MetricResult
from regard.evaluate.note_bleu import note_bleu_tally
from regard.evaluate.numbers import mae_tally, pearson_tally, rmse_tally, spearman_tally
from regard.evaluate.rankings import gain_tally, recall_at_tally, reciprocal_rank_tally
from regard.evaluate.rouge import rouge_tally
from regard.evaluate.sacre import bleu_tally, chrf_tally, ter_tally
from regard.evaluate.slot_error import slot_error_tally
from regard.evaluate.spans import span_f1_tally
from regard.evaluate.squad import span_match_tally, span_overlap_tally
from regard.evaluate.tally import Tally
from regard.evaluate.texts import References, unknown
from regard.registry import registered

Hypotheses = Sequence[str] | Sequence[Sequence[str]]
"""Answers: one text each, or one ranking."""


@dataclass(frozen=True)
class Metric:
    """A metric over texts: call it with hypotheses and references for a `MetricResult`.

    Attributes:
        name: as a recipe writes it.
        tally: from hypotheses, references and options to a `Tally`.
        what: one line for people.
        higher_is_better: which way is up: for early stopping, best checkpoints, tables.
        options: fixed arguments of the tally, such as tokenize="none".
        compares: what it takes answers for: free texts, labels (one per text or per token), chunks of BIO tags,
            sets of labels, numbers, texts with the records that they were generated from, or rankings, each a
            sequence of texts.
        apart: what tells it from another of the same name; see `disambiguate`.
    """

    name: str
    tally: Callable[..., Tally]
    what: str
    higher_is_better: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    compares: Literal["texts", "labels", "chunks", "label_sets", "numbers", "records", "rankings"] = "texts"
    apart: str | None = None

    @property
    def label(self) -> str:
        """Key in a row of metrics: its name, and its options where the name stands there twice."""
        return self.name if self.apart is None else f"{self.name}:{self.apart}"

    def __call__(self, hypotheses: Hypotheses, references: References) -> MetricResult:
        """The score of a corpus; references hold for every sentence one text or several."""
        return self.count(hypotheses, references).score()

    def count(self, hypotheses: Hypotheses, references: References) -> Tally:
        """Count what every sentence adds to it."""
        return self.tally(hypotheses, references, **self.options)

    def compare(
        self, first: Hypotheses, second: Hypotheses, references: References, *, samples: int = 1000, seed: int = 0
    ) -> PairedComparison:
        """Paired bootstrap between the outputs of two systems; see `paired_bootstrap`."""
        tallies = self.count(first, references), self.count(second, references)
        return paired_bootstrap(*tallies, samples=samples, seed=seed)

    def known_options(self) -> list[str]:
        """The names that `metric(name, ...)` takes."""
        parameters = inspect.signature(self.tally).parameters.values()
        fixed = _fixed(self)
        return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in fixed]


_ALL = (
    Metric("bleu", bleu_tally, "BLEU-4 of a corpus by sacrebleu, 0 to 100"),
    Metric("note_bleu", note_bleu_tally, "BLEU-n as the lecture notes define it, 0 to 1"),
    Metric("chrf", chrf_tally, "F-score of character n-grams by sacrebleu, 0 to 100"),
    Metric("chrf++", chrf_tally, "chrF with word unigrams and bigrams, 0 to 100", options={"word_order": 2}),
    Metric("ter", ter_tally, "edits with block moves per hundred reference words, by sacrebleu", False),
    Metric("meteor", meteor_tally, "METEOR of 2005: recall-heavy matches of words, stems, synonyms, 0 to 1"),
    Metric("rouge1", rouge_tally, "ROUGE-1: overlap of words with summaries, 0 to 1", options={"kind": "rouge1"}),
    Metric("rouge2", rouge_tally, "ROUGE-2: overlap of pairs of words, 0 to 1", options={"kind": "rouge2"}),
    Metric("rougeL", rouge_tally, "ROUGE-L: longest common subsequence of words, 0 to 1", options={"kind": "rougeL"}),
    Metric(
        "rougeLsum", rouge_tally, "ROUGE-L of summaries, one sentence per line, 0 to 1", options={"kind": "rougeLsum"}
    ),
    Metric("cider", cider_tally, "CIDEr-D: TF-IDF cosines of n-grams with captions, 0 to 10"),
    Metric("caption_bleu", caption_bleu_tally, "BLEU-n of captions, tokenised as for COCO, 0 to 1"),
    Metric(
        "slot_error", slot_error_tally, "missing, wrong, repeated facts per fact of a record", False, compares="records"
    ),
    Metric("distinct", distinct_tally, "different n-grams over all n-grams of the texts, 0 to 1"),
    Metric("repetition", repetition_tally, "mean share of repeated n-grams in a text, 0 to 1", False),
    Metric("exact_match", exact_match_tally, "share of texts equal to a reference"),
    Metric("wer", error_rate_tally, "word edits over reference words", False, {"unit": "word"}),
    Metric("per", error_rate_tally, "phoneme edits over reference phonemes", False, {"unit": "phoneme"}),
    Metric("cer", error_rate_tally, "character edits over reference characters", False, {"unit": "character"}),
    Metric("string_error", string_error_tally, "share of texts equal to no reference: the WER of pronunciation", False),
    Metric("accuracy", accuracy_tally, "share of right labels", compares="labels"),
    Metric("balanced_accuracy", balanced_accuracy_tally, "mean recall of the classes", compares="labels"),
    Metric("f1", f1_tally, "F1 over classes, macro, micro or weighted", compares="labels"),
    Metric("precision", precision_tally, "precision over classes, macro, micro or weighted", compares="labels"),
    Metric("recall", recall_tally, "recall over classes, macro, micro or weighted", compares="labels"),
    Metric("mcc", mcc_tally, "Matthews' correlation of claimed and true classes", compares="labels"),
    Metric(
        "micro_f1",
        label_set_f1_tally,
        "F1 over all decisions on sets of labels",
        options={"average": "micro"},
        compares="label_sets",
    ),
    Metric(
        "macro_f1",
        label_set_f1_tally,
        "mean F1 of the labels of sets",
        options={"average": "macro"},
        compares="label_sets",
    ),
    Metric(
        "weighted_f1",
        label_set_f1_tally,
        "mean F1 of the labels of sets, weighted by frequency",
        options={"average": "weighted"},
        compares="label_sets",
    ),
    Metric("pearson", pearson_tally, "Pearson's correlation with the true numbers", compares="numbers"),
    Metric("spearman", spearman_tally, "correlation of the ranks of numbers", compares="numbers"),
    Metric("mae", mae_tally, "mean absolute error of numbers", False, compares="numbers"),
    Metric("rmse", rmse_tally, "root of the mean squared error of numbers", False, compares="numbers"),
    Metric("span_f1", span_f1_tally, "F1 of chunks in BIO tags, as conlleval counts", compares="chunks"),
    Metric("squad_exact", span_match_tally, "share of answers equal to a reference, as SQuAD counts"),
    Metric("squad_f1", span_overlap_tally, "mean F1 of the words of answers, as SQuAD counts"),
    Metric("mrr", reciprocal_rank_tally, "mean reciprocal rank of the first right item, @k", compares="rankings"),
    Metric("recall_at", recall_at_tally, "mean share of the right items that rank among k", compares="rankings"),
    Metric("ndcg", gain_tally, "normalised discounted cumulative gain of rankings, @k", compares="rankings"),
)

METRICS: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _ALL})


def metric(name: str, **options: Any) -> Metric:
    """The metric of this name, with options fixed.

    Args:
        name: one of `METRICS`.
        options: keyword arguments of the metric's function, such as `tokenize="none"` for BLEU.

    Returns:
        Metric.

    Raises:
        ValueError: no such metric or option; the sentence names the nearest.

    >>> print(metric("bleu", tokenize="none", lowercase=True)(["A cat sat here"], [["a cat sat here"]]))
    BLEU 100.0 (nrefs:1|case:lc|eff:no|tok:none|smooth:exp|version:...)
    >>> metric("blue")
    Traceback (most recent call last):
    ValueError: evaluate: there is no metric 'blue'; did you mean 'bleu'? There are accuracy, balanced_accuracy, ...
    """
    found = metric_of_column(name)
    if found is None:
        raise unknown("evaluate", "metric", name, [*METRICS, *registered("metric")])
    for option in options:
        if option not in found.known_options():
            raise unknown(name, "option", option, found.known_options())
    return replace(found, options={**found.options, **options})


def disambiguate(metrics: Sequence[Metric]) -> list[Metric]:
    """The same metrics; those that share a name are called by their options too.

    Raises:
        ValueError: two are the same.

    >>> both = disambiguate([metric("note_bleu", order=1), metric("note_bleu", order=2), metric("wer")])
    >>> [one.label for one in both]
    ['note_bleu:order=1', 'note_bleu:order=2', 'wer']
    """
    names = [one.name for one in metrics]
    found = [replace(one, apart=_options(one)) if names.count(one.name) > 1 else one for one in metrics]
    labels = [one.label for one in found]
    for label, one in zip(labels, found, strict=True):
        if labels.count(label) > 1:
            raise ValueError(f"the metric {one.name!r} stands twice with the same options; leave one out")
    return found


def metric_of_column(label: str) -> Metric | None:
    """The metric that a number in a row is of, ours or of a plug-in; None if it is of none."""
    name = label.partition(":")[0]
    if name in METRICS or name not in (of_plugins := registered("metric")):
        return METRICS.get(name)
    one = of_plugins[name]
    what = (inspect.getdoc(one.made) or name).partition("\n")[0]
    return Metric(name, one.made, what, one.higher_is_better, compares=one.compares)  # type: ignore[arg-type]


def _fixed(metric: Metric) -> Mapping[str, Any]:
    """The options that belong to its name."""
    return METRICS[metric.name].options if metric.name in METRICS else {}


def _options(metric: Metric) -> str:
    """The options that a person chose; `whole` is the task's."""
    fixed = {**_fixed(metric), "whole": True}
    return ",".join(f"{name}={value}" for name, value in metric.options.items() if fixed.get(name) != value)
