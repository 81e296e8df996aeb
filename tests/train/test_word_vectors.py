"""Runs whose embeddings begin with pretrained word vectors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from regard.predictor import load
from regard.recipes.errors import RecipeError
from regard.recipes.load import check
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.run import Run
from regard.specials import PAD, UNK
from regard.tasks.build import make_model
from regard.tasks.setup import prepare
from regard.tasks.word_vectors import load_vectors
from regard.train.screen import Screen
from tests.train import tiny

WIDTH = 5
VECTORS = {"1": 0.25, "3": -0.5, "zebra": 1.5}
"""Words and the number that all entries of their vectors are."""


class Notes(Screen):
    """Keeps what a person is told."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.said: list[str] = []

    def notice(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some.txt"
    path.write_text("".join(f"{word}{f' {value}' * WIDTH}\n" for word, value in VECTORS.items()))
    return path


def overrides(file: Path, **more: bool) -> list[str]:
    options = "".join(f", {name}: {str(value).lower()}" for name, value in more.items())
    return [f"tokenizer={{kind: words, vectors: {{file: {file}{options}}}}}", f"model.embedding_dim={WIDTH}"]


def filled(file: Path, tmp_path: Path, *more: str, **options: bool) -> tuple[nn.Module, list[str], list[str]]:
    """The model before its first update, the words of the source, and what is said of the coverage."""
    recipe = tiny.recipe(*overrides(file, **options), *more)
    setup = prepare(recipe, tmp_path / "cache")
    model = make_model(recipe, setup.task)
    said = list(load_vectors(recipe, setup.task, model, setup.train.encoded))
    return model, setup.task.encoders["source"].vocabulary(), said  # type: ignore[attr-defined]


def test_words_begin_with_their_vectors_and_others_as_they_would(file: Path, tmp_path: Path) -> None:
    model, words, said = filled(file, tmp_path)
    for table in (model.encoder.words.table, model.words.table):  # type: ignore[union-attr]
        assert table.weight.requires_grad
        for index, word in enumerate(words):
            row = table.weight[index]
            if word in VECTORS:
                assert row.tolist() == [VECTORS[word]] * WIDTH
            else:
                assert bool(row.any()) == (index != PAD)
    assert len(said) == 2  # of both vocabularies
    assert "vectors for 2 of 10 words of source" in said[0]
    share = said[0].partition("words of source and ")[2].partition("%")[0]
    assert 15 < float(share) < 25  # two of ten digits, as often as any


def test_fixed_vectors_have_no_gradient_and_unknown_words_are_zero(file: Path, tmp_path: Path) -> None:
    model, words, _ = filled(file, tmp_path, tuned=False)
    table = model.encoder.words.table  # type: ignore[union-attr]
    assert not table.weight.requires_grad
    for index, word in enumerate(words):
        assert table.weight[index].tolist() == [VECTORS.get(word, 0.0)] * WIDTH
    assert not table.weight[UNK].any()


def test_words_of_the_file_alone_get_ids_where_asked(file: Path, tmp_path: Path) -> None:
    _, seen, _ = filled(file, tmp_path)
    model, words, _ = filled(file, tmp_path, unseen=True)
    assert words == [*seen, "zebra"]
    assert model.encoder.words.table.weight[-1].tolist() == [1.5] * WIDTH  # type: ignore[union-attr]


def test_a_transformer_reads_the_vectors_themselves(file: Path, tmp_path: Path) -> None:
    file.write_text(f"3{' 0.5' * 16}\n")
    section = "model={kind: transformer, dim: 16, num_heads: 2, num_layers: 1, hidden_dim: 8, positions: rotary}"
    recipe = tiny.recipe(overrides(file)[0], section)
    setup = prepare(recipe, tmp_path / "cache")
    model = make_model(recipe, setup.task).eval()
    list(load_vectors(recipe, setup.task, model, setup.train.encoded))
    ids = torch.tensor([setup.task.encoders["source"].encode("3")])  # type: ignore[attr-defined]
    assert model.encoder.words(ids).flatten().tolist() == pytest.approx([0.5] * 16)  # type: ignore[operator,union-attr]


def test_a_killed_run_resumes_without_the_file_to_the_same_numbers(file: Path, tmp_path: Path) -> None:
    given = [*overrides(file, tuned=False), "train.valid_every=2", "train.checkpoint_every=2", "train.steps=4"]
    whole, parts = tmp_path / "whole" / "tiny", tmp_path / "parts" / "tiny"
    notes = Notes()
    tiny.train(whole, *given, screen=notes)
    assert [note for note in notes.said if "vectors for" in note]
    tiny.train(parts, *given, "train.steps=2")
    file.unlink()
    notes = Notes()
    tiny.train(parts, *given, screen=notes)
    assert not [note for note in notes.said if "vectors for" in note]
    assert tiny.metrics(whole) == tiny.metrics(parts)
    predictor = load(parts)
    table = predictor.model.encoder.words.table  # type: ignore[union-attr]
    row = predictor.task.encoders["source"].encode("3")[0]  # type: ignore[attr-defined]
    assert table.weight[row].tolist() == [-0.5] * WIDTH  # after all updates
    assert not table.weight.requires_grad


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["model.embedding_dim=7"], r"some\.txt has vectors of width 5, .*width 7"),
        (
            ["tokenizer.vectors.file=none.txt"],
            r"tokenizer\.vectors: there is no file none\.txt; set tokenizer\.vectors",
        ),
        (["tokenizer.vectors.file={file}.gz"], r"there is no file .*some\.txt\.gz; did you mean .*some\.txt\?"),
    ],
)
def test_what_does_not_fit_leaves_no_run_behind(file: Path, tmp_path: Path, change: list[str], said: str) -> None:
    folder = tmp_path / "runs" / "tiny"
    with pytest.raises(ValueError, match=said):
        tiny.train(folder, *overrides(file), *(one.format(file=file) for one in change))
    assert not Run(folder).trained
    assert not (folder / "recipe.yaml").exists()


def test_a_model_without_such_a_table_refuses_them(file: Path, tmp_path: Path) -> None:
    recipe = tiny.recipe(*overrides(file), "model={kind: bidirectional, model: {kind: luong}}")
    with pytest.raises(ValueError, match="model 'bidirectional' has no table"):
        prepare(recipe, tmp_path / "cache")


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("{kind: bpe, vectors: some.txt}", "line 3: tokenizer.*'vectors'.*'bpe'"),
        ("{kind: words, vectors: {file: some.txt, tune: false}}", "tokenizer.vectors.tune.*tuned"),
        ("{kind: words, vectors: 7}", "tokenizer.vectors"),
    ],
)
def test_what_a_recipe_says_wrong_is_named(section: str, said: str) -> None:
    text = tiny.TEXT.replace("tokenizer: {kind: words}", f"tokenizer: {section}")
    with pytest.raises(RecipeError, match=said):
        check(RecipeDocument.parse(text, "tiny.yaml"))


def test_vectors_and_init_are_one_too_many(tmp_path: Path) -> None:
    text = tiny.TEXT.replace("{kind: words}", "{kind: words, vectors: some.txt}")
    with pytest.raises(RecipeError, match=r"vectors.*init"):
        check(RecipeDocument.parse(text, "tiny.yaml").overridden([f"init={tmp_path}"]))
