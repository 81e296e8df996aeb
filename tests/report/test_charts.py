"""Charts, by the numbers in them."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch

from regard.evaluate.metrics import metric
from regard.explain.panel import GraphPanel, Panel, TextPanel
from regard.report.attention import panel_figure
from regard.report.bars import Bar, bars_figure
from regard.report.breakdown import by_length, histogram, length_bins, wilson
from regard.report.curves import Curve, Point, curves_figure
from regard.report.dots import Dots, dots_figure
from regard.report.heat_map import heat_map
from regard.report.scale import Scale
from tests.report.pages import Page


def well_made(html: str | None) -> Page:
    assert html is not None
    page = Page(html)
    assert page.problems == []
    return page


def test_a_curve_has_a_dot_per_point_that_says_its_value() -> None:
    points = tuple(Point(step, value) for step, value in ((5, 8.0), (10, 2.0), (15, math.inf)))
    html = curves_figure([Curve("valid", points)], of="loss", marked=(10.0, "kept"))
    page = well_made(html)
    assert html is not None
    assert re.findall(r"<title>(.+?)</title>", html) == ["valid, 5: 8", "valid, 10: 2"]
    assert "1 values that are not finite are left out." in page.text
    assert "kept" in page.text
    assert curves_figure([Curve("valid", points[2:])], of="loss") is None


def test_places_are_those_of_the_scale() -> None:
    html = curves_figure([Curve("a", (Point(0, 0.0), Point(10, 1.0)))], of="x")
    assert html is not None
    (first, last) = [tuple(map(float, found)) for found in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', html)]
    assert first[1] == 210.0  # the height less what stands below
    assert last == (406.0, 12.0)


def test_far_apart_values_are_on_a_logarithmic_scale() -> None:
    scale = Scale.over([0.01, 5.0], 0, 300)
    assert scale.logarithmic
    assert [round(scale.place(value)) for value in (0.01, 0.1, 1.0, 10.0)] == [0, 100, 200, 300]
    assert not Scale.over([0.0, 5.0], 0, 300).logarithmic
    assert Scale.over([-0.2, 1.1], 0, 1).ticks() == [-0.5, 0.0, 0.5, 1.0, 1.5]
    assert Scale.over([3.0, 3.0], 0, 1).low < 3 < Scale.over([3.0, 3.0], 0, 1).high


def test_a_band_is_around_the_mean() -> None:
    html = curves_figure([Curve("a", (Point(0, 0.5, 0.1), Point(1, 0.7, 0.2)))], of="x")
    assert html is not None
    assert 'class="band"' in html
    assert "0.7 ± 0.2" in html


def test_bars_say_value_interval_and_count() -> None:
    html = bars_figure([Bar("1–2", 0.5, 7, 0.25, 0.75)], of="F1", along="length", counted="texts", title="F1 by length")
    page = well_made(html)
    assert "1–2: 0.5 [0.25 to 0.75], 7 texts" in html
    assert "0.25 to 0.75" in page.text


def test_a_heat_map_has_a_cell_per_weight_that_counts() -> None:
    html = heat_map([[1.0, 0.0], [0.5, -0.25]], ["a", "<b>"], ["x", "\u05d0"], "weights")
    assert well_made(html)
    strengths = re.findall(r'class="(cell[^"]*)" fill-opacity="([\d.]+)"', html)
    assert strengths == [("cell", "1.000"), ("cell", "0.500"), ("cell below", "0.250")]
    assert "&lt;b&gt;, x: 0.5" in html
    assert "\u2068\u05d0\u2069" in html


def test_panels_of_all_kinds_are_figures() -> None:
    plain = Panel("a → b", torch.eye(3), "word", "reads", ("p", "q", "r"), ("x", "y", "z"))
    assert "p x 1.00, y 0.00, z 0.00" in well_made(panel_figure(plain)).text
    assert "<b>" not in panel_figure(plain, said={"a b"})
    lines = TextPanel("text", torch.tensor([[0.2, 0.8]]), words=(("a", "gem"),), line_weights=(1.0,))
    assert "gem" in well_made(panel_figure(lines)).text
    nodes = GraphPanel(
        "n", torch.eye(2), rows=("u", "v"), places=torch.tensor([[0.0, 0.0], [1.0, 1.0]]), groups=("k", "")
    )
    assert {"u", "v", "k"} <= set(well_made(panel_figure(nodes)).text.split())


def test_a_metric_by_length_is_that_of_its_examples() -> None:
    texts = ["a"] * 30
    references = ["a"] * 15 + ["b"] * 15
    tally = metric("exact_match").count(texts, references)
    bars = by_length(tally, [3] * 15 + [7] * 15)
    assert [(bar.name, bar.value, bar.count) for bar in bars] == [("3", 1.0, 15), ("7", 0.0, 15)]
    assert by_length(tally, [3] * 30) == []


def test_bins_cover_all_lengths() -> None:
    lengths = np.random.default_rng(0).integers(1, 90, 500).tolist()
    bins = length_bins(lengths)
    assert sum(low <= length <= high for low, high in bins for length in lengths) == 500
    assert sum(bar.count for bar in histogram(np.array(lengths))) == 500
    assert wilson(0, 10)[0] == 0.0
    assert wilson(10, 10)[1] == pytest.approx(1.0)


def test_dots_are_at_their_values() -> None:
    html = dots_figure([Dots("a", (0.0, 1.0)), Dots("b", ())], of="F1")
    assert well_made(html)
    assert html is not None
    assert html.count("<circle") == 2
    assert dots_figure([Dots("b", ())], of="F1") is None
