"""Runs of earlier versions load, answer and go on."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from regard.predictor import load
from regard.runs.folder import RunError
from regard.runs.run import Run
from tests.train import tiny


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as it was before there was a choice: words between white space, and a scale that is a number."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    tiny.train(folder, "tokenizer.split=whitespace", "model.scale=0.1", "train.steps=10")
    path = folder / "recipe.yaml"
    content = yaml.safe_load(path.read_text())
    del content["tokenizer"]["split"]
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    tiny.without_checksums(folder)
    return folder


def test_an_earlier_run_reads_words_between_white_space(earlier: Path) -> None:
    assert Run(earlier).recipe().tokenizer.split == "whitespace"
    assert load(earlier).task.encoders["source"].split == "whitespace"  # type: ignore[union-attr]


def test_an_earlier_run_goes_on_by_the_recipe_it_began_with(earlier: Path) -> None:
    Run(earlier).agree(tiny.recipe())
    Run(earlier).agree(tiny.recipe("tokenizer.split=whitespace", "model.scale=0.1"))
    outcome = tiny.train(earlier, "train.steps=20")
    assert (outcome.begun, outcome.reason) == (10, "finished")
    assert load(earlier).task.encoders["source"].split == "whitespace"  # type: ignore[union-attr]


@pytest.mark.parametrize("key", ["tokenizer.split=punctuation", "model.scale=0.5"])
def test_what_a_recipe_asks_for_is_held_against_the_run(earlier: Path, key: str) -> None:
    with pytest.raises(RunError, match=key.partition("=")[0]):
        Run(earlier).agree(tiny.recipe(key))
