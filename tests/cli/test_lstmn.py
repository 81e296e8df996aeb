"""LSTMN from the command line: train, predict, evaluate, view, for labels, texts and translations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from regard.explain.panel import Panel
from tests.cli.command import asked, refused

SHORT = ("train.steps=3", "train.valid_every=3", "train.batch={sentences: 4}", "evaluate.examples=1")
TEXT = "balen fira gomi"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier, a language model and two translators, trained for a few updates."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "text.txt").write_text("it was the lark , the herald\n" * 20 + "no nightingale\n" * 10)
    (folder / "labels.txt").write_text("1 a gem\n0 far too short\n" * 10)
    sizes = ("data.train_size=40", "data.valid_size=8", "data.test_size=8")
    encoder = "model.encoder={kind: lstmn, embedding_dim: 6, hidden_dim: 7, num_layers: 2}"
    asked("train", "endings", *SHORT, *sizes, encoder, "--runs", folder)
    for recipe in ("sst2_lstmn", "ptb_lstmn"):
        name = "labels.txt" if "sst" in recipe else "text.txt"
        files = [f"data.{split}={folder}/{name}" for split in ("train", "valid", "test")]
        small = () if "sst" in recipe else ("model.embedding_dim=6", "model.hidden_dim=7", "decode={max_length: 3}")
        batch = () if "sst" in recipe else ("train.batch={sentences: 4, window: 5}", "evaluate.rows=2")
        asked("train", recipe, *SHORT, *files, *small, *batch, "--runs", folder)
    for fusion in ("deep", "shallow"):
        model = f"model={{kind: lstmn, embedding_dim: 6, hidden_dim: 7, fusion: {fusion}}}"
        dates = ("data.languages=[en]", "decode.max_length=6", f"run={fusion}")
        asked("train", "dates", *SHORT, *sizes, *dates, model, "--runs", folder)
    return folder


def test_labels_are_said_and_measured(runs: Path) -> None:
    assert asked("predict", runs / "endings", f"{TEXT} fi-").strip() in {
        "ra",
        "len",
        "mi",
        "dos",
        "tun",
        "va",
        "kel",
        "zi",
    }
    assert asked("predict", runs / "sst2_lstmn", "a gem", "--n-best", "2").count("\n") == 2
    measured = json.loads(
        asked("evaluate", runs / "endings", "--data", "shortest=12", "--data", "longest=12", "--json")
    )
    assert 0 <= measured["accuracy"] <= 1


def test_texts_go_on_whatever_way_they_are_read(runs: Path) -> None:
    assert asked("predict", runs / "ptb_lstmn", "it was").startswith("it was")
    alone = json.loads(asked("evaluate", runs / "ptb_lstmn", "--json"))
    assert alone["perplexity"] > 1
    model = regard.load(runs / "ptb_lstmn")
    [found] = model.predict("it was", strategy="beam", beam_size=3)
    again = model.predict(["the", "it was"], strategy="beam", beam_size=3)[1]
    assert (found.text, found.score) == (again.text, pytest.approx(again.score, abs=1e-5))


@pytest.mark.parametrize("fusion", ["deep", "shallow"])
def test_translations_are_searched_for(fusion: str, runs: Path) -> None:
    model, texts = regard.load(runs / fusion), ["3 March 2021", "May 1, 1999", "2 May 1901"]
    together = model.predict(texts, strategy="beam", beam_size=4)
    for text, one in zip(texts, together, strict=True):
        [alone] = model.predict(text, strategy="beam", beam_size=4)
        assert (alone.text, alone.score) == (one.text, pytest.approx(one.score, abs=1e-5))
        assert one.alignment is not None
        assert one.alignment.shape == (len(one.tokens), len(one.source_tokens))
    assert "exact_match" in json.loads(asked("evaluate", runs / fusion, "--json"))


def panels(run: Path, text: str) -> list[Panel]:
    loaded = regard.load(run)
    return loaded.task.panels(loaded.model, text, loaded.search)


def test_tapes_are_drawn(runs: Path, tmp_path: Path) -> None:
    for layer, panel in enumerate(panels(runs / "endings", f"{TEXT} fi-"), start=1):
        assert panel.title.startswith(f"{TEXT} fi- → ")
        assert panel.title.endswith(f", layer {layer}")
        assert panel.rows == panel.columns == ("balen", "fira", "gomi", "fi-")
        assert (panel.values.triu() == 0).all()
        assert panel.values.sum(1).tolist() == pytest.approx([0, 1, 1, 1], abs=1e-5)
    (text,) = panels(runs / "ptb_lstmn", "it was the")
    assert text.rows == ("</s>", "it", "was", "the")
    source, read, said = panels(runs / "deep", "3 March")
    assert source.values.shape[1] == len("3 March") == len(read.values)
    assert said.rows[0] == "<s>"
    assert len(said.rows) == len(said.values)
    assert asked("view", runs / "endings", f"{TEXT} fi-", "--output", tmp_path / "tape.png")
    assert (tmp_path / "tape.png").stat().st_size > 4000


@pytest.mark.parametrize(
    ("recipe", "override", "sentence"),
    [
        ("endings", "data.longest=13", "data.longest"),
        ("endings", "data.shortest=9", "texts of 9 to 8 words: 1 <= shortest <= longest <= 12"),
        ("endings", "model.encoder.kind=lstm", "model.encoder.kind is 'lstm': did you mean lstmn?"),
        ("endings", "task=tag", "model.kind is 'acceptor': of the task tag it can be transducer"),
        ("dates", "model={kind: lstmn, fusion: both}", "model.fusion is 'both': it can be deep, shallow"),
        ("dates", "model={kind: lstmn_lm}", "model.kind is 'lstmn_lm': did you mean lstmn?"),
    ],
)
def test_recipes_that_do_not_fit_are_one_sentence(recipe: str, override: str, sentence: str, tmp_path: Path) -> None:
    assert sentence in refused("train", recipe, override, "--runs", tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
