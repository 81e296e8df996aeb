"""Sections `model` of earlier runs, with every default written out, are read as they were and build the same model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regard.models import build
from regard.models.shapes_only import shapes_only
from regard.recipes.load import check
from regard.recipes.sections import Recipe
from regard.recipes.yaml_document import RecipeDocument
from regard.tasks.task import task_class

STORED = [
    json.loads(line)
    for line in (Path(__file__).parent / "models_of_earlier_runs.jsonl").read_text(encoding="utf-8").splitlines()
]
RENAMED = {"raw": "linear", "recall": "history"}
DATA = {
    "answer": {"format": "world"},
    "bits": {"format": "copy"},
    "classify": {"format": "opinions"},
    "language_model": {"format": "tales"},
    "masked_language_model": {"format": "opinions"},
    "nodes": {"format": "communities"},
    "recall": {"format": "glossary"},
    "spans": {"format": "diaries"},
    "tag": {"format": "columns", "train": "x", "valid": "x"},
    "translate": {"format": "digits"},
}


def recipe(stored: dict[str, Any]) -> Recipe:
    content: dict[str, Any] = {"task": stored["task"], "data": DATA[stored["task"]], "model": stored["model"]}
    content["train"] = {"steps": 1} if stored["task"] == "nodes" else {"steps": 1, "batch": {"sentences": 2}}
    if stored["model"].get("pair_dim") is not None:
        content["data"] = {**content["data"], "pairs": True}
    if stored["task"] in ("answer", "tag"):
        content["tokenizer"] = {"kind": "words", "split": "whitespace"}
    elif stored["model"].get("tied") == "all":
        content["tokenizer"] = {"kind": "words", "joint": stored["task"] == "translate"}
    return check(RecipeDocument.parse(json.dumps(content), "earlier.yaml"), model=False).recipe


def known(now: Any, then: Any) -> Any:
    """The values of the keys that there were then, by their names then: a model may have further keys since."""
    if isinstance(now, list | tuple) and len(now) == len(then):
        return [known(one, other) for one, other in zip(now, then, strict=True)]
    if not isinstance(now, dict) or not isinstance(then, dict):
        return then if RENAMED.get(str(then)) == now else now
    return {key: known(now[key], then[key]) for key in then}


def test_there_are_models_of_all_tasks() -> None:
    assert {one["task"] for one in STORED} == set(DATA)
    assert len(STORED) == 89


@pytest.mark.parametrize("stored", STORED, ids=[one["model"]["kind"] for one in STORED])
def test_it_is_read_as_it_was_and_builds(stored: dict[str, Any]) -> None:
    found = recipe(stored)
    assert known(found.model_dump(mode="json")["model"], stored["model"]) == stored["model"]
    sizes = task_class(found.task).outline_sizes
    with shapes_only():
        build(found.model.kind, *sizes, **found.model.arguments())
