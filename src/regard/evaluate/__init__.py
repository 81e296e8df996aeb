"""Metrics: how good is what a model writes? Every value comes with a signature that says how it was made."""

from regard.evaluate.accuracy import accuracy, accuracy_tally, exact_match, exact_match_tally
from regard.evaluate.alignment_error import alignment_error_rate, alignment_scores, alignment_tally
from regard.evaluate.bootstrap import PairedComparison, RecomputedMetric, paired_bootstrap
from regard.evaluate.calibration import Bin, calibration_error, calibration_tally, reliability
from regard.evaluate.captions import caption_bleu, caption_bleu_tally, caption_words, cider, cider_tally
from regard.evaluate.class_metrics import (
    ClassF1,
    balanced_accuracy,
    balanced_accuracy_tally,
    f1,
    f1_per_class,
    f1_tally,
    mcc,
    mcc_tally,
    precision,
    precision_tally,
    recall,
    recall_tally,
)
from regard.evaluate.confusion import Confusion, confusion
from regard.evaluate.diversity import distinct, distinct_tally, repetition, repetition_tally
from regard.evaluate.edits import Edits, count_edits, edits_by_kind
from regard.evaluate.error_rate import (
    edit_distance,
    error_rate,
    error_rate_tally,
    string_error_rate,
    string_error_tally,
)
from regard.evaluate.label_sets import label_set_f1, label_set_f1_per_label, label_set_f1_tally
from regard.evaluate.meteor import MeteorParameters, meteor, meteor_tally
from regard.evaluate.metric_result import MetricResult
from regard.evaluate.metrics import METRICS, Metric, metric
from regard.evaluate.note_bleu import brevity_penalty, note_bleu, note_bleu_tally
from regard.evaluate.numbers import mae, mae_tally, pearson, pearson_tally, rmse, rmse_tally, spearman, spearman_tally
from regard.evaluate.perplexity import bits_per_character, bits_per_sequence, nats_per_token, perplexity
from regard.evaluate.porter import porter_stem
from regard.evaluate.rouge import rouge, rouge_tally
from regard.evaluate.sacre import bleu, bleu_tally, chrf, chrf_tally, ter, ter_tally
from regard.evaluate.slot_error import SlotErrors, slot_error_rate, slot_error_tally, slot_errors
from regard.evaluate.spans import Span, span_f1, span_f1_per_kind, span_f1_tally, spans
from regard.evaluate.squad import squad_exact, squad_f1
from regard.evaluate.tally import Tally
from regard.evaluate.word_alignment import align_words
from regard.evaluate.wordnet import WordNet

__all__ = [
    "METRICS",
    "Bin",
    "ClassF1",
    "Confusion",
    "Edits",
    "MeteorParameters",
    "Metric",
    "MetricResult",
    "PairedComparison",
    "RecomputedMetric",
    "SlotErrors",
    "Span",
    "Tally",
    "WordNet",
    "accuracy",
    "accuracy_tally",
    "align_words",
    "alignment_error_rate",
    "alignment_scores",
    "alignment_tally",
    "balanced_accuracy",
    "balanced_accuracy_tally",
    "bits_per_character",
    "bits_per_sequence",
    "bleu",
    "bleu_tally",
    "brevity_penalty",
    "calibration_error",
    "calibration_tally",
    "caption_bleu",
    "caption_bleu_tally",
    "caption_words",
    "chrf",
    "chrf_tally",
    "cider",
    "cider_tally",
    "confusion",
    "count_edits",
    "distinct",
    "distinct_tally",
    "edit_distance",
    "edits_by_kind",
    "error_rate",
    "error_rate_tally",
    "exact_match",
    "exact_match_tally",
    "f1",
    "f1_per_class",
    "f1_tally",
    "label_set_f1",
    "label_set_f1_per_label",
    "label_set_f1_tally",
    "mae",
    "mae_tally",
    "mcc",
    "mcc_tally",
    "meteor",
    "meteor_tally",
    "metric",
    "nats_per_token",
    "note_bleu",
    "note_bleu_tally",
    "paired_bootstrap",
    "pearson",
    "pearson_tally",
    "perplexity",
    "porter_stem",
    "precision",
    "precision_tally",
    "recall",
    "recall_tally",
    "reliability",
    "repetition",
    "repetition_tally",
    "rmse",
    "rmse_tally",
    "rouge",
    "rouge_tally",
    "slot_error_rate",
    "slot_error_tally",
    "slot_errors",
    "span_f1",
    "span_f1_per_kind",
    "span_f1_tally",
    "spans",
    "spearman",
    "spearman_tally",
    "squad_exact",
    "squad_f1",
    "string_error_rate",
    "string_error_tally",
    "ter",
    "ter_tally",
]
