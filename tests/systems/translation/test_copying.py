"""`model.copy` and `model.coverage` in recipes: words that training never showed are copied."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch

import regard
from tests.cli.command import asked, refused

RECIPE = """\
run: names
data: {format: table, train: train.tsv, valid: test.tsv, test: test.tsv, source: 0, target: 1}
tokenizer: {kind: words, min_frequency: 20}
model: {kind: luong, embedding_dim: 24, hidden_dim: 32, copy: true, coverage: 0.5}
train: {steps: 150, batch: {sentences: 32}, optimizer: {rate: 0.01}, label_smoothing: 0.1, valid_every: 150}
decode: {strategy: beam, beam_size: 3, max_length: 12}
evaluate: {metrics: [exact_match]}
"""
SYLLABLES = ("la", "mi", "to", "ra", "ke", "su", "no", "vi")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Names of three syllables, each too rare for the vocabulary."""
    drawn, path = random.Random(7), tmp_path_factory.mktemp("names")
    for split, size in (("train", 800), ("test", 40)):
        lines = []
        for _ in range(size):
            first, second = ("".join(drawn.choices(SYLLABLES, k=3)).capitalize() for _ in range(2))
            verb = drawn.choice(("meets", "calls", "sees"))
            lines.append(f"{first} {verb} {second} today\tso {second} is the one {first} {verb}\n")
        (path / f"{split}.tsv").write_text("".join(lines))
    (path / "names.yaml").write_text(RECIPE)
    return path


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_unseen_names_are_copied() -> None:
    asked("train", "names.yaml")
    last = json.loads(Path("runs/names/metrics.jsonl").read_text().splitlines()[-1])
    assert last["split"] == "test"
    assert last["exact_match"] > 0.9
    model = regard.load("runs/names")
    (answer,) = model.predict(["Zorro meets Batman today"])
    assert answer.text == "so Batman is the one Zorro meets"
    assert answer.tokens == ("so", "Batman", "is", "the", "one", "Zorro", "meets", "</s>")
    assert torch.as_tensor(answer.alignment).argmax(1)[[1, 5]].tolist() == [2, 0]
    texts = ["Zorro meets Batman today", "", "Ab calls Cd today, she said", "today"]
    together = [one.text for one in model.predict(texts)]
    assert together == [model.predict([text])[0].text for text in texts]
    asked("view", "runs/names", "Zorro meets Batman today", "--output", "view.png")


def test_errors_name_the_line() -> None:
    def why(*options: str) -> str:
        return refused("train", "names.yaml", "run=wrong", *options)

    assert "'bidirectional'" in why("model={kind: bidirectional, model: {kind: luong, copy: true}}")
    assert "'model.copy'" in why("model={kind: seq2seq, copy: true}")
    assert "align is 'hard'" in why("model.attention={align: hard}")
    assert "kind is bpe" in why("tokenizer={kind: bpe, size: 300}")
    assert "coverage" in why("model.coverage=-1")


def test_other_tasks_have_no_source_to_copy_from() -> None:
    assert "model: copy is for the task " in refused("train", "glossary", "run=wrong", "model.copy=true")
