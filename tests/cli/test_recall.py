"""A glossary from the commands: trained, asked over one memory and another, stored, measured and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.systems.recall.glossary import Glossary
from tests.cli.command import asked, refused

SMALL = ("data.words=16", "data.train_size=128", "data.valid_size=12", "data.test_size=12", "train.batch.sentences=16")
TINY = ("model.dim=16", "model.hidden_dim=16", "model.num_heads=2", "train.steps=6", "train.valid_every=3")
FACTS = [str(example.fields["fact"]) for example in Glossary(size=16, words=16)]
WORD = FACTS[0].split()[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recall")
    assert "glossary: finished" in asked("train", "glossary", "--runs", folder, *SMALL, *TINY)
    (folder / "facts.txt").write_text("\n".join(FACTS) + "\n")
    return folder / "glossary"


def test_what_was_looked_at_is_drawn(run: Path, tmp_path: Path) -> None:
    memory = f"memory={run.parent}/facts.txt"
    shown = asked("predict", run, WORD, "--decode", memory, "--alignment").splitlines()
    assert sum(any(fact in line for fact in FACTS) for line in shown) == 5
    row = json.loads(asked("predict", run, WORD, "--decode", memory, "--json", "--alignment"))
    assert len(row["source_tokens"]) == len(row["alignment"][0]) == 5
    asked("view", run, WORD, "--decode", memory, "--output", tmp_path / "memory.png")
    assert (tmp_path / "memory.png").stat().st_size > 1000


def test_stored_states_answer_like_their_texts(run: Path, tmp_path: Path) -> None:
    states = tmp_path / "facts.safetensors"
    said = asked("remember", run, run.parent / "facts.txt", "--output", states)
    assert "16 texts, 48 states of width 16" in said
    rows = [
        asked("predict", run, WORD, "--json", "--decode", f"memory={file}", "--decode", "strategy=beam")
        for file in (run.parent / "facts.txt", states)
    ]
    assert rows[0] == rows[1]


def test_it_is_measured_over_its_own_facts_or_others(run: Path) -> None:
    own, other = (
        json.loads(asked("evaluate", run, "--json", *more))
        for more in ((), ("--decode", f"memory={run.parent}/facts.txt"))
    )
    assert own["exact_match"] <= 1.0
    assert own["loss"] != other["loss"]


def test_two_runs_are_compared_over_one_memory(run: Path, tmp_path: Path) -> None:
    asked("train", "glossary", "--runs", tmp_path, *SMALL, *TINY, "train.seed=2", "run=other")
    for more in ((), ("--decode", f"memory={run.parent}/facts.txt")):
        row = json.loads(asked("evaluate", run, "--json", "--against", tmp_path / "other", *more))
        assert set(row["against"]) == {"exact_match"}


def test_a_memory_that_is_not_utf8_is_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("caf\u00e9 is a place\n".encode("latin-1"))
    said = refused("predict", run, WORD, "--decode", f"memory={tmp_path}/latin.txt")
    assert "latin.txt:1: not UTF-8; convert it with iconv -t utf-8" in said


def test_own_data_in_three_columns(tmp_path: Path) -> None:
    rows = [f"{fact.split()[0]}\t{fact}\t{' '.join(fact.split()[1:])}" for fact in FACTS * 2]
    (tmp_path / "asked.tsv").write_text("\n".join(rows) + "\n")
    data = (
        f"data={{format: table, train: {tmp_path}/asked.tsv, valid: {tmp_path}/asked.tsv, source: [0, 1], target: 2}}"
    )
    asked("train", "glossary", "--runs", tmp_path, data, *TINY)
    one = data.replace("[0, 1]", "0")
    assert "source has two columns, what is asked and the fact that answers it" in refused("train", "glossary", one)


def test_what_is_wrong_is_one_sentence(run: Path, tmp_path: Path) -> None:
    assert "name a file of texts: --decode memory=FILE" in refused("predict", run, WORD)
    (tmp_path / "none.txt").write_text("\n")
    problem = refused("predict", run, WORD, "--decode", f"memory={tmp_path}/none.txt")
    assert f"{tmp_path}/none.txt: there is nothing to remember" in problem
    assert "nowhere.txt: there is no such file" in refused("predict", run, WORD, "--decode", "memory=nowhere.txt")
    assert "ends in .safetensors" in refused("remember", run, tmp_path / "none.txt", "--output", "a.txt")
    assert "leave other runs out" in refused(
        "predict", run, WORD, "--ensemble", run, "--decode", f"memory={run.parent}/facts.txt"
    )
    assert "coverage is of a source" in refused("train", "glossary", "decode.coverage=0.2")
    assert "decode: memory is for the task 'recall'" in refused("train", "dates", "decode.memory=a.txt")
    assert "would have entries that contradict" in refused("train", "glossary", "data.words=10")
    assert "model.kind is 'transformer': did you mean memory_transf" in refused(
        "train", "glossary", "model.kind=transformer"
    )
    assert "model.kind is 'memory_transformer': did you mean transformer?" in refused(
        "train", "dates", "model={kind: memory_transformer}"
    )
