"""A run of so many minutes is a run of so many updates, counted once."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from regard.recipes.errors import RecipeError
from regard.runs.budget import Budget
from regard.runs.run import Run
from regard.train import speed as module
from regard.train.dry_run import plan
from regard.train.screen import Screen
from regard.train.speed import Speed, advice, measured_speed
from regard.train.trainer import Trainer
from tests.train.tiny import metrics, recipe, train

COSINE = "train.schedule={name: cosine}"
EVERY = ("train.log_every=1", "train.valid_every=4", "train.checkpoint_every=4", COSINE)


@pytest.fixture
def _twelve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was measured, twelve updates fit."""
    monkeypatch.setattr(Speed, "within", lambda self, seconds, valid_every: 12)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.001, 10), st.floats(0, 100), st.floats(0, 100), st.floats(0.1, 1000), st.integers(1, 50))
def test_as_many_updates_as_fit(update: float, validation: float, final: float, seconds: float, every: int) -> None:
    speed = Speed(update, validation, final)
    steps = speed.within(seconds, every)
    assert steps == 1 or speed.total(steps, every) <= seconds * (1 + 1e-9)
    assert speed.total(steps + every + 1, every) > seconds * (1 - 1e-9)


def test_measuring_leaves_no_trace(tmp_path: Path) -> None:
    trainer = Trainer(recipe(COSINE), Run(tmp_path / "measured"), screen=Screen(quiet=True))
    before = {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}
    speed = measured_speed(trainer.updater, 0.05)
    assert min(speed.update, speed.validation) > 0
    assert speed.final == pytest.approx(2 * speed.validation)  # valid and test are of the same length
    assert all(torch.equal(before[name], tensor) for name, tensor in trainer.model.state_dict().items())
    trainer.fit()
    train(tmp_path / "plain", COSINE)
    assert metrics(tmp_path / "measured") == metrics(tmp_path / "plain")


@pytest.mark.usefixtures("_twelve")
def test_a_run_of_minutes_is_one_of_steps_stopped_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minutes = ("train.steps=null", "train.minutes=0.001", *EVERY)
    outcome = train(tmp_path / "minutes", *minutes)
    assert (outcome.reason, outcome.progress.step) == ("finished", 12)
    train(tmp_path / "steps", "train.steps=12", *EVERY)
    assert metrics(tmp_path / "minutes") == metrics(tmp_path / "steps")
    assert Budget.of(tmp_path / "minutes") == Budget(0.001, 0, 12)
    assert Run(tmp_path / "minutes").recipe().train.minutes == 0.001

    stopped = Trainer(recipe(*minutes), Run(tmp_path / "stopped"), screen=Screen(quiet=True))
    monkeypatch.setattr(stopped, "_ended", lambda progress: "patience" if progress.step >= 8 else None)
    stopped.fit()
    (tmp_path / "stopped/metrics.jsonl").write_text("".join(metrics(tmp_path / "stopped").splitlines(True)[:-1]))
    monkeypatch.setattr(module, "measured_speed", None)  # which is not asked again
    assert train(tmp_path / "stopped", *minutes).progress.step == 12
    assert metrics(tmp_path / "stopped") == metrics(tmp_path / "steps")
    assert Run(tmp_path / "stopped").updates(recipe(*minutes)) == 12
    longer = train(tmp_path / "stopped", "train.steps=null", "train.minutes=0.0015", *EVERY)
    assert longer.progress.step == 18


@pytest.mark.usefixtures("_twelve")
def test_a_run_that_goes_on_by_minutes_has_them_on_top(tmp_path: Path) -> None:
    train(tmp_path, "train.steps=4", *EVERY)
    assert train(tmp_path, "train.steps=null", "train.minutes=0.001", *EVERY).progress.step == 16


@pytest.mark.usefixtures("_twelve")
def test_what_was_never_trained_is_measured_again(tmp_path: Path) -> None:
    (tmp_path / "budget.json").write_text(json.dumps({"minutes": 0.001, "begun": 0, "steps": 5}))
    assert train(tmp_path, "train.steps=null", "train.minutes=0.001", *EVERY).progress.step == 12


def test_steps_or_minutes_and_the_command_line_has_the_last_word() -> None:
    assert recipe("train.minutes=5").train.steps is None
    assert recipe("train.minutes=5").train.minutes == 5
    for assignments, named in (
        (("train.steps=3", "train.minutes=5"), "minutes"),
        (("train.steps=null",), "steps"),
        (("train.minutes=0",), "train.minutes"),
    ):
        with pytest.raises(RecipeError, match=named):
            recipe(*assignments)


def test_a_dry_run_says_how_long_it_would_take() -> None:
    for assignment, updates in (("train.steps=40", "40 updates"), ("train.minutes=1e-6", "1 updates")):
        shown = Console(width=200, file=io.StringIO())
        for part in plan(recipe(assignment)):
            shown.print(part)
        said = shown.file.getvalue()  # type: ignore[attr-defined]
        assert "time on " in said
        assert updates in said


def test_what_is_left_is_said_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORTH_ANNOUNCING", 0.0)
    screen, said = Screen(), io.StringIO()
    screen.console = Console(file=said, highlight=False, force_terminal=False, width=80)
    train(tmp_path, "train.steps=30", "train.valid_every=25", screen=screen)
    (line,) = [line for line in said.getvalue().splitlines() if "left" in line]
    assert line.startswith("about ")
    assert "10 updates of " in line
    assert "a validation about " in line


def test_a_run_of_hours_has_another_suggested() -> None:
    small = recipe()
    assert advice(small, 60.0) is None
    assert (advice(small, 3e4) or "").endswith("try train.minutes=30")  # its width is 16
    wide = recipe("model={kind: bidirectional, model: {kind: transformer, dim: 256}}")
    assert "model.model.dim=128" in (advice(wide, 3e4) or "")
