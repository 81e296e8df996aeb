"""Axes of a comparison: keys with several values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from regard.recipes.errors import RecipeError
from regard.recipes.yaml_document import RecipeDocument

REPEATED = frozenset({"train.seed", "data.fold", "data.split.fold"})
"""Axes whose values repeat one experiment: a row averages over seeds and folds."""


@dataclass(frozen=True)
class Axis:
    """Key of a recipe with its values.

    Attributes:
        key: the path of the key, `model.attention`.
        values: the values as written, in YAML.
    """

    key: str
    values: tuple[str, ...]


def axes(assignments: list[str]) -> tuple[list[Axis], list[str]]:
    """Split assignments into axes, with several values, and plain assignments.

    Values are separated by commas. They are the items of a YAML list without its brackets, so that a comma inside of
    brackets, braces or quotes does not separate: `[a, b]` is one value, `[a, b], [c]` are two.

    Raises:
        RecipeError: a repeated key or value, nothing to compare, or a run name.

    >>> axes(["model.attention=dot,{score: dot, align: local_p}", "train.steps=9", "evaluate.metrics=[bleu, ter]"])
    ([Axis(key='model.attention', values=('dot', '{score: dot, align: local_p}'))],
     ['train.steps=9', 'evaluate.metrics=[bleu, ter]'])
    """
    found: list[Axis] = []
    fixed: list[str] = []
    seen: set[str] = set()
    for assignment in assignments:
        key, _, text = assignment.partition("=")
        key = key.strip()
        if key == "run":
            raise RecipeError(f"{assignment!r}: a comparison names its runs; give it a name with --name NAME")
        if key in seen:
            raise RecipeError(f"{key!r} is given twice; separate its values by commas: {key}=ONE,OTHER")
        seen.add(key)
        values = _items(text)
        if len(values) > 1:
            _distinct(key, values)
            found.append(Axis(key, values))
        else:
            fixed.append(assignment)
    if not found:
        raise RecipeError("there is nothing to compare; give a key several values: train.seed=1,2,3")
    return found, fixed


def _items(text: str) -> tuple[str, ...]:
    """Return the values of a text as written; invalid YAML is one value, which the recipe check reports."""
    try:
        node = yaml.compose(f"[{text}]", Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return (text,)
    assert node is not None, "a list in brackets is a node"
    return tuple(text[item.start_mark.index - 1 : item.end_mark.index - 1] for item in node.value)


def _distinct(key: str, values: tuple[str, ...]) -> None:
    read: list[Any] = []
    for value in values:
        content = RecipeDocument("the command line", {}).overridden([f"value={value}"]).content["value"]
        if any(content == other and type(content) is type(other) for other in read):
            raise RecipeError(f"{key} has the value {value} twice; leave one of them out")
        read.append(content)
