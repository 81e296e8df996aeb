"""A run with a tokenizer that others have trained."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from regard.data import DataError
from regard.predictor import load
from regard.recipes.errors import RecipeError
from regard.recipes.load import check
from regard.recipes.yaml_document import RecipeDocument
from tests.train import tiny

MODEL = Path(__file__).parents[1] / "data" / "fields" / "sentencepiece" / "bpe.model"


def test_a_run_keeps_the_tokenizer_of_its_file(tmp_path: Path) -> None:
    shutil.copy(MODEL, tmp_path / "some.model")
    given = f"tokenizer={{kind: file, path: {tmp_path / 'some.model'}}}"
    tiny.train(tmp_path / "runs" / "tiny", given, "train.steps=5")
    (tmp_path / "some.model").unlink()  # the run has its own
    predictor = load(tmp_path / "runs" / "tiny")
    assert predictor.task.encoders["source"].size == predictor.task.encoders["target"].size == 330
    assert predictor.predict("3 4")[0].source_tokens == ("▁", "3", "▁", "4")


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("{kind: file}", "path"),
        ("{kind: bpe, path: a.model}", "'path'"),
        ("{kind: file, path: a.model, size: 300}", "'size'"),
        ("{kind: file, path: a.model, lowercase: true}", "'lowercase'"),
        ("{kind: file, path: a.model, target: {kind: file}}", "path"),
        ("{kind: file, path: no/such.model}", "no/such.model"),
    ],
)
def test_what_a_recipe_says_wrong_is_named(section: str, said: str) -> None:
    document = RecipeDocument.parse(tiny.TEXT, "tiny.yaml").overridden([f"tokenizer={section}"])
    with pytest.raises(RecipeError, match=said):
        check(document, files=True)


def test_a_file_that_is_no_tokenizer_leaves_no_run_behind(tmp_path: Path) -> None:
    (tmp_path / "some.json").write_text("{}")
    with pytest.raises(DataError, match=r"some\.json: not a tokenizer\.json"):
        tiny.train(tmp_path / "runs" / "tiny", f"tokenizer={{kind: file, path: {tmp_path / 'some.json'}}}")
    assert not (tmp_path / "runs" / "tiny" / "recipe.yaml").exists()
