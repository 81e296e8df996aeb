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
    assert (tmp_path / "hops.html").read_text(encoding="utf-8").count('"hop ') >= 4
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
    asked("train", "sick_siamese", f"data.root={tmp_path}", "--runs", str(tmp_path), *small, *further)
    assert asked("predict", str(tmp_path / "sick_siamese"), "A dog runs\tA dog moves") in ("ENTAILMENT\n", "NEUTRAL\n")


@pytest.mark.parametrize("model", ["decomposable_attention", "esim"])
def test_texts_that_attend_to_each_other(model: str, tmp_path: Path) -> None:
    sick(tmp_path)
    small = ("tokenizer.vectors=null", "train.steps=2", "train.valid_every=2", "model.exact_match=true")
    chosen = f"model={{kind: {model}, hidden_dim: 8, encoder: {{kind: words, embedding_dim: 4, hidden_dim: 6}}}}"
    asked("train", "sick", f"data.root={tmp_path}", "--runs", str(tmp_path), chosen, *small)
    drawn = asked("predict", str(tmp_path / "sick"), "A dog runs\tA zebu moves", "--alignment")
    named = [line.split()[0] for line in drawn.splitlines() if line.strip() and not line.startswith(" ")]
    assert named[-6:] == ["a", "dog", "runs", "a", "<unk>", "moves"], drawn
    row = json.loads(asked("predict", str(tmp_path / "sick"), "A dog runs\tA zebu moves", "--json", "--alignment"))
    assert [len(weights) for weights in row["alignment"]] == [7] * 7
    asked("view", str(tmp_path / "sick"), "A dog runs\tA dog moves", "--output", str(tmp_path / "pair.html"))
    assert "zebu" not in (tmp_path / "pair.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("recipe", "override", "sentence"),
    [
        ("claims", "model.exact_mach=true", "exact_match"),
        ("claims", "model.comparison=both", "model.comparison is 'both'"),
        ("claims", "model.encoder={kind: text_cnn, windows: []}", "at least one each"),
        ("claims", "data.longest=40", "data.longest is 40"),
        ("claims", "data={format: opinions}", "format 'opinions' has one text, and the model compares two"),
        ("claims", "model={kind: hierarchical}", "'hierarchical' reads one text"),
        ("sentence_opinions", "model.exact_match=true", "exact_match is of models that compare two texts"),
        ("sentence_opinions", "model.comparison=signed", "leave pair_dim and comparison out"),
        ("pairs_opinions", "model.comparison=signed", "pair_dim and comparison are two ways"),
        ("pairs_opinions", "data.pairs=false", "format 'opinions' has one text, and the model compares two"),
        ("pairs_opinions", "model.pair_dim=null", "pairs are two texts, for labels by a model that reads two"),
        ("sentence_opinions", "model.pair_dim=4", "format 'opinions' has one text, and the model compares two"),
        ("sick_siamese", "data.source=sentence_A", "source 'sentence_A' has one text, and the model compares two"),
        (
            "sick_siamese",
            "model.pair_dim=null",
            "source has one column, or two for labels by a model that reads two texts",
        ),
        ("sick_siamese", "model.pair_dim=0", "model.pair_dim is 0: input should be greater than or equal to 1"),
        ("sentence_opinions", "model.penalty=-1", "model.penalty is -1: input should be greater than or equal to 0"),
        ("sentence_opinions", "model.pruned=3", "model.pruned is 3: input should be a valid list"),
    ],
)
def test_wrong_recipes_are_one_sentence(recipe: str, override: str, sentence: str, tmp_path: Path) -> None:
    sick(tmp_path)
    root = [f"data.root={tmp_path}"] if recipe == "sick_siamese" else []
    assert sentence in refused("train", recipe, override, *root, "--runs", str(tmp_path))
