"""Rows, top k, entropy and coverage of a read whose weights were never made: exact, in little memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.ops import Attended, additive_attention, scaled_dot_attention
from tests.mechanism import assert_close
from tests.ops.test_banded import Largest

LENGTH, WIDTH = 160, 4
MASK = Mask.padding([LENGTH, 0]) & Mask.causal()
Read = Callable[[Tensor], Attended]


def additive(impl: str) -> Read:
    return lambda x: additive_attention(x, x, x, torch.linspace(-1, 1, WIDTH).to(x).unsqueeze(0), MASK, impl=impl)


def scaled_dot(impl: str) -> Read:
    return lambda x: scaled_dot_attention(x, x, x, MASK, impl=impl)


PAIRS = [
    pytest.param(additive("blocked"), additive("reference"), id="additive"),
    pytest.param(scaled_dot("sdpa"), scaled_dot("reference"), id="scaled_dot"),
]


@pytest.fixture
def inputs() -> Tensor:
    return torch.randn(2, 1, LENGTH, WIDTH, dtype=torch.float64)


@pytest.mark.parametrize(("fused", "plain"), PAIRS)
def test_they_equal_those_of_the_full_matrix(
    fused: Read, plain: Read, inputs: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.ops.weights._TILE", 7 * 2 * LENGTH)
    out, weights = fused(inputs), plain(inputs).weights()
    assert_close(out.weights(rows=[3, -1]), weights[:, :, [3, -1]], tolerance=1e-12)
    assert_close(out.entropy(), -torch.xlogy(weights, weights).sum(-1), tolerance=1e-12)
    assert_close(out.coverage(), weights.sum(2), tolerance=1e-12)
    assert_close(out.topk(3).weights, weights.topk(3).values, tolerance=1e-12)


@pytest.mark.parametrize(("fused", "plain"), PAIRS)
def test_they_never_hold_the_full_matrix(
    fused: Read, plain: Read, inputs: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 8
    monkeypatch.setattr("regard.ops.weights._TILE", rows * 2 * LENGTH)
    out = fused(inputs)
    for reduce in (out.entropy, out.coverage, lambda: out.topk(3), lambda: out.weights(rows=slice(0, rows))):
        with Largest() as seen:
            reduce()
        assert seen.elements <= rows * 2 * LENGTH * WIDTH
    with Largest() as seen:
        plain(inputs)
    assert seen.elements >= 2 * LENGTH * LENGTH
