"""Data that look like a mistake are told of before the first update."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data import DataError
from regard.recipes.load import check
from regard.recipes.sections import Recipe
from regard.recipes.yaml_document import RecipeDocument
from regard.tasks.setup import prepare
from regard.train.warnings import odd_texts, unknown_labels

TEXT = """
task: {task}
data: {{format: {form}, train: train.txt, valid: valid.txt}}
tokenizer: {{kind: words}}
model: {model}
train: {{steps: 1, batch: {{sentences: 2}}}}
evaluate: {{metrics: [{metric}]}}
"""
MODELS = {
    "translate": "{kind: bahdanau, embedding_dim: 4, hidden_dim: 4}",
    "tag": "{kind: transducer, encoder: {embedding_dim: 4, hidden_dim: 4}}",
}


def recipe(folder: Path, valid: str, *, task: str = "translate", metric: str = "bleu", test: str = "null") -> Recipe:
    """A recipe of small files, the one to validate on as given."""
    good = "a house\tein Haus\n" if task == "translate" else "a O\n"
    (folder / "train.txt").write_text(good * 3)
    (folder / "valid.txt").write_text(good + ("" if task == "translate" else "\n") + valid)
    form = "table" if task == "translate" else "columns"
    text = TEXT.format(task=task, form=form, model=MODELS[task], metric=metric)
    return check(RecipeDocument.parse(text, "a.yaml").overridden([f"data.root={folder}", f"data.test={test}"])).recipe


@pytest.mark.parametrize(
    ("metric", "valid", "problem"),
    [
        ("bleu", "a\t▁ein Haus\n", "valid.txt:2: bleu: reference 1 is still in subword pieces"),
        ("cer", "a\tein Ha@@ us\n", "valid.txt:2: cer: reference 1 is still in subword pieces"),
        ("meteor", "a\tein <unk>\n", "valid.txt:2: meteor: reference 1 contains '<unk>'"),
    ],
)
def test_references_that_a_metric_refuses_are_told_before_step_1(
    tmp_path: Path, metric: str, valid: str, problem: str
) -> None:
    with pytest.raises(DataError) as caught:
        prepare(recipe(tmp_path, valid, metric=metric), tmp_path / "cache")
    assert str(caught.value).startswith(f"{tmp_path}/{problem}")


def test_tags_of_no_chunk_are_told_before_step_1(tmp_path: Path) -> None:
    made = recipe(tmp_path, "a NOUN\n", task="tag", metric="span_f1")
    (tmp_path / "train.txt").write_text("a O\na NOUN\n")
    with pytest.raises(DataError, match=r"valid.txt:3: .*'NOUN' is not a tag of a chunk"):
        prepare(made, tmp_path / "cache")


def test_long_texts_and_bytes_of_no_text_are_told_once(tmp_path: Path) -> None:
    setup = prepare(recipe(tmp_path, f"a\t{'x' * 20_000}\nb\0c\td\ne\0\tf\n"), tmp_path / "cache")
    splits = {"train": setup.train, "valid": setup.valid, "test": setup.test}
    long, zero = odd_texts(splits, windows=False)
    assert f"{tmp_path}/valid.txt:2 has more than 10,000 characters" in long
    assert f"{tmp_path}/valid.txt:3 has a NUL byte" in zero
    assert list(odd_texts(splits, windows=True)) == [zero]


def test_tags_that_training_never_had_are_told_with_their_first_place(tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text("a O\na NOUN\n\na VERB\n")
    setup = prepare(recipe(tmp_path, "", task="tag", metric="accuracy", test="test.txt"), tmp_path / "cache")
    splits = {"train": setup.train, "valid": setup.valid, "test": setup.test}
    (warning,) = unknown_labels(splits, setup.task.encoders)
    assert "labels of test (tags)" in warning
    assert f"2 of 3, first {tmp_path}/test.txt:1: the label 'NOUN'" in warning
