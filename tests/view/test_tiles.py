"""Maps as tiles: what is kept exactly, what within half a step, and how much is held at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import regard
from regard.explain.panel import Panel
from regard.view import payload, tiles
from regard.view.document import Document
from tests.view.pages import Page


def peaked(rows: int, columns: int, seed: int = 0) -> NDArray[np.float32]:
    """Distributions with some large weights."""
    return torch.softmax(3 * torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)), -1).numpy()


def test_a_small_map_is_there_exactly() -> None:
    weights = torch.from_numpy(peaked(37, 53))
    page = Page(Document("a").add([Panel("a", weights)]).html())
    assert np.array_equal(page.exact(page.panel["maps"][0]), weights.numpy())


@pytest.mark.parametrize("signed", [False, True])
def test_every_weight_of_a_large_map_is_within_half_a_step(signed: bool) -> None:
    weights = peaked(701, 1031)
    if signed:
        weights *= np.sign(np.random.default_rng(0).standard_normal(weights.shape)).astype(np.float32)
    page = Page(regard.view.heatmap(torch.from_numpy(weights)).html())
    (kept,) = page.panel["maps"]
    assert "exact" not in kept
    assert [level["rows"] for level in kept["levels"]] == [701, 351, 176]
    found = page.level(kept, 0)
    step = 1 / (127 if signed else 255)
    bound = step * np.sqrt(np.abs(weights) * kept["full"]) + step**2 / 4 * kept["full"] + 1e-7
    assert (np.abs(found - weights) <= bound).all()
    count, columns, values = kept["largest"]
    where = np.frombuffer(page.bytes(columns), "<i4").reshape(-1, count)
    what = np.frombuffer(page.bytes(values), "<f4").reshape(-1, count)
    assert np.array_equal(what, np.take_along_axis(weights, where, 1))  # exact
    assert np.array_equal(np.abs(what[:, 0]), np.abs(weights).max(1))


def test_a_level_shows_the_strongest_weight_below_it() -> None:
    weights = np.zeros((1500, 600), np.float32)
    weights[1499, 599] = 1.0
    weights[3, 5] = 0.25
    page = Page(regard.view.heatmap(torch.from_numpy(weights)).html())
    (kept,) = page.panel["maps"]
    coarsest = page.level(kept, len(kept["levels"]) - 1)
    assert coarsest.shape == (375, 150)
    assert coarsest[374, 149] == 1.0
    assert coarsest[0, 1] == pytest.approx(0.25, abs=0.002)
    assert np.count_nonzero(coarsest) == 2


def test_rows_are_read_some_at_a_time_and_a_map_too_large_begins_coarser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "MOST_CELLS", 700 * 700)
    asked: list[int] = []

    def rows(first: int, last: int) -> NDArray[np.float32]:
        asked.append(last - first)
        return np.eye(5000, dtype=np.float32)[first:last]

    page = Page(regard.view.heatmap(regard.view.LazyRows((5000, 5000), rows)).html())
    (kept,) = page.panel["maps"]
    assert kept["power"] == 3
    assert kept["levels"][0]["rows"] == 625
    assert np.array_equal(page.level(kept, 0), np.eye(625, dtype=np.float32))
    assert max(asked) * 5000 <= 1 << 22
    assert sum(asked) == 5000 + 200  # once for the tiles; the table reads its first 200


def test_what_is_no_table_is_named() -> None:
    with pytest.raises(ValueError, match=r"\[rows, columns\]; got \[2, 3, 5\]"):
        regard.view.heatmap(torch.zeros(2, 3, 5))
    with pytest.raises(ValueError, match="row 1, column 2 is nan"):
        regard.view.heatmap(torch.tensor([[0.0] * 3, [0.0, 1.0, float("nan")]]))
    wrong = regard.view.heatmap(regard.view.LazyRows((4, 3), lambda first, last: torch.zeros(1, 3)))
    with pytest.raises(ValueError, match=r"must be \[4, 3\]; got \[1, 3\]"):
        wrong.html()


def test_very_many_maps_have_five_bits_and_the_largest_weight_of_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "FINE_CELLS", 1000)
    monkeypatch.setattr(payload, "EXACT_CELLS", 1000)
    weights = torch.from_numpy(peaked(22, 11)).reshape(2, 1, 11, 11)
    page = Page(regard.view.heads(torch.cat([weights] * 7, 1)).html())
    kept = page.panel["maps"][0]
    assert kept["steps"] == 31
    found = page.level(kept, 0)
    assert np.abs(np.sqrt(found) - np.sqrt(weights[0, 0].numpy())).max() <= 0.5 / 31 * kept["full"] ** 0.5 + 1e-6
    assert kept["largest"][0] == 8
