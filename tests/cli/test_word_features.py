"""Taggers that read a feature of each word beside it, by the commands and the model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import regard
from regard.models import RecurrentEncoder
from regard.systems.tagging.transducer import Transducer
from tests.cli.command import RUN, app, asked, refused
from tests.mechanism import assert_close

RECIPE = """\
run: mine
task: tag
data: {format: columns, train: tags.txt, split: {valid: 0.2, test: 0.2}, source: [0, 1], target: 2}
tokenizer: {kind: words}
model: {kind: transducer, encoder: {embedding_dim: 4, hidden_dim: 8, feature_dim: 5}}
train: {steps: 40, batch: {sentences: 8}, optimizer: {rate: 0.05}, valid_every: 40}
evaluate: {metrics: [accuracy]}
"""


def written(folder: Path) -> None:
    """The feature alone decides the tag; words say nothing."""
    rows = [[(f"w{number * 7 % 11}{place}", (number >> place) % 3) for place in range(4)] for number in range(50)]
    lines = ["".join(f"{word} F{kind} T{kind}\n" for word, kind in row) for row in rows]
    (folder / "tags.txt").write_text("\n".join(lines))
    (folder / "mine.yaml").write_text(RECIPE)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("features")
    written(folder)
    done = RUN.invoke(app, ["train", str(folder / "mine.yaml"), "--runs", str(folder), f"data.root={folder}"])
    assert done.exit_code == 0, done.output
    return folder / "mine"


def test_tags_follow_the_features(run: Path) -> None:
    assert json.loads(asked("evaluate", run, "--json"))["accuracy"] == 1.0
    assert asked("predict", run, "new words here\tF2 F0 F1") == "T2 T0 T1\n"
    model = regard.load(run)
    (answer,) = model.predict({"text": ["new", "words"], "features": ["F1", "F9"]})
    assert (answer.tokens[0], answer.source_tokens) == ("T1", ("new", "words"))  # F9 is unknown, and no error
    assert model.predict(["", "a\tF2"])[1].text == "T2"


def test_files_are_asked_and_measured(run: Path, tmp_path: Path) -> None:
    (tmp_path / "new.conll").write_text("x F1 T1\ny F0 T0\n\nz F2 T2\n")
    assert asked("predict", run, "--file", tmp_path / "new.conll") == "T1 T0\nT2\n"
    assert json.loads(asked("evaluate", run, tmp_path / "new.conll", "--json"))["accuracy"] == 1.0
    rows = [{"text": ["x", "y"], "features": ["F1", "F0"], "tags": ["T1", "T0"]}]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert json.loads(asked("evaluate", run, tmp_path / "new.jsonl", "--json"))["accuracy"] == 1.0


@pytest.mark.parametrize("text", ["two words", "two words\tF1", "two words\t"])
def test_a_word_without_a_feature_is_one_sentence(run: Path, text: str) -> None:
    said = refused("predict", run, text)
    assert "2 words and" in said


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("data.source=0", "model.encoder.feature_dim"),
        ("model.encoder.feature_dim=null", "feature_dim"),
        ("model.encoder.feature_dim=0", "model.encoder.feature_dim"),
        ("data.source=[0, 1, 2]", "source has two columns"),
        ("data.source=[0, 7]", "7"),
    ],
)
def test_recipes_that_do_not_fit_are_one_sentence(override: str, said: str, tmp_path: Path) -> None:
    written(tmp_path)
    arguments = ["train", str(tmp_path / "mine.yaml"), "--runs", str(tmp_path / "runs"), f"data.root={tmp_path}"]
    assert said in refused(*arguments, override)


def test_features_are_of_taggers(tmp_path: Path) -> None:
    recipe = "task: classify\ndata: {format: opinions}\nmodel: {kind: acceptor, encoder: {feature_dim: 3}}\n"
    (tmp_path / "mine.yaml").write_text(f"{recipe}train: {{steps: 1}}\n")
    assert "feature_dim" in refused("train", tmp_path / "mine.yaml", "--runs", tmp_path)


def test_as_many_features_as_words(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "tags.jsonl").write_text('{"w": ["a", "b"], "f": ["F1"], "t": ["T1", "T0"]}\n')
    said = refused(
        *("train", tmp_path / "mine.yaml", "--runs", tmp_path),
        "data={format: jsonl, train: tags.jsonl, valid: tags.jsonl, source: [w, f], target: t}",
        f"data.root={tmp_path}",
    )
    assert "tags.jsonl:1: there are 2 words and 1 features" in said


@pytest.mark.parametrize("reverse", [False, True])
def test_features_stand_beside_their_words(reverse: bool) -> None:
    torch.manual_seed(0)
    encoder = RecurrentEncoder(
        11, embedding_dim=3, hidden_dim=4, reverse=reverse, feature_dim=2, num_features=7
    ).double()
    seen: list[torch.Tensor] = []
    encoder.layers.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    model = Transducer(encoder, 5).double()
    text, lengths = torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([3, 2])
    places = torch.tensor([[True, False, True], [True, True, False]])  # the second piece begins no word
    model(text, lengths, places, features=torch.tensor([[5, 6], [1, 4]]))
    assert encoder.features is not None
    at = torch.tensor([[5, 0, 6], [1, 4, 0]])
    if reverse:
        at = torch.tensor([[6, 0, 5], [4, 1, 0]])
    assert_close(seen[0][:, :, 3:], encoder.features.table(at), tolerance=1e-12)
    assert seen[0].shape == (2, 3, 5)


def test_the_model_says_that_features_are_missing() -> None:
    with pytest.raises(ValueError, match="feature_dim"):
        RecurrentEncoder(9, embedding_dim=3, hidden_dim=4, feature_dim=2)(torch.ones(1, 2).long())
