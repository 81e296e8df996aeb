"""The gate of the benchmark: it is green, and it can be red."""

from __future__ import annotations

import pytest
import torch

from benchmarks import recurrent
from regard.train import cuda_graphs


def test_the_gate_is_green() -> None:
    assert recurrent.gate("Bahdanau, GRU")
    assert recurrent.fresh_draws()


def test_a_wrong_gradient_makes_it_red(monkeypatch: pytest.MonkeyPatch) -> None:
    add = torch._foreach_add_
    monkeypatch.setattr(
        cuda_graphs.torch, "_foreach_add_", lambda held, found: add(held, [1.001 * part for part in found])
    )
    assert not recurrent.gate("Bahdanau, GRU")
