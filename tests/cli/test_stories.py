"""Stories from the small world and from files: trained, asked, measured and drawn by the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.systems.answering.world import World
from tests.cli.command import asked, refused

SMALL = (
    "data.train_size=400",
    "data.valid_size=60",
    "data.test_size=60",
    "data.asked=one_fact",
    "data.longest=6",
    "train.optimizer.rate=0.02",
)
STORY = "Ada ran to the attic. Carl walked to the cellar. Where is Ada?"


def babi(path: Path, size: int) -> Path:
    """The small world in the format of bAbI, with capitals and marks."""
    lines = []
    for example in World("one_fact", size=size, longest=6):
        told = example.fields["story"]
        lines += [f"{number} {sentence}." for number, sentence in enumerate(told, start=1)]
        lines.append(f"{len(told) + 1} {str(example.fields['question']).capitalize()}? \t{example.fields['answer']}\t1")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("stories")
    short = ("train.steps=200", "train.valid_every=100", "model.num_hops=2", "model.linear_start=false")
    output = asked("train", "stories", "--runs", str(folder), *SMALL, *short)
    assert "stories: finished" in output
    return str(folder / "stories")


def test_a_question_is_answered_and_its_hops_are_drawn(run: str, tmp_path: Path) -> None:
    picture = tmp_path / "hops.png"
    head, hops, first, second, *_ = asked("predict", run, STORY, "--alignment").splitlines()
    assert head == "attic"
    assert hops.split() == ["1", "2"]
    assert first.startswith("Ada ran to the attic ")
    assert second.startswith("Carl walked to the cellar")
    assert "█" in first
    assert "█" not in second
    asked("view", run, STORY, "--output", str(picture))
    assert picture.stat().st_size > 1000
    answer = json.loads(asked("predict", run, STORY, "--json", "--alignment"))
    assert answer["source_tokens"] == ["Ada ran to the attic", "Carl walked to the cellar"]
    assert [sum(row) for row in answer["alignment"]] == pytest.approx([1.0, 1.0])
    assert len(asked("predict", run, STORY, "--n-best", "3").splitlines()) == 3
    assert asked("predict", run, "Where is Ada?", "").count("\n") == 2


def test_it_is_measured(run: str) -> None:
    measured = json.loads(asked("evaluate", run, "--json"))
    assert measured["accuracy"] > 0.8
    assert "nats an answer" in asked("evaluate", run, "--split", "valid")


def test_the_recipe_of_babi_reads_files(tmp_path: Path) -> None:
    babi(tmp_path / "qa1_told_train.txt", 80)
    babi(tmp_path / "qa1_told_test.txt", 20)
    where = (f"data.root={tmp_path}", "--runs", str(tmp_path))
    output = asked("train", "babi", *where, "train.steps=4", "train.valid_every=2", "model.memory_size=5")
    assert "stories are longer than the memory (model.memory_size is 5, the longest has 6 sentences)" in output
    assert asked("predict", str(tmp_path / "babi"), STORY).strip()
    assert "all parameters" in asked("train", "babi", *where, "--dry-run", "model.tying=layerwise")


def test_answers_that_training_never_had_are_measured_as_wrong(tmp_path: Path) -> None:
    babi(tmp_path / "qa1_told_train.txt", 40)
    told = babi(tmp_path / "qa1_told_test.txt", 9)
    told.write_text(told.read_text() + "1 Ada left.\n2 Where is Ada?\tnowhere\n3 Who left?\tNobody,Ada\n")
    where, short = (f"data.root={tmp_path}", "--runs", str(tmp_path)), ("train.steps=4", "train.valid_every=2")
    assert "finished" in asked("train", "babi", *where, *short)
    assert json.loads(asked("evaluate", str(tmp_path / "babi"), "--json"))["accuracy"] <= 9 / 11
    told.write_text("1 Ada left.\n2 Where is Ada?\tnowhere\n")
    assert "no token of the evaluation data is in the vocabulary" in refused("evaluate", str(tmp_path / "babi"))


def test_networks_of_other_hops_answer_together(run: str, tmp_path: Path) -> None:
    short = ("train.steps=2", "train.valid_every=2", "model.num_hops=1", "model.linear_start=false")
    asked("train", "stories", "--runs", str(tmp_path), *SMALL, *short)
    both = ("--ensemble", str(tmp_path / "stories"))
    assert asked("predict", run, STORY, *both).strip()
    assert json.loads(asked("predict", run, STORY, *both, "--json", "--alignment")).get("alignment") is None


def test_a_question_in_other_words_is_noted(run: str) -> None:
    assert "note: no word of 'Qui est là' is in the vocabulary" in asked("predict", run, "Qui est là ?", STORY)


def test_what_is_wrong_is_one_sentence(run: str, tmp_path: Path) -> None:
    path = babi(tmp_path / "qa1_told_train.txt", 30)
    babi(tmp_path / "qa1_told_test.txt", 20)
    where = (f"data.root={tmp_path}", "--runs", str(tmp_path))
    assert "there is no file qa7_*_train.txt" in refused("train", "babi", *where, "data.train=qa7_*_train.txt")
    assert "an answer is one word, so kind is 'words'" in refused("train", "stories", "tokenizer.kind=bpe")
    assert "data.format is 'digits': it can be stories" in refused("train", "stories", "data={format: digits}")
    assert "a search is for the task '" in refused("train", "stories", "decode.beam_size=3")
    path.write_text("1 Ada left.\n3 Where is Ada?\tattic\n", encoding="utf-8")
    assert f"{path}:2: the line has the number 3 behind 1" in refused("train", "babi", *where)
    assert "attends to nothing that could be drawn" in refused("view", run, "Where is Ada?", "--output", "a.png")
