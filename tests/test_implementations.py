"""Every implementation has a name: it stands on the card, `impl=` takes it, and `Attended.impl` reports it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch

from regard import Mask
from regard.nn import Additive, Bilinear, Concat, Cosine, Dot, MultiHead, ScaledDot, Score
from regard.ops import Edges, graph_attention
from regard.ops.card import Card, catalogue
from regard.ops.kernels import DTYPES, kernel_obstacle
from tests.cases import CASES
from tests.cases.case import Case, Inputs, Sizes

CARDS = {entry.card.name: entry.card for entry in catalogue()}


class Situation(NamedTuple):
    """A read that an implementation takes."""

    mask: Mask | None = Mask.padding([7, 5])
    queries: int = 5
    dtype: torch.dtype = torch.float32


WINDOW, HALF = Mask.window(3), torch.bfloat16
SITUATIONS = {
    "banded": Situation(WINDOW),
    "flash_window": Situation(WINDOW, dtype=HALF),
    "flex_attention": Situation(dtype=HALF),
    "harmonic": Situation(dtype=HALF),
    "one_query": Situation(queries=1),
}
"""By name of the implementation; others take any read."""

ON_A_GPU = ("flash_window", "flex_attention")
"""Kernels of PyTorch, which Triton's interpreter does not run."""


def inputs_of(case: Case, situation: Situation) -> Inputs:
    width = 16 if situation.dtype == HALF else 3
    sizes = Sizes(2, 2 if case.heads else 1, situation.queries, 7, width, width)
    return {name: tensor.to(situation.dtype) for name, tensor in case.build(sizes).items()}


def runs_here(name: str, card: Card) -> bool:
    if name not in card.kernels:
        return name not in ("cpu_short", "cpu_sigmoid", "one_query") or torch.get_default_device().type == "cpu"
    device = torch.empty(0).device
    return kernel_obstacle(device, torch.bfloat16, DTYPES) is None and (device.type == "cuda" or name not in ON_A_GPU)


RUNS = [(case, name) for case in CASES for name in CARDS[case.mechanism].names]


@pytest.mark.parametrize(("case", "name"), RUNS, ids=lambda part: str(part))
def test_a_named_implementation_runs_or_says_why_not(case: Case, name: str) -> None:
    situation = SITUATIONS.get(name, Situation())
    inputs = inputs_of(case, situation)
    if "features" in inputs and name in ("cpu_sigmoid", "harmonic", "short_reads"):
        with pytest.raises(ValueError, match=f"impl='{name}' has no features"):
            case.read(inputs, situation.mask, name)
    elif runs_here(name, CARDS[case.mechanism]):
        attended = case.read(inputs, situation.mask, name)
        assert attended.impl == name
        if name != "harmonic":  # which has a bound of its own
            expected = case.read({key: one.float() for key, one in inputs.items()}, situation.mask, "reference")
            rounding = 8 * torch.finfo(situation.dtype).eps
            torch.testing.assert_close(attended.context.float(), expected.context, atol=rounding, rtol=rounding)
    else:
        with pytest.raises(ValueError, match=rf"{name}.*(needs|has)"):
            case.read(inputs, situation.mask, name)


@pytest.mark.parametrize("queries", [1, 5, 300])
@pytest.mark.parametrize("mask", [None, Mask.padding([7, 5]), Mask.causal(), WINDOW], ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_choice_reports_a_name_of_the_card(case: Case, mask: Mask | None, queries: int) -> None:
    inputs = {name: tensor.float() for name, tensor in case.build(Sizes(2, 1, queries, 7, 3, 3)).items()}
    assert case.read(inputs, mask, None).impl in CARDS[case.mechanism].names


def test_the_choices_on_a_cpu_are_these() -> None:
    """One read for each implementation that a CPU chooses, so that none of them is without a name."""
    if torch.get_default_device().type != "cpu":
        pytest.skip("other implementations are chosen elsewhere")
    cases = {case.mechanism: case for case in CASES if "features" not in case.key_axis}

    def chosen(mechanism: str, sizes: Sizes, mask: Mask | None = None) -> str:
        inputs = {name: tensor.float() for name, tensor in cases[mechanism].build(sizes).items()}
        return cases[mechanism].read(inputs, mask, None).impl

    assert chosen("dot", Sizes(2, 2, 5, 7, 3, 3)) == "sdpa"
    assert chosen("dot", Sizes(16, 8, 8, 8, 3, 3)) == "cpu_short"
    assert chosen("dot", Sizes(1, 1, 512, 512, 3, 3), WINDOW) == "banded"
    assert chosen("dot", Sizes(1, 1, 5, 0, 3, 3)) == "reference"
    assert chosen("cosine", Sizes(2, 2, 1, 7, 3, 3)) == "one_query"
    assert chosen("additive", Sizes(2, 2, 5, 7, 3, 3)) == "cpu_sigmoid"
    assert chosen("additive", Sizes(1, 1, 600, 600, 5, 3)) == "blocked"
    assert chosen("concat", Sizes(2, 2, 5, 7, 3, 3)) == "cpu_sigmoid"


@pytest.mark.parametrize("name", CARDS["graph"].names)
def test_graph_attention(name: str) -> None:
    node, edges = torch.randn(5, 2, 3), Edges(torch.tensor([[0, 1, 4], [1, 2, 2]]), 5)
    weights = torch.randn(2, 3), torch.randn(2, 3)
    if runs_here(name, CARDS["graph"]):
        attended = graph_attention(node, edges, *weights, impl=name)
        assert attended.impl == attended.dense().impl == attended.replace(context=attended.context).impl == name
    else:
        with pytest.raises(ValueError, match="fused implementation needs"):
            graph_attention(node, edges, *weights, impl=name)
    assert graph_attention(node, edges, *weights).impl in CARDS["graph"].names


SCORES: dict[str, Callable[[], Score]] = {
    "additive": lambda: Additive(6, 6, 3, num_heads=2),
    "bilinear": lambda: Bilinear(6, 6, num_heads=2),
    "concat": lambda: Concat(6, 6, 3, num_heads=2),
    "cosine": lambda: Cosine(6, 6, num_heads=2),
    "dot": lambda: Dot(6, 6, 3, num_heads=2),
    "scaled_dot": lambda: ScaledDot(6, 6, 3, num_heads=2),
}


NAMED = [(mechanism, name) for mechanism, made in SCORES.items() for name in made().implementations]


@pytest.mark.parametrize(("mechanism", "name"), NAMED)
def test_a_module_takes_the_names_too(mechanism: str, name: str) -> None:
    """A score maps its vectors before it reads, so that concat is additive and cosine is dot attention by then."""
    situation, score = SITUATIONS.get(name, Situation()), SCORES[mechanism]()
    read = MultiHead(score, value_dim=6, impl=name).eval()
    query, key = torch.randn(2, situation.queries, 6), torch.randn(2, 7, 6)
    card = CARDS["additive" if mechanism in ("additive", "concat") else "dot"]
    with torch.no_grad():
        assert MultiHead(score, value_dim=6).eval()(query, key).impl in score.implementations
        if situation.dtype == torch.float32 and runs_here(name, card):
            assert read(query, key, mask=situation.mask).impl == name
        elif not runs_here(name, card):
            with pytest.raises(ValueError, match=rf"{name}.*(needs|has)"):
                read(query, key, mask=situation.mask)
