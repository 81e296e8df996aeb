"""Sequence-level distillation by commands: an ensemble answers the training texts, and a student learns its answers."""

from __future__ import annotations

from pathlib import Path

import regard
from regard.tasks.splits import examples
from tests.cli.command import asked
from tests.train.tiny import recipe, train


def test_a_student_learns_what_an_ensemble_answers(tmp_path: Path) -> None:
    steps = ("train.steps=20", "train.valid_every=20")
    for seed in (1, 2):
        train(tmp_path / f"teacher{seed}", *steps, f"train.seed={seed}")
    first, second = tmp_path / "teacher1", tmp_path / "teacher2"
    found = examples(recipe(), "train")
    assert found is not None
    texts = [str(example.fields["source"]) for example in found]
    (tmp_path / "train.source").write_text("".join(f"{text}\n" for text in texts))
    answers = tmp_path / "train.answers"
    asked("predict", first, "--ensemble", second, "--file", tmp_path / "train.source", "--output", answers)
    lines = answers.read_text().splitlines()
    together = regard.load(first, second, device="cpu").predict(texts)
    assert lines == [one.text for one in together]
    right = [str(example.fields["target"]) for example in found]
    assert lines != right  # teachers of 20 updates are often wrong, and the student learns their mistakes
    files = "{source: train.source, target: train.answers}"
    data = f"data={{format: pairs, root: {tmp_path}, train: {files}, valid: {files}}}"
    outcome = train(tmp_path / "student", data, "train.steps=60", "train.valid_every=60")
    assert outcome.valid is not None
    learned = [one.text for one in regard.load(tmp_path / "student", device="cpu").predict(texts)]
    agreement = sum(mine == theirs for mine, theirs in zip(learned, lines, strict=True))
    truth = sum(mine == theirs for mine, theirs in zip(learned, right, strict=True))
    assert outcome.valid.scores["exact_match"].value == agreement / len(texts)
    assert agreement > truth
