"""Cross-checks and metrics of recipes that classify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.recipes.section import own_keys
from regard.systems.classification.sections import ClassificationDecoding
from regard.systems.classification.target_section import COMPARED, TARGET_METRICS, TargetData

if TYPE_CHECKING:
    from regard.evaluate.metrics import Metric
    from regard.recipes.sections import Recipe

ACROSS = ("decomposable_attention", "esim")
"""Models of two texts with attention between the words of both."""


def target_of(recipe: Recipe) -> TargetData | None:
    """Return the section with the target keys; None for data that always have one label."""
    data: object = recipe.data
    return data if isinstance(data, TargetData) else None


def default_metrics(recipe: Recipe) -> Sequence[str]:
    """Return the default metrics of the kind of target."""
    target = target_of(recipe)
    return TARGET_METRICS["label" if target is None else target.target_kind]


def compared(recipe: Recipe) -> frozenset[str]:
    """Return the kinds of metrics that are defined for the kind of target."""
    target = target_of(recipe)
    return frozenset(COMPARED["label" if target is None else target.target_kind])


def metric_options(recipe: Recipe, metric: Metric) -> Mapping[str, Any]:
    """Return the options of label metrics."""
    target = target_of(recipe)
    if metric.compares == "labels":
        return {"whole": True}
    return {"separator": target.label_separator} if target is not None and metric.compares == "label_sets" else {}


def attends_across(recipe: Recipe) -> bool:
    """Return True if words of one text attend to words of the other."""
    return recipe.model.kind in ACROSS


def compares_texts(recipe: Recipe) -> bool:
    """Return True if the model encodes two texts separately."""
    given = (getattr(recipe.model, key, None) for key in ("pair_dim", "comparison"))
    return attends_across(recipe) or any(one is not None for one in given)


def matches_words(recipe: Recipe) -> bool:
    """Return True if the model reads exact-match features of two texts."""
    return bool(getattr(recipe.model, "exact_match", False))


def reads_documents(recipe: Recipe) -> bool:
    """Return True if texts are split into sentences."""
    return recipe.model.kind == "hierarchical"


def check_data(recipe: Recipe) -> None:
    """Check that data and model agree on one or two texts, and that exact matches are used only with two."""
    if recipe.system.joins_texts(recipe) and reads_documents(recipe):
        raise ValueError("the model 'hierarchical' reads one text; these data have two")
    if recipe.system.joins_texts(recipe) and not recipe.system.reads_pairs(recipe):
        raise ValueError(
            "pairs are two texts, for labels by a model that reads two: kind esim or decomposable_attention, an "
            "acceptor with pair_dim or comparison, or encoder {kind: bert}"
        )
    if compares_texts(recipe) and not recipe.system.joins_texts(recipe):
        source = getattr(recipe.data, "source", None)
        given = f"format {recipe.data.format!r}" if source is None else f"source {source!r}"
        keys = "take another model" if attends_across(recipe) else "leave pair_dim and comparison out"
        raise ValueError(f"{given} has one text, and the model compares two: give it two, or {keys}")
    if matches_words(recipe) and not compares_texts(recipe):
        raise ValueError(
            "exact_match is of models that compare two texts, each read alone; set comparison, or leave it out"
        )


def check_training(recipe: Recipe) -> None:
    """Check that label smoothing and class weights are used with labels, and R-Drop with a single label."""
    target = target_of(recipe)
    if target is not None and target.target_kind != "label" and recipe.train.r_drop:
        raise ValueError(f"r_drop is of one label, and data.target_kind is {target.target_kind!r}; leave it out")
    if target is None or target.target_kind != "number":
        return
    given = {"label_smoothing": recipe.train.label_smoothing, "class_weights": recipe.train.class_weights}
    if (key := next((key for key, value in given.items() if value), None)) is not None:
        raise ValueError(f"{key} is of labels, and data.target_kind is 'number'; leave it out")


def check_decoding(recipe: Recipe) -> None:
    """Check that a threshold is set only for targets with several labels."""
    threshold, target = own_keys(recipe.decode, ClassificationDecoding).threshold, target_of(recipe)
    if threshold != 0.5 and (target is None or target.target_kind != "labels"):
        raise ValueError(f"a threshold is for data.target_kind 'labels'; got {threshold!r}")
