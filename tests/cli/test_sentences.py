"""Sentences by several hops, and two sentences compared: trained, asked, measured and drawn by the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from regard.ops import frobenius_penalty
from tests.cli.command import asked, refused

FEW = ("data.words=5", "data.valid_size=20", "data.test_size=40", "train.valid_every=20", "train.optimizer.rate=0.02")
TEXT = "the film was very nopi"


@pytest.fixture(scope="module")
def hops(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hops")
    asked("train", "sentence_opinions", "--runs", str(folder), *FEW, "train.steps=40", "model.penalty=0.5")
    return str(folder / "sentence_opinions")


def test_hops_look_at_words_of_their_own(hops: str) -> None:
    row = json.loads(asked("predict", hops, TEXT, "--json", "--alignment"))
    assert row["text"] in ("good", "bad")
    assert frobenius_penalty(torch.tensor([row["alignment"]])).item() < 1.5  # more than 3 where all four look alike
    drawn = asked("predict", hops, TEXT, "--alignment").splitlines()
    assert [line[:5] for line in drawn[-6:-1]] == ["hop 1", "hop 2", "hop 3", "hop 4", "all  "]
    assert json.loads(asked("evaluate", hops, "--json"))["accuracy"] > 0.8


def test_hops_are_drawn_into_files(hops: str, tmp_path: Path) -> None:
    for name in ("hops.png", "hops.html"):
        assert asked("view", hops, TEXT, "--output", str(tmp_path / name)) == f"{tmp_path / name}\n"
    assert (tmp_path / "hops.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "hops.html").read_text(encoding="utf-8").count("<th>hop ") == 4
    assert ".png, .svg, .pdf, .html" in refused("view", hops, TEXT, "--output", str(tmp_path / "hops.gif"))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("pair")
    asked("train", "pairs_opinions", "--runs", str(folder), *FEW, "data.train_size=60", "train.steps=4")
    return str(folder / "pairs_opinions")


def test_two_sentences_are_asked_in_one_line(pair: str, tmp_path: Path) -> None:
    both = f"{TEXT}\tthe walk was so pazo"
    row = json.loads(asked("predict", pair, both, "--json", "--alignment"))
    assert row["text"] in ("agree", "differ")
    assert row["source_tokens"][5] == "</s>"
    assert [round(sum(hop), 3) for hop in row["alignment"]] == [2.0, 2.0]
    asked("view", pair, both, "--output", str(tmp_path / "pair.png"))
    assert "of two texts with a tab between; this is one" in refused("predict", pair, TEXT)
    assert "accuracy" in asked("evaluate", pair)


def sick(folder: Path) -> None:
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    rows = [head, *["1\tA dog runs\tA dog moves\t4.5\tENTAILMENT", "2\tA dog runs\tA dog sleeps\t3.2\tNEUTRAL"] * 6]
    for name in ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"):
        (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.mark.parametrize("further", [(), ("model.hidden_dim=null", "model.pruned=[3, 2]"), ("model.pooling=max",)])
def test_the_recipe_of_sick_reads_its_columns(further: tuple[str, ...], tmp_path: Path) -> None:
    sick(tmp_path)
    small = ("model.encoder.embedding_dim=6", "model.encoder.hidden_dim=8", "train.steps=2", "train.valid_every=2")
    asked("train", "sick", f"data.root={tmp_path}", "--runs", str(tmp_path), *small, *further)
    assert asked("predict", str(tmp_path / "sick"), "A dog runs\tA dog moves") in ("ENTAILMENT\n", "NEUTRAL\n")


@pytest.mark.parametrize(
    ("recipe", "override", "sentence"),
    [
        ("pairs_opinions", "data.pairs=false", "format 'opinions' has one text, and the model compares two"),
        ("pairs_opinions", "model.pair_dim=null", "pairs are two texts, for labels by a model that reads two"),
        ("sentence_opinions", "model.pair_dim=4", "format 'opinions' has one text, and the model compares two"),
        ("sick", "data.source=sentence_A", "source 'sentence_A' has one text, and the model compares two"),
        ("sick", "model.pair_dim=null", "source has one column, or two for labels by a model that reads two texts"),
        ("sick", "model.pair_dim=0", "model.pair_dim is 0: input should be greater than or equal to 1"),
        ("sentence_opinions", "model.penalty=-1", "model.penalty is -1: input should be greater than or equal to 0"),
        ("sentence_opinions", "model.pruned=3", "model.pruned is 3: input should be a valid list"),
    ],
)
def test_wrong_recipes_are_one_sentence(recipe: str, override: str, sentence: str, tmp_path: Path) -> None:
    sick(tmp_path)
    root = [f"data.root={tmp_path}"] if recipe == "sick" else []
    assert sentence in refused("train", recipe, override, *root, "--runs", str(tmp_path))
