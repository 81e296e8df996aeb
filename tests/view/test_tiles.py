"""Maps as tiles: what is kept exactly, what within half a step, and how much is held at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import regard
from regard.explain.lazy_rows import as_lazy_rows
from regard.explain.panel import Panel
from regard.view import payload, tiles
from regard.view.blobs import Blobs, sparse_pixels
from regard.view.document import Document
from regard.view.precision import affordable
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
    where = np.frombuffer(page.bytes(columns), "<u2").reshape(-1, count)
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


def test_rows_are_read_some_at_a_time() -> None:
    asked: list[int] = []

    def rows(first: int, last: int) -> NDArray[np.float32]:
        asked.append(last - first)
        return np.eye(3008, dtype=np.float32)[first:last]

    page = Page(regard.view.heatmap(regard.view.LazyRows((3008, 3008), rows)).html())
    (kept,) = page.panel["maps"]
    assert (kept["steps"], kept["floor"], kept["power"]) == (255, 0, 0)
    assert np.array_equal(page.level(kept, 0), np.eye(3008, dtype=np.float32))
    assert max(asked) * 3008 <= 1 << 22
    assert sum(asked) == 24 * 64 + 3008 + 200  # a sample, the tiles, and 200 rows of the table


def test_what_is_no_table_is_named() -> None:
    with pytest.raises(ValueError, match=r"\[rows, columns\]; got \[2, 3, 5\]"):
        regard.view.heatmap(torch.zeros(2, 3, 5))
    with pytest.raises(ValueError, match="row 1, column 2 is nan"):
        regard.view.heatmap(torch.tensor([[0.0] * 3, [0.0, 1.0, float("nan")]]))
    wrong = regard.view.heatmap(regard.view.LazyRows((4, 3), lambda first, last: torch.zeros(1, 3)))
    with pytest.raises(ValueError, match=r"must be \[4, 3\]; got \[1, 3\]"):
        wrong.html()


@pytest.mark.parametrize(
    ("most", "shades", "floor", "power"),
    [(3e5, 255, 0.0, 0), (1.5e5, 63, 0.0, 0), (1e5, 31, 0.0, 0), (6e4, 31, 0.005, 0), (3.9e4, 31, 0.0, 1)],
)
def test_what_a_page_may_be_decides_the_precision(most: float, shades: int, floor: float, power: int) -> None:
    maps = [as_lazy_rows(torch.from_numpy(peaked(300, 170, seed))) for seed in range(5)]
    how = affordable(maps, tiles.Tiling(0.5, exact=False), most)
    assert (how.shades, how.floor, how.power) == (shades, 0.5 * floor, power)
    blobs = Blobs()
    kept = [tiles.tiled(one, how, blobs) for one in maps]
    size = sum(place[1] - place[0] for one in kept for level in one["levels"] for place in level["tiles"])
    assert size <= 1.1 * most  # which a sample told


def test_weights_below_the_floor_are_left_out_and_shared_cells_show_the_largest() -> None:
    weights = peaked(61, 47)
    blobs = Blobs()
    how = tiles.Tiling(float(weights.max()), exact=False, shades=31, floor=0.02, power=1)
    page = Page(regard.view.heatmap([[1.0]]).html())
    kept = tiles.tiled(as_lazy_rows(torch.from_numpy(weights)), how, blobs)
    page.blobs = blobs.text()
    found = page.level(kept, 0)
    strongest = np.zeros((62, 48), np.float32)
    strongest[:61, :47] = weights
    strongest = strongest.reshape(31, 2, 24, 2).max((1, 3))
    assert (found[strongest < 0.02] == 0).all()
    kept_ones = strongest >= 0.02
    assert 0.1 < kept_ones.mean() < 0.9
    assert np.abs(np.sqrt(found) - np.sqrt(strongest))[kept_ones].max() <= 0.5 / 31 * how.full**0.5 + 1e-6


@pytest.mark.parametrize("share", [0.0, 0.003, 0.2, 0.9])
@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_a_tile_has_the_same_pixels_in_either_form(share: float, kind: type[np.integer[Any]]) -> None:
    generator = np.random.default_rng(0)
    pixels = (generator.integers(-9, 9, (37, 211)) * (generator.random((37, 211)) < share)).astype(kind)
    gaps, cells = (np.frombuffer(one, np.uint8) for one in sparse_pixels(pixels))
    found = np.zeros(pixels.size, np.uint8)
    found[np.cumsum(gaps, dtype=np.int64) - 1] = cells
    assert np.array_equal(found.view(kind).reshape(pixels.shape), pixels)


def test_many_maps_keep_as_many_exact_weights_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "EXACT_CELLS", 1000)
    weights = torch.from_numpy(peaked(22, 11)).reshape(2, 1, 11, 11)
    page = Page(regard.view.heads(torch.cat([weights] * 7, 1)).html())
    kept = page.panel["maps"][0]
    assert kept["steps"] == 255
    found = page.level(kept, 0)
    assert np.abs(np.sqrt(found) - np.sqrt(weights[0, 0].numpy())).max() <= 0.5 / 255 * kept["full"] ** 0.5 + 1e-6
    assert kept["largest"][0] == 8
