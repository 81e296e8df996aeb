"""Small models are trained with one thread, unless someone said how many."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.train import threads


def of(parameters: int) -> nn.Module:
    """A model of so many parameters, and many embeddings, which do not count."""
    return nn.Sequential(nn.Embedding(1000, 2000, device="meta"), nn.Linear(1, parameters, bias=False, device="meta"))


@pytest.fixture(autouse=True)
def _four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_ALL", 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def test_small_models_get_one_thread_and_large_ones_all() -> None:
    assert threads.choose(of(threads.SMALL - 1)) == 1
    assert threads.choose(of(threads.SMALL)) == 4


def test_what_was_asked_for_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert threads.choose(of(1)) == 4


def test_a_small_model_before_a_large_one_changes_nothing() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads.choose(of(1)))
        assert threads.choose(of(threads.SMALL)) == 4
    finally:
        torch.set_num_threads(before)
