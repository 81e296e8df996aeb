"""Damaged arguments of commands and texts to predict: an answer, or one sentence, within seconds."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import torch

from regard.cli import app
from regard.data.problems import TextError
from regard.predictor import Predictor, load
from tests.cli.command import RUN
from tests.system.mutation import TOKENS, damaged, within
from tests.train.tiny import TEXT, train

SECONDS = 30.0
OPTIONS = {
    "predict": (
        "--json",
        "--alignment",
        "--n-best",
        "--decode",
        "--file",
        "--only",
        "--format",
        "--source",
        "--ensemble",
    ),
    "evaluate": ("--json", "--split", "--decode", "--data", "--against", "--format", "--target"),
    "view": ("--output", "--decode", "--head"),
    "train": ("--runs",),
    "compare": ("--name", "--jobs"),
}
KEYS = ("beam_size", "max_length", "strategy", "temperature", "alpha", "unknown", "max_text", "forbid", "nothing")
VALUES = (
    "1",
    "0",
    "-1",
    "2",
    "1e9",
    "beam",
    "greedy",
    "sample",
    "copy",
    "null",
    "{}",
    "[]",
    "[1]",
    "test",
    "valid",
    "x.svg",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two updates."""
    torch.set_default_device(None)
    folder = tmp_path_factory.mktemp("fuzz") / "tiny"
    train(folder, "train.steps=2", "train.valid_every=2")
    (folder / "recipe.txt").write_text(TEXT)
    return folder


def arguments(random: Random, run: Path) -> list[str]:
    """A command with a few options and arguments, most of them wrong."""
    command = random.choice((*OPTIONS, *OPTIONS, "mechanisms", "recipes", "nothing"))
    first = run if command in ("predict", "evaluate", "view") else run / "recipe.yaml"
    given = [command, str(first) if random.random() < 0.9 else piece(random)]
    if command in ("predict", "view", "train", "compare", "mechanisms", "recipes"):
        given += [piece(random) for _ in range(random.choice((0, 1, 1, 2)))]
    for option in random.choices(OPTIONS.get(command, ("--json",)), k=random.choice((0, 1, 1, 2))):
        value = random.choice((piece(random), random.choice(VALUES), str(run / "metrics.jsonl"), str(run)))
        if option in ("--decode", "--data"):
            value = f"{random.choice((*KEYS, 'test'))}={value}"
        given += [option] if option in ("--json", "--alignment") else [option, value]
    if command in ("train", "compare"):
        given += ["--dry-run"]
    return given


def piece(random: Random) -> str:
    """A text, a token or an assignment, as a shell can hand it over."""
    token = random.choice((*TOKENS, *VALUES, "a b c", "train.steps=1,2", "train.seed=1,2", "model.dropout=0"))
    if random.random() < 0.3:
        token = damaged(random, token.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    return token.replace("\0", "")


def try_command(given: list[str]) -> str | None:
    """Return what is wrong with the end of a command; None if nothing is."""
    with within(SECONDS):
        done = RUN.invoke(app, given)
    if isinstance(done.exception, OSError) and done.exception.filename is not None:
        return None  # `regard.cli.app` says which file, and why
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"{done.exception!r:.300}"
    if done.exit_code not in (0, 1, 2):
        return f"it exits with {done.exit_code}"
    return "it ends with a traceback" if "Traceback" in done.output else None


def fuzz(run: Path, seeds: range) -> None:
    ended = {}
    for seed in seeds:
        given = arguments(Random(seed), run)
        try:
            wrong = try_command(given)
        except TimeoutError as problem:
            wrong = str(problem)
        if wrong is not None:
            ended[seed] = (wrong, [one[:80] for one in given])
    assert not ended


def ask(model: Predictor, seeds: range) -> None:
    """Ask one damaged text for each seed."""
    answered = 0
    for seed in seeds:
        random = Random(seed)
        text = damaged(random, "3 1 4 1 5 größer".encode()).decode("utf-8", "surrogateescape")
        with within(SECONDS):
            try:
                (answer,) = model.predict([text])
            except TextError as problem:
                refusal = str(problem)
            else:
                answered += isinstance(answer.text, str)
                continue
        assert "UTF-8" in refusal or "max_text" in refusal
    assert 0 < answered < len(seeds)


def test_damaged_arguments_end_in_an_answer_or_a_sentence(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz(run, range(20))


def test_damaged_texts_are_answered_or_refused(run: Path) -> None:
    ask(load(run, overrides=["decode.max_text=2000"], device="cpu"), range(60))


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_many_damaged_arguments_end_in_an_answer_or_a_sentence(
    run: Path, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz(run, range(200 * part + 100, 200 * part + 300))


@pytest.mark.long
def test_many_damaged_texts_are_answered_or_refused(run: Path) -> None:
    ask(load(run, overrides=["decode.max_text=2000"], device="cpu"), range(100, 3100))
