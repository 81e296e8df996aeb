"""The dynamic coattention network: scorers by the equations, a pointer that stops, and what padding may not change."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.models import build
from regard.systems.spans.pointers import DynamicPointer
from regard.systems.spans.scorers import HighwayMaxout, MLPScorer, PointScorer
from tests.mechanism import assert_close, check_gradients

SIZES: dict[str, Any] = {
    "encoder": {"kind": "rnn", "cells": "lstm", "bidirectional": False, "embedding_dim": 3, "hidden_dim": 5},
    "hidden_dim": 7,
}
ABLATIONS: dict[str, dict[str, Any]] = {
    "whole": {"decoder": {"pool": 2}},
    "one iteration": {"decoder": {"pool": 2, "iterations": 1}},
    "mlp": {"decoder": {"scorer": "mlp"}},
    "attention": {"interaction": "attention", "decoder": {"pool": 2}},
    "summary": {"interaction": "summary", "decoder": {"pool": 2}},
    "question-blind": {"interaction": "none", "decoder": {"pool": 2}},
    "bilinear": {"interaction": "none", "decoder": "bilinear"},
}


def maxout(weight: Tensor, bias: Tensor, x: Tensor, pool: int) -> Tensor:
    """max over p of W_p x + b_p, map by map."""
    maps = [part @ x + offset for part, offset in zip(weight.chunk(pool), bias.chunk(pool), strict=True)]
    return torch.stack(maps).amax(0)


def test_a_highway_maxout_network_is_its_equations() -> None:
    scorer = HighwayMaxout(6, 5, pool=3).double()
    states, estimate = torch.randn(2, 7, 6).double(), torch.randn(2, 17).double()
    scores = scorer(scorer.words(states), estimate)
    for row in range(2):
        told = torch.tanh(scorer.estimate_map.weight @ estimate[row])
        for place in range(7):
            both = torch.cat((states[row, place], told))
            first = maxout(scorer.first_map.weight, scorer.first_map.bias, both, 3)
            second = maxout(scorer.second_map.weight, scorer.second_map.bias, first, 3)
            last = maxout(scorer.output_map.weight, scorer.output_map.bias, torch.cat((first, second)), 3)
            assert_close(scores[row, place], last.double().squeeze(), tolerance=1e-10)


def test_a_highway_maxout_network_by_hand() -> None:
    """One channel, two maps: W¹ = 1 and -1 of u alone, W² = 2 and 0, W³ = sum of both layers, and 0."""
    scorer = HighwayMaxout(1, 1, pool=2)
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.zero_()
        scorer.first_map.weight[:, 0] = torch.tensor([1.0, -1.0])
        scorer.second_map.weight[0] = 2.0
        scorer.output_map.weight[0] = 1.0
    words = scorer.words(torch.tensor([[[3.0], [-4.0], [0.0]]]))
    assert scorer(words, torch.zeros(1, 3)).tolist() == [[9.0, 12.0, 0.0]]  # |u| + 2 |u|


def test_an_mlp_scorer_is_its_equation() -> None:
    scorer = MLPScorer(3, 5).double()
    states, estimate = torch.randn(2, 7, 3).double(), torch.randn(2, 11).double()
    scores = scorer(scorer.words(states), estimate)
    for place in range(7):
        hidden = scorer.hidden_map(torch.cat((states[:, place], estimate), dim=1)).relu()
        assert_close(scores[:, place], scorer.output_map(hidden).squeeze(1).double(), tolerance=1e-10)


@pytest.mark.parametrize("scorer", [HighwayMaxout(3, 2, pool=2), MLPScorer(3, 2)], ids=["hmn", "mlp"])
def test_gradients_of_scorers(scorer: PointScorer) -> None:
    scorer = scorer.double()
    check_gradients(lambda states, told: scorer(scorer.words(states), told), torch.randn(2, 4, 3), torch.randn(2, 8))


class Steps(PointScorer):
    """Points from each word to the one behind it, up to the last place of its passage: state [place, last place].

    The begin follows the begin of the last estimate, the end is told the begin of this one.
    """

    def __init__(self, hidden_dim: int, *, end: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.skipped = hidden_dim
        self.end = end

    def words(self, states: Tensor) -> Tensor:
        return states

    def forward(self, words: Tensor, estimate: Tensor) -> Tensor:
        place, last = estimate[:, self.skipped : self.skipped + 1], estimate[:, self.skipped + 1 : self.skipped + 2]
        wanted = place if self.end else torch.minimum(place + 1, last)
        return -(words[..., 0] - wanted).abs() * self.weight


def stepping(limits: list[int], *, iterations: int, size: int = 6) -> Any:
    """A passage for each limit, in which a pointer steps from place 0 to the limit and stays there."""
    states = torch.stack([torch.stack((torch.arange(size), torch.full((size,), limit)), 1) for limit in limits]).float()
    pointer = DynamicPointer(Steps(3, end=False), Steps(3, end=True), 2, 3, iterations=iterations)
    return pointer(states, torch.full((len(limits),), size))


def test_each_passage_stops_when_its_span_stays() -> None:
    found = stepping([1, 3, 0, 5], iterations=5)
    assert found.extras["running"].tolist() == [
        [True, True, False, False, False],  # 1, and 1 again
        [True, True, True, True, False],  # 1, 2, 3, and 3 again
        [True, True, False, False, False],  # 0: the first estimate is compared with none before it
        [True, True, True, True, True],
    ]
    path = found.extras["iterations"].argmax(2)  # [B, K, 2]
    assert path[1].tolist() == [[1, 1], [2, 2], [3, 3], [3, 3], [3, 3]]  # the end knows the begin of its iteration
    assert torch.equal(found.logits, found.extras["iterations"][:, -1])
    assert found.logits.argmax(1).tolist() == [[1, 1], [3, 3], [0, 0], [5, 5]]


def test_no_iteration_runs_for_nobody_nor_more_than_there_may() -> None:
    assert stepping([1, 1], iterations=5).extras["running"].shape == (2, 2)
    assert stepping([5, 5], iterations=3).extras["running"].shape == (2, 3)
    assert stepping([5], iterations=1).logits.argmax(1).tolist() == [[1, 1]]


def test_padding_has_no_gradient() -> None:
    states = torch.randn(2, 5, 4, requires_grad=True)
    pointer = DynamicPointer(MLPScorer(4, 3), HighwayMaxout(4, 3, pool=2), 4, 3, iterations=4)
    found = pointer(states, torch.tensor([5, 3]))
    ran = found.extras["iterations"][found.extras["running"]]
    ran.logsumexp(1).sum().backward()
    assert states.grad is not None
    assert states.grad.isfinite().all()
    assert (states.grad[1, 3:] == 0).all()
    assert (states.grad[1, :3] != 0).all()


@pytest.mark.parametrize("name", ABLATIONS)
def test_a_reader_does_not_see_padding_nor_what_stands_beside(name: str) -> None:
    model = build("coattention_reader", 13, **SIZES, **ABLATIONS[name]).double().eval()
    question, passage = torch.randint(4, 13, (3, 5)), torch.randint(4, 13, (3, 7))
    asked, told = torch.tensor([5, 2, 3]), torch.tensor([7, 7, 2])
    found = model(question, asked, passage, told)
    for row in range(3):
        m, n = int(told[row]), int(asked[row])
        alone = model(
            question[row : row + 1, :n], asked[row : row + 1], passage[row : row + 1, :m], told[row : row + 1]
        )
        assert_close(found.logits[row, :m], alone.logits[0], tolerance=1e-10)
        assert found.logits[row, m:].isneginf().all()
        for key, size, keys in (("passage_weights", m, n), ("question_weights", n, m)):
            if key in found.extras:
                weights = found.extras[key][row]
                assert_close(weights[:size, [*range(keys), -1]], alone.extras[key][0], tolerance=1e-10)
                assert (weights[:, keys:-1] == 0).all()
                assert_close(weights[:size].sum(1), torch.ones(size), tolerance=1e-6)
    other = (model(question.flip(1), asked, passage, told).logits[0] - found.logits[0]).abs().max()
    assert (other == 0) if name == "question-blind" else (other > 1e-6)


@pytest.mark.parametrize("name", ABLATIONS)
def test_which_maps_and_iterations_a_reader_has(name: str) -> None:
    model = build("coattention_reader", 13, **SIZES, **ABLATIONS[name]).eval()
    ids, lengths = torch.randint(4, 13, (2, 3)), torch.tensor([3, 3])
    extras = set(model(ids, lengths, ids, lengths).extras)
    maps = {"attention": {"passage_weights"}, "summary": set(), "question-blind": set(), "bilinear": set()}
    iterations = set() if name == "bilinear" else {"iterations", "running"}
    assert extras == iterations | maps.get(name, {"passage_weights", "question_weights"})


def test_attention_is_coattention_without_its_second_half() -> None:
    whole: Any
    half: Any
    whole, half = (build("coattention_reader", 13, **SIZES, interaction=one) for one in ("coattention", "attention"))
    half.interaction.load_state_dict(whole.interaction.state_dict())
    ids, lengths = torch.randint(4, 13, (2, 6)), torch.tensor([6, 4])
    passage, question = whole.encoder(ids, lengths), whole.encoder(ids[:, :3], torch.tensor([3, 2]))
    assert torch.equal(
        half.interaction(passage, question).context, whole.interaction(passage, question).context[..., :5]
    )


@pytest.mark.parametrize(
    ("decoder", "problem"),
    [
        ({"kind": "bilinear", "iterations": 2}, "iterations"),
        ({"kind": "bilinear", "scorer": "mlp"}, "scorer"),
        ({"scorer": "mlp", "pool": 2}, "pool"),
        ({"pool": 0}, "pool must be at least 1; got 0"),
        ({"kind": "dynamical"}, "did you mean 'dynamic'"),
    ],
)
def test_a_decoder_that_cannot_be(decoder: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        build("coattention_reader", 13, **SIZES, decoder=decoder)


@pytest.mark.parametrize("kind", ["bert", "rnn", "transformer"])
def test_any_encoder_can_be_shared(kind: str) -> None:
    sizes = {"embedding_dim": 6, "hidden_dim": 8} if kind == "rnn" else {"dim": 8, "num_heads": 2, "num_layers": 1}
    model: Any = build("coattention_reader", 13, encoder={"kind": kind, **sizes}, hidden_dim=5, decoder={"pool": 2})
    ids, lengths = torch.randint(4, 13, (2, 6)), torch.tensor([6, 4])
    predicted = model(ids[:, :3], torch.tensor([3, 2]), ids, lengths)
    predicted.logits[0].sum().backward()
    assert predicted.extras["passage_weights"].shape == (2, 6, 4)
    assert any((parameter.grad is not None and (parameter.grad != 0).any()) for parameter in model.encoder.parameters())
