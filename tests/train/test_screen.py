"""What a run shows while it runs."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from rich.console import Console
from torch import nn

from regard.data.batching.feed import Feed
from regard.runs.checkpoint import Progress
from regard.train import screen as module
from regard.train.screen import Screen
from tests.train.tiny import recipe


class NoFeed(Feed):
    """A clause, and nothing to eat."""

    after = tokens = batch = None  # type: ignore[assignment]

    def __init__(self, dropped: int = 0) -> None:
        self.dropped = dropped

    def __str__(self) -> str:
        return "7 batches an epoch"


class Clock:
    """Time that passes when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "perf_counter", made)
    return made


def listening(*, terminal: bool = False) -> tuple[Screen, io.StringIO]:
    said = io.StringIO()
    screen = Screen()
    screen.console = Console(
        file=said, highlight=False, force_terminal=terminal, force_interactive=terminal, width=80, color_system=None
    )
    return screen, said


def begun(step: int = 0, *, dropped: int = 0, **settings: object) -> str:
    screen, said = listening()
    screen.begin(recipe(), nn.Linear(2, 3), NoFeed(dropped), Progress(step=step), **settings)  # type: ignore[arg-type]
    screen.end()
    return said.getvalue()


def test_it_says_what_is_trained_and_in_how_many_processes() -> None:
    assert begun() == "tiny: bahdanau, 9 parameters; 7 batches an epoch\n"
    assert begun(processes=2) == "tiny: bahdanau, 9 parameters; 7 batches an epoch; 2 processes\n"
    assert begun(processes=2, sharded=True).endswith("; 2 processes, sharded\n")
    assert begun(dropped=1200).endswith("\nnote: 1,200 examples are longer than a batch may be and were left out\n")


def test_a_run_that_goes_on_is_told_from_one_that_had_ended() -> None:
    assert begun(30).endswith("\ngoing on after step 30\n")
    over = "finished already, after step 40; it is measured again; a larger train.steps goes on from there"
    assert begun(40, ended="finished").splitlines()[1:] == [over]
    assert begun(12, ended="patience").splitlines()[1:] == [
        "out of patience already, after step 12; it is measured again"
    ]


def test_off_a_terminal_there_is_a_line_every_half_minute(clock: Clock) -> None:
    screen, said = listening()
    screen.begin(recipe(), nn.Linear(2, 3), NoFeed(), Progress())
    said.truncate(0)
    said.seek(0)
    for step in range(1, 71):
        clock.now += 1
        screen.stepped(step, 60.0 if step <= 30 else 40.0, 20)
    assert said.getvalue() == "step     30  loss 3.000  20 tokens/s\nstep     60  loss 2.000  20 tokens/s\n"
    screen.validated(70, {"loss": 1.5}, better=True)
    clock.now += 29
    screen.stepped(71, 1.0, 1)
    assert said.getvalue().splitlines()[2:] == ["step     70  loss 1.5  best"]  # half a minute after what was said last


def test_many_validations_in_a_short_time_have_some_lines(clock: Clock) -> None:
    """The first 20 all have one; then one every two seconds, however many there are."""
    screen, said = listening()
    for step in range(1, 101):
        clock.now += 0.1
        screen.validated(step, {"loss": 1.0}, better=True)
    steps = [int(line.split()[1]) for line in said.getvalue().splitlines()]
    assert steps[:20] == list(range(1, 21))
    assert 3 <= len(steps[20:]) <= 5
    assert all(later - sooner >= 20 for sooner, later in pairwise(steps[20:]))


def test_a_line_off_a_terminal_is_never_folded() -> None:
    screen, said = listening()
    screen.notice("a long sentence " * 10)
    assert said.getvalue().count("\n") == 1


def test_on_a_terminal_the_bar_moves_with_every_update(clock: Clock) -> None:
    screen, said = listening(terminal=True)
    screen.begin(recipe("train.log_every=1000"), nn.Linear(2, 3), NoFeed(), Progress(step=2))
    assert screen._bar is not None
    screen._bar.live.auto_refresh = False
    screen.stepped(3, 60.0, 20)
    (task,) = screen._bar.tasks
    assert (task.completed, task.total, task.description) == (3, 40, "")
    clock.now += 2
    screen.stepped(4, 40.0, 20)
    (task,) = screen._bar.tasks
    assert (task.completed, task.description) == (4, "loss 2.500  20 tokens/s")
    screen._bar.refresh()
    assert "4/40 loss 2.500  20 tokens/s" in said.getvalue()
    screen.end()


def test_a_quiet_screen_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    screen = Screen(quiet=True)
    screen.begin(recipe(), nn.Linear(2, 3), NoFeed(3), Progress(step=2))
    screen.stepped(3, 1.0, 1)
    screen.validated(3, {"loss": 1.0}, better=True)
    screen.end()
    assert capfd.readouterr() == ("", "")
