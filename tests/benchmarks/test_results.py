"""The check of results: its rows are those of the page, its commands are those of recipes that ship."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from benchmarks.results import CLAIMS, measured, row_of, table, without_command

from regard.recipes.library import shipped
from regard.recipes.load import check
from regard.recipes.yaml_document import RecipeDocument


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_is_a_row_of_the_page_with_a_figure(claim) -> None:  # type: ignore[no-untyped-def]
    row = row_of(claim)
    assert row is not None
    assert any(character.isdigit() for character in row[3])


def test_most_rows_have_a_command() -> None:
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    assert len(without_command()) <= len(table()) // 5


@pytest.mark.parametrize("claim", [one for one in CLAIMS if one.seeds], ids=lambda claim: claim.name)
def test_commands_are_recipes_with_keys_that_they_have(claim) -> None:  # type: ignore[no-untyped-def]
    name, *overrides = shlex.split(claim.command)
    assert name in shipped()
    kept = [one for one in overrides if "PATH" not in one]
    check(RecipeDocument.read(shipped()[name]).overridden(kept), model=False)
    commands = claim.commands("/data", Path("runs"))
    assert len(commands) == len(claim.seeds)
    assert all("PATH" not in word for command in commands for word in command)


def test_figures_of_runs_stand_with_mean_and_deviation(tmp_path: Path) -> None:
    claim = next(one for one in CLAIMS if one.name == "airs")
    for seed, loss in zip(claim.seeds, (0.1, 0.2, 0.3), strict=True):
        folder = tmp_path / claim.run(seed)
        folder.mkdir()
        rows = [{"step": 1, "split": "valid", "loss": 9.0}, {"step": 1, "split": "test", "loss": loss}]
        (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert measured(claim, tmp_path) == ["  loss: 0.1, 0.2, 0.3; mean 0.2 ± 0.1"]
