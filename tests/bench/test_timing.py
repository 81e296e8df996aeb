"""Turns, medians, and what a table makes of them."""

from __future__ import annotations

import time
from unittest.mock import MagicMock

import pytest
import torch

from regard.bench.row import CaseResult, captured_calls
from regard.bench.score_case import ScoreCase, Sizes
from regard.bench.table import summary
from regard.bench.timing import Time, race

CPU = torch.device("cpu")


def test_the_slower_takes_longer() -> None:
    times = race({"slow": lambda: time.sleep(0.006), "fast": lambda: time.sleep(0.001)}, CPU, seconds=0.1)
    assert times["slow"].median > 2 * times["fast"].median >= 0.002


def test_calls_take_turns_and_end_in_time() -> None:
    order: list[str] = []

    def call(name: str) -> None:
        order.append(name)
        time.sleep(0.003)

    race({"a": lambda: call("a"), "b": lambda: call("b")}, CPU, seconds=0.0)
    assert order == [*"aabb", *"ab", *"ab" * 3]  # warm-up, one to see how long it takes, three rounds


def test_on_a_gpu_all_ways_are_replayed_or_none_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a GPU that is not there: what is looked at is the choice."""
    cuda, done = MagicMock(), []
    cuda.graph.return_value.__exit__.return_value = False
    monkeypatch.setattr(torch, "cuda", cuda)
    replays = captured_calls({"ours": lambda: done.append("ours"), "plain": lambda: done.append("plain")})
    assert done == ["ours", "ours", "plain", "plain"]  # once beside, once recorded
    assert replays == dict.fromkeys(("ours", "plain"), cuda.CUDAGraph.return_value.replay)
    calls = iter([None, RuntimeError("operation not permitted")])

    def refused() -> None:
        if (error := next(calls)) is not None:
            raise error

    assert captured_calls({"ours": lambda: None, "plain": refused}) is None


def row(ours: Time, plain: Time) -> CaseResult:
    return CaseResult(ScoreCase("scaled_dot", Sizes(1, 1, 1, 1, 1)), False, {"ours": ours, "plain": plain}, {})


def test_verdicts() -> None:
    rows = [
        row(Time(1.0, 0.1), Time(2.0, 0.1)),
        row(Time(2.0, 0.1), Time(1.0, 0.1)),
        row(Time(1.0, 0.6), Time(2.0, 0.5)),
    ]
    assert [each.verdict("plain") for each in rows] == ["faster", "slower", "open"]
    assert [each.ratios["plain"] for each in rows] == [2.0, 0.5, 2.0]
    assert summary(rows) == "plain: 1 faster, 1 slower, 1 within the spread"
