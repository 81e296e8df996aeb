"""Recipes of before run under the present names, and a note says so."""

from __future__ import annotations

import pytest

from regard.recipes.load import check
from regard.recipes.yaml_document import RecipeDocument
from tests.train.tiny import TEXT


@pytest.mark.parametrize(
    ("asked", "key", "value", "note"),
    [
        ("{score: additive, align: raw}", "align", "linear", "raw is now linear"),
        ("{score: additive, align: {name: raw}}", "align", "linear", "raw is now linear"),
        ("{score: additive, terms: [position, recall]}", "terms", "history", "recall is now history"),
        ("{score: additive, terms: [{name: recall, hidden_dim: 3}]}", "terms", "history", "recall is now history"),
    ],
)
def test_an_old_name_of_a_part_is_read_with_a_note(asked: str, key: str, value: str, note: str) -> None:
    document = RecipeDocument.parse(TEXT, "tiny.yaml").overridden([f"model.attention={asked}"])
    loaded = check(document)
    assert value in str(loaded.recipe.model.arguments()["attention"][key])
    assert [one.split(": ", 1)[1] for one in loaded.notes] == [f"model.attention.{key}: {note}"]
    present = document.overridden([f"model.attention={asked.replace('raw', value).replace('recall', value)}"])
    assert check(present).notes == ()
