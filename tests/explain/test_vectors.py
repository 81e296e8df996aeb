"""Queries and keys beside weights, and the centres of windows."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import regard
from regard.decode.search import Search
from regard.explain.layers import panels_by_kind
from regard.explain.panel import HeadsPanel
from regard.explain.windows import has_windows, window_centres
from regard.models import build
from regard.nn import Attention, Dot, LocalM, LocalP, MultiHead, ScaledDot
from regard.nn.rotary import Rotary
from tests.mechanism import assert_close


def products(panel: HeadsPanel, *, causal: bool = False) -> Tensor:
    """Weights of scaled dot products, from the vectors of a panel."""
    assert panel.queries is not None
    assert panel.keys is not None
    energy = panel.queries @ panel.keys.mT / panel.queries.shape[-1] ** 0.5
    return (energy.masked_fill(torch.ones_like(energy).triu(1) > 0, -torch.inf) if causal else energy).softmax(-1)


def test_products_of_queries_and_keys_are_the_energies() -> None:
    torch.manual_seed(0)
    model = build("transformer", 11, 13, dim=12, num_heads=3, num_layers=2).eval()
    with torch.no_grad(), regard.capture(model, vectors=True) as seen:
        model(torch.randint(4, 11, (1, 7)), torch.tensor([7]), torch.randint(4, 13, (1, 5)))
    panels = panels_by_kind(seen)
    assert [panel.kind for panel in panels] == ["self", "causal", "cross"]
    for panel in panels:
        assert_close(products(panel, causal=panel.kind == "causal"), panel.weights, tolerance=1e-6)
    assert all("attend" not in vars(module) for module in model.modules())


def test_positions_that_turn_vectors_are_in_them() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(MultiHead(Rotary(ScaledDot(6, 6, 4, num_heads=2)), value_dim=6)).eval()
    with torch.no_grad(), regard.capture(model, vectors=True) as seen:
        model(torch.randn(1, 5, 6))
    (panel,) = panels_by_kind(seen)
    assert_close(products(panel), panel.weights, tolerance=1e-6)


def test_a_score_that_is_no_inner_product_has_none() -> None:
    model = regard.nn.Attention(regard.nn.Additive(6, 6, 5))
    with torch.no_grad(), regard.capture(model, vectors=True) as seen:
        model(torch.randn(1, 5, 6))
    assert seen.vectors("") is None
    with (
        pytest.raises(ValueError, match="vectors are of all heads and rows"),
        regard.capture(model, heads=0, vectors=True),
    ):
        pass


def test_models_that_are_not_ours_have_them_too() -> None:
    class Model(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(x, 2 * x, x)

    model, x = Model(), torch.randn(1, 2, 5, 4)
    with regard.capture(model, vectors=True) as seen:
        model(x)
    vectors = seen.vectors("")
    assert vectors is not None
    assert torch.equal(vectors[0], x)
    assert torch.equal(vectors[1], 2 * x)


@pytest.mark.parametrize(
    ("align", "expected"),
    [
        (LocalM(window=1), [0.0, 1.0, 2.0, 3.0, 4.0]),
        (LocalM(window=1, hold=True), [0.0, 1.0, 2.0, 2.0, 2.0]),
    ],
)
def test_windows_move_with_the_query(align: LocalM, expected: list[float]) -> None:
    attention = Attention(Dot(), align)
    with window_centres(attention) as centres:
        attention(torch.randn(1, 5, 6), torch.randn(1, 7, 6), mask=regard.Mask.padding([3]))
    assert centres == expected
    assert has_windows(attention)
    assert not has_windows(Attention(Dot()))


def test_step_by_step_windows_are_those_of_all_at_once() -> None:
    attention, query, key = Attention(Dot(), LocalP(query_dim=6, window=2)), torch.randn(1, 5, 6), torch.randn(1, 7, 6)
    with torch.no_grad(), window_centres(attention) as whole:
        attention(query, key)
    memory, state = attention.remember(key), None
    with torch.no_grad(), window_centres(attention) as steps:
        for row in query.split(1, 1):
            state = attention.read(row, memory, state).state
    assert steps == pytest.approx(whole)
    assert all(0 < centre < 7 for centre in whole)


@pytest.mark.parametrize("feeding", [True, False])
def test_a_translation_by_local_attention_shows_its_windows(feeding: bool) -> None:
    from regard.data import Tokenizer
    from regard.systems.translation.task import Translation

    torch.manual_seed(0)
    words = Tokenizer.train(["a gem every dog"], kind="words")
    sizes: dict[str, Any] = {"embedding_dim": 3, "hidden_dim": 4, "feeding": feeding}
    attention = {"score": "dot", "align": {"name": "local_p", "window": 1}}
    model = build("luong", words.size, words.size, attention=attention, **sizes).eval()
    task, search = Translation({"source": words, "target": words}), Search(max_length=4)
    (panel,) = task.panels(model, "every gem a dog", search)
    assert len(panel.centres) == len(panel.rows) > 0
    for centre, weights in zip(panel.centres, panel.values, strict=True):
        assert abs(int(weights.argmax()) - centre) <= 1.5
    (plain,) = task.panels(build("luong", words.size, words.size, **sizes).eval(), "every gem a dog", search)
    assert plain.centres == ()
