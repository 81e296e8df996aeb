"""Recipes that learn from several files with weights."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from regard.data.batching.feed import ExampleFeed
from regard.recipes.errors import RecipeError
from regard.recipes.load import check
from regard.recipes.sections import Recipe
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.run import Run
from regard.tasks.setup import Setup, prepare
from tests.train.test_resuming import Interrupting
from tests.train.tiny import metrics, recipe, train


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, digit in (("a", "1"), ("b", "2"), ("v", "3")):
        lines = [f"{digit} {number % 7}\t{digit} {number % 5}\n" for number in range(20)]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
        (tmp_path / f"{name}.src").write_text("".join(line.partition("\t")[0] + "\n" for line in lines))
        (tmp_path / f"{name}.trg").write_text("".join(line.partition("\t")[2] for line in lines))
    return tmp_path


def data(folder: Path, train: str, form: str = "table", rest: str = "valid: v.tsv") -> str:
    return f"data={{format: {form}, root: {folder}, train: {train}, {rest}}}"


def learned(setup: Setup, epoch: int = 0) -> Counter[str]:
    """How often the first digit of a source is learned from in an epoch."""
    assert isinstance(setup.feed, ExampleFeed)
    texts = setup.train.texts("source")
    return Counter(texts[row].split()[0] for batch in setup.feed.batches.epoch(epoch) for row in batch)


@pytest.mark.parametrize(
    ("form", "files", "rest"),
    [
        ("table", "[{file: a.tsv, weight: 3}, b.tsv]", "valid: v.tsv"),
        (
            "pairs",
            "[{source: a.src, target: a.trg, weight: 3}, {source: b.src, target: b.trg}]",
            "valid: {source: v.src, target: v.trg}",
        ),
    ],
)
def test_an_epoch_has_each_file_as_often_as_its_weight(form: str, files: str, rest: str, folder: Path) -> None:
    setup = prepare(recipe(data(folder, files, form, rest)), folder / "cache")
    assert learned(setup) == {"1": 60, "2": 20}
    assert setup.feed.per_epoch == 5
    assert len(setup.train) == 40
    assert len(setup.valid) == 20  # stays as it is


@pytest.mark.parametrize("by", ["source", "target", "order"])
def test_files_that_are_divided_keep_their_weights_and_their_splits_apart(by: str, folder: Path) -> None:
    for name in ("a", "b"):
        lines = [f"{name} {number}\t{name} {number}\n" for number in range(60)]
        (folder / f"{name}.tsv").write_text("".join(lines))
    files = "[{file: a.tsv, weight: 2}, {file: b.tsv, weight: 0.5}]"
    divided = recipe(data(folder, files, rest=f"split: {{by: {by}, valid: 0.2, test: 0.2}}"))
    setup = prepare(divided, folder / "cache")
    assert setup.test is not None
    parts = [set(split.texts("source")) for split in (setup.train, setup.valid, setup.test)]
    assert sum(map(len, parts)) == 120 == len(set.union(*parts))
    found, each = learned(setup), Counter(text.split()[0] for text in parts[0])
    assert found["a"] == 2 * each["a"]
    assert 0 < found["b"] < each["b"]
    assert found != learned(setup, 1)


def test_a_run_of_several_files_is_the_same_run_stopped_or_not(folder: Path) -> None:
    files = data(folder, "[{file: a.tsv, weight: 1.5}, {file: b.tsv, weight: 0.5}]")
    train(folder / "whole", files)
    assert train(folder / "parts", files, screen=Interrupting(1)).reason == "interrupted"
    train(folder / "parts", files, "train.steps=20")
    train(folder / "parts", files)
    without = [
        [row for row in metrics(folder / name).splitlines() if '"test"' not in row] for name in ("whole", "parts")
    ]
    assert without[0] == without[1]
    assert Run(folder / "whole").recipe().data.train[0].weight == 1.5  # type: ignore[union-attr]


TEXTS = """\
task: language_model
data:
  format: text
  root: {folder}
  train:
    - file: a.tsv
      {key}: {value}
    - b.tsv
  valid: v.tsv
model: {{kind: language_model, hidden_dim: 8}}
train: {{steps: 2, batch: {batch}}}
"""


def written(folder: Path, key: str = "weight", value: str = "2", batch: str = "{sentences: 4}") -> Recipe:
    text = TEXTS.format(folder=folder, key=key, value=value, batch=batch)
    return check(RecipeDocument.parse(text, "mine.yaml"), files=True).recipe


def test_texts_by_themselves_have_weights_and_windows_have_none(folder: Path) -> None:
    setup = prepare(written(folder), folder / "cache")
    assert isinstance(setup.feed, ExampleFeed)
    assert sum(len(batch) for batch in setup.feed.batches.epoch(0)) == 60
    window = "{sentences: 2, window: 5}"
    with pytest.raises(RecipeError, match=r"mine.yaml, line 7: .*'weight'.*window"):
        written(folder, batch=window)
    assert len(prepare(written(folder, value="1", batch=window), folder / "cache").train) == 40


@pytest.mark.parametrize(
    ("key", "value", "parts"),
    [
        ("wait", "3", ("mine.yaml, line 7", "'data.train.0.wait'", "did you mean weight?")),
        ("weight", "0", ("mine.yaml, line 7", "data.train.0.weight is 0", "greater than 0")),
        ("weight", "many", ("mine.yaml, line 7", "data.train.0.weight is 'many'", "a number")),
    ],
)
def test_what_is_wrong_is_said_with_its_key(key: str, value: str, parts: tuple[str, ...], folder: Path) -> None:
    with pytest.raises(RecipeError) as problem:
        written(folder, key, value)
    for part in parts:
        assert part in str(problem.value)


def test_a_file_that_is_not_there_is_named(folder: Path) -> None:
    (folder / "b.tsv").rename(folder / "c.tsv")
    with pytest.raises(RecipeError, match=r"mine.yaml, line 8: data.train.1.file: there is no file b.tsv"):
        written(folder)
    for assignment in ("[]", "5", "[5]"):
        with pytest.raises(RecipeError, match=r"data\.train"):
            recipe(data(folder, assignment))
