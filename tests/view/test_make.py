"""Views made of tensors and labels, of captures and of models."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import regard
from regard.explain.panel import HeadsPanel, Panel, StreamedPanel
from tests.mechanism import assert_close

NAMES = ["a", "b", "c", "d", "e"]


def test_heads_are_what_was_given_with_their_mean() -> None:
    weights = torch.rand(2, 3, 5, 7).softmax(-1)
    (panel,) = regard.view.heads(weights, NAMES, list("tuvwxyz")).panels
    assert isinstance(panel, HeadsPanel)
    assert torch.equal(panel.weights, weights)
    assert_close(panel.values, weights.mean((0, 1)))
    assert panel.kind == "cross"


@pytest.mark.parametrize(("weights", "kind"), [(torch.ones(5, 5), "self"), (torch.ones(5, 5).tril(), "causal")])
def test_one_text_reads_itself_and_what_lies_ahead_is_seen_from_the_weights(weights: torch.Tensor, kind: str) -> None:
    for given in (weights, weights[None], [weights[None], weights[None]]):
        (panel,) = regard.view.heads(given, NAMES).panels
        assert isinstance(panel, HeadsPanel)
        assert panel.kind == kind


def test_neurons_are_the_softmax_of_their_products() -> None:
    query, key = torch.randn(3, 5, 4), torch.randn(3, 5, 4)
    view = regard.view.neurons(query, key, NAMES, causal=True)
    (panel,) = view.panels
    assert isinstance(panel, HeadsPanel)
    assert view.style == "neurons"
    expected = nn.functional.scaled_dot_product_attention(query, key, torch.eye(5).expand(3, 5, 5), is_causal=True)
    assert_close(panel.weights[0], expected, tolerance=1e-6)


def test_large_tables_are_read_by_rows_and_others_held() -> None:
    assert type(regard.view.heatmap(np.eye(3)).panels[0]) is Panel
    assert (
        type(regard.view.heatmap(regard.view.LazyRows((3, 3), lambda first, last: torch.eye(3)[first:last])).panels[0])
        is StreamedPanel
    )
    weights = regard.nn.Attention(regard.nn.Dot())(torch.randn(1, 5, 4))
    assert_close(regard.view.heatmap(weights).panels[0].values, weights.weights()[0])


def test_lines_take_one_map_or_several() -> None:
    assert type(regard.view.lines(torch.eye(5), NAMES).panels[0]) is Panel
    assert type(regard.view.lines(torch.eye(5).expand(2, 3, 5, 5), NAMES).panels[0]) is HeadsPanel


def test_names_that_do_not_fit_are_named() -> None:
    with pytest.raises(ValueError, match="3 names of rows for 2"):
        regard.view.heatmap(torch.eye(2), ["a", "b", "c"])
    with pytest.raises(ValueError, match="columns must be a sequence of names, one for each; got one text: 'xy'"):
        regard.view.heatmap(torch.eye(2), ["a", "b"], "xy")
    with pytest.raises(ValueError, match=r"keys must be \[1, 3, 5, D\]; got \[1, 3, 4, 2\]"):
        regard.view.heads(torch.ones(3, 5, 5), NAMES, queries=torch.ones(3, 5, 2), keys=torch.ones(3, 4, 2))
    with pytest.raises(ValueError, match=r"\[layers, heads, queries, keys\]; got \[7\]"):
        regard.view.heads(torch.ones(7))


def test_a_capture_is_a_panel_per_kind_with_its_layers() -> None:
    model = nn.Transformer(8, 2, num_encoder_layers=3, num_decoder_layers=2, dim_feedforward=8, batch_first=True).eval()
    ahead = nn.Transformer.generate_square_subsequent_mask(5)
    with torch.no_grad(), regard.capture(model) as seen:
        model(torch.randn(2, 7, 8), torch.randn(2, 5, 8), tgt_mask=ahead)
    panels = regard.view.captured(seen, NAMES, list("tuvwxyz"), batch=1, title="demo").panels
    found = {panel.title: panel for panel in panels if isinstance(panel, HeadsPanel)}
    assert list(found) == [
        "demo: encoder.layers.self_attn: self-attention",
        "demo: decoder.layers.self_attn: causal self-attention",
        "demo: decoder.layers.multihead_attn: cross-attention",
    ]
    shapes = [tuple(panel.weights.shape) for panel in found.values()]
    assert shapes == [(3, 2, 7, 7), (2, 2, 5, 5), (2, 2, 5, 7)]
    cross = found["demo: decoder.layers.multihead_attn: cross-attention"]
    assert (cross.rows, cross.columns, cross.layers) == (tuple(NAMES), tuple("tuvwxyz"), ("1", "2"))
    assert found["demo: encoder.layers.self_attn: self-attention"].rows == tuple("tuvwxyz")


def test_parameters_count_what_is_shared_once() -> None:
    model = nn.Sequential(nn.Embedding(7, 5), nn.Linear(5, 7, bias=False).requires_grad_(False))
    model[1].weight = model[0].weight
    (panel,) = regard.view.parameters(model, title="tied").panels
    assert panel.title == "tied: 35 parameters, all of them trained"
    assert panel.rows == ("0",)


def test_a_difference_is_of_the_same_places() -> None:
    one, other = (regard.view.heads(torch.rand(2, 3, 5, 5), NAMES) for _ in range(2))
    (panel,) = regard.view.difference(one, other).panels
    assert isinstance(panel, HeadsPanel)
    assert isinstance(one.panels[0], HeadsPanel)
    assert isinstance(other.panels[0], HeadsPanel)
    assert torch.equal(panel.weights, one.panels[0].weights - other.panels[0].weights)
    with pytest.raises(ValueError, match="not of the same rows and columns"):
        regard.view.difference(one, regard.view.heads(torch.rand(2, 3, 5, 5), list("vwxyz")))
