"""Two embeddings multiplied, row by row."""

from __future__ import annotations

import pytest
import torch

from regard.nn import PairFactors
from tests.mechanism import assert_close, check_gradients

BATCH, ROWS, COLUMNS, FACTORS = 2, 3, 5, 7


def test_factors_by_hand() -> None:
    layer, (first, second) = PairFactors(ROWS, COLUMNS, factors=FACTORS).double(), torch.randn(2, BATCH, ROWS, COLUMNS)
    factors = layer(first.double(), second.double())
    assert factors.shape == (BATCH, ROWS, FACTORS)
    for text in range(BATCH):
        for row in range(ROWS):
            mine = first[text, row].double() @ layer.first_map[row]
            yours = second[text, row].double() @ layer.second_map[row]
            assert_close(factors[text, row], mine * yours, tolerance=1e-12)


def test_a_state_keeps_its_size_on_the_way_to_the_product() -> None:
    torch.manual_seed(0)
    layer, state = PairFactors(1, 300, factors=400), torch.randn(1, 1, 300)
    mapped = torch.einsum("brc,rck->brk", state, layer.first_map.detach())
    assert float(mapped.std()) == pytest.approx(float(state.std()), rel=0.1)


def test_gradients() -> None:
    layer = PairFactors(ROWS, COLUMNS, factors=FACTORS).double()
    check_gradients(
        lambda first, second, mine, yours: torch.func.functional_call(
            layer, {"first_map": mine, "second_map": yours}, (first, second)
        ),
        torch.randn(BATCH, ROWS, COLUMNS),
        torch.randn(BATCH, ROWS, COLUMNS),
        layer.first_map,
        layer.second_map,
    )


def test_no_factors_are_refused() -> None:
    with pytest.raises(ValueError, match="Factored: factors must be at least 1; got 0"):
        PairFactors(ROWS, COLUMNS, factors=0)
