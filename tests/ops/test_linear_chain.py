"""Linear-chain conditional random field: against all sequences one by one."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from regard.masks import Mask
from regard.nn import CRF, LabelOrder
from regard.ops import linear_chain, linear_chain_conditionals, linear_chain_path
from tests.mechanism import assert_close, check_gradients

BATCH, SIZE, LABELS = 5, 4, 3
REAL = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0]], dtype=torch.bool)
Chain = tuple[Tensor, Tensor, Tensor, Tensor]


def drawn(seed: int = 0, dtype: torch.dtype = torch.float64) -> Chain:
    """Emissions, transitions, start and end."""
    torch.manual_seed(seed)
    shapes = (BATCH, SIZE, LABELS), (LABELS, LABELS), (LABELS,), (LABELS,)
    emissions, transitions, start, end = (2 * torch.randn(*shape, dtype=dtype) for shape in shapes)
    return emissions, transitions, start, end


def mask() -> Mask:
    return Mask.of(REAL[:, None, None])


def scores(row: Tensor, real: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> dict[tuple[int, ...], float]:
    """The score of every sequence of one row, by definition."""
    emissions = row[real]
    found = {}
    for labels in itertools.product(range(LABELS), repeat=len(emissions)):
        total = sum(float(emissions[t, label]) for t, label in enumerate(labels))
        total += sum(float(transitions[a, b]) for a, b in itertools.pairwise(labels))
        found[labels] = total + (float(start[labels[0]] + end[labels[-1]]) if labels else 0.0)
    return found


def partition(found: dict[tuple[int, ...], float]) -> float:
    return math.log(sum(map(math.exp, found.values())))


@pytest.mark.parametrize("seed", range(3))
def test_all_sequences_are_summed(seed: int) -> None:
    emissions, *rest = drawn(seed)
    chain = linear_chain(emissions, *rest, mask=mask())
    path = linear_chain_path(emissions, *rest, mask=mask())
    for row in range(BATCH):
        found = scores(emissions[row], REAL[row], *rest)
        log_z = partition(found)
        assert float(chain.log_partition[row]) == pytest.approx(log_z, abs=1e-12)
        inside = chain.marginals[row, REAL[row]]
        for t, label in itertools.product(range(len(inside)), range(LABELS)):
            wanted = sum(math.exp(score - log_z) for labels, score in found.items() if labels[t] == label)
            assert float(inside[t, label]) == pytest.approx(wanted, abs=1e-12)
        best = max(found, key=lambda labels: found[labels])
        assert tuple(path.labels[row, REAL[row]].tolist()) == best
        assert float(path.score[row]) == pytest.approx(found[best], abs=1e-12)
    assert chain.marginals[~REAL].eq(0).all()
    assert path.labels[~REAL].eq(0).all()


def test_the_cross_entropy_of_conditionals_is_that_of_the_sequence() -> None:
    emissions, *rest = drawn()
    labels = torch.randint(LABELS, (BATCH, SIZE))
    log_probs = linear_chain_conditionals(emissions, rest[0], labels, *rest[1:], mask=mask()).log_softmax(-1)
    each = log_probs.gather(2, labels.unsqueeze(2)).squeeze(2)
    for row in range(BATCH):
        found = scores(emissions[row], REAL[row], *rest)
        wanted = found[tuple(labels[row, REAL[row]].tolist())] - partition(found)
        assert float(each[row, REAL[row]].sum()) == pytest.approx(wanted, abs=1e-12)


def test_shapes_and_a_value_on_paper() -> None:
    emissions = torch.tensor([[[2.0, 1.0], [1.0, 3.0]]]).log()
    transitions = torch.tensor([[1.0, 2.0], [5.0, 0.0]]).log()  # 00: 2, 01: 12, 10: 5, 11: 0
    chain = linear_chain(emissions, transitions)
    assert_close(chain.log_partition.exp(), [19.0], tolerance=1e-5)
    assert_close(chain.marginals, [[[14 / 19, 5 / 19], [7 / 19, 12 / 19]]])
    path = linear_chain_path(emissions, transitions)
    assert path.labels.tolist() == [[0, 1]]
    assert_close(path.score.exp(), [12.0], tolerance=1e-5)
    found = linear_chain(torch.randn(2, 7, 5), torch.randn(5, 5))
    assert (found.log_partition.shape, found.marginals.shape) == ((2,), (2, 7, 5))
    empty = linear_chain(torch.randn(2, 0, 5), torch.randn(5, 5))
    assert (empty.log_partition.tolist(), empty.marginals.shape) == ([0.0, 0.0], (2, 0, 5))
    assert linear_chain_path(torch.randn(2, 0, 5), torch.randn(5, 5)).labels.shape == (2, 0)
    assert linear_chain_conditionals(torch.randn(2, 0, 5), torch.randn(5, 5), torch.zeros(2, 0).long()).shape == (
        2,
        0,
        5,
    )


def test_gradients() -> None:
    emissions, *rest = drawn()
    inputs = [part.requires_grad_() for part in (emissions, *rest)]
    labels = torch.randint(LABELS, (BATCH, SIZE))
    check_gradients(lambda *given: tuple(linear_chain(*given, mask=mask())), *inputs)
    check_gradients(
        lambda e, a, b, c: linear_chain_conditionals(e, a, labels, b, c, mask=mask()).log_softmax(-1)[REAL], *inputs
    )


def test_the_gradient_of_the_partition_is_the_marginals() -> None:
    emissions, *rest = drawn()
    emissions.requires_grad_()
    chain = linear_chain(emissions, *rest, mask=mask())
    (gradient,) = torch.autograd.grad(chain.log_partition.sum(), emissions)
    assert_close(gradient, chain.marginals.detach(), tolerance=1e-12)


def test_a_row_without_places_is_zero_and_has_no_gradient() -> None:
    emissions, *rest = (part.requires_grad_() for part in drawn())
    nothing = Mask.padding([0] * BATCH)
    chain = linear_chain(emissions, *rest, mask=nothing)
    assert chain.log_partition.eq(0).all()
    assert chain.marginals.eq(0).all()
    path = linear_chain_path(emissions, *rest, mask=nothing)
    assert path.labels.eq(0).all()
    assert path.score.eq(0).all()
    for gradient in torch.autograd.grad(chain.log_partition.sum() + chain.marginals.sum(), (emissions, *rest)):
        assert gradient.eq(0).all()


def test_what_padding_holds_does_not_matter() -> None:
    emissions, *rest = drawn()
    padded = torch.cat((emissions, torch.full((BATCH, 3, LABELS), 1e4, dtype=torch.float64)), 1)
    lengths = torch.tensor([4, 2, 1, 3, 4])
    short, long = (linear_chain(given, *rest, mask=Mask.padding(lengths)) for given in (emissions, padded))
    assert_close(long.log_partition, short.log_partition, tolerance=1e-12)
    assert_close(long.marginals[:, :SIZE], short.marginals, tolerance=1e-12)
    assert long.marginals[:, SIZE:].eq(0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_large_scores_and_forbidden_steps_stay_finite(dtype: torch.dtype) -> None:
    emissions, transitions, start, end = (100 * part for part in drawn(dtype=dtype))
    transitions = transitions.fill_diagonal_(-torch.inf).requires_grad_()
    emissions = emissions.detach().requires_grad_()
    chain = linear_chain(emissions, transitions, start, end)
    assert chain.log_partition.dtype == torch.float32
    assert_close(chain.marginals.sum(-1), torch.ones(BATCH, SIZE), tolerance=1e-4)
    path = linear_chain_path(emissions, transitions, start, end).labels
    assert (path[:, 1:] != path[:, :-1]).all()
    for gradient in torch.autograd.grad(
        chain.log_partition.sum() + chain.marginals[..., 0].sum(), (emissions, transitions)
    ):
        assert gradient.isfinite().all()


def test_a_label_that_is_not_known_costs_nothing_but_its_transition() -> None:
    emissions, transitions, start, end = drawn()
    labels = torch.tensor([[0, -100, 2, 1]]).expand(BATCH, -1)
    logits = linear_chain_conditionals(emissions, transitions, labels, start, end)
    flat = transitions.clone()
    known = linear_chain_conditionals(emissions, transitions, labels.clamp(min=0), start, end)
    for t in (0, 1, 3):
        assert_close(logits[:, t], known[:, t], tolerance=1e-12)
    assert_close(logits[:, 2], known[:, 2] - flat[0], tolerance=1e-12)


def test_shapes_that_do_not_fit_are_one_sentence() -> None:
    emissions = torch.randn(2, 5, 3)
    for wrong, said in (
        ((emissions[0], torch.randn(3, 3)), r"\[B, T, K\]"),
        ((emissions, torch.randn(3, 4)), r"transitions.*\[3, 4\]"),
        ((emissions, torch.randn(3, 3), torch.randn(2)), r"start.*\[2\]"),
        ((emissions, torch.randn(3, 3), None, torch.randn(4)), r"end.*\[4\]"),
    ):
        with pytest.raises(ValueError, match=said):
            linear_chain(*wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"labels.*\[2, 4\]"):
        linear_chain_conditionals(emissions, torch.randn(3, 3), torch.zeros(2, 4).long())


ORDER = LabelOrder(
    ((True, True, False), (True, True, True), (True, True, True)), (True, True, False), (True, False, True)
)


def test_an_order_rules_answers_and_not_what_is_learned() -> None:
    torch.manual_seed(1)
    crf = CRF(3, order=ORDER).double()
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    emissions = 3 * torch.randn(40, 6, 3, dtype=torch.float64)
    path = crf.path(emissions).labels
    assert not (path[:, 0] == 2).any()
    assert not (path[:, -1] == 1).any()
    assert not ((path[:, :-1] == 0) & (path[:, 1:] == 2)).any()
    marginals = crf.marginals(emissions).marginals
    assert marginals[:, 0, 2].eq(0).all()
    assert marginals[:, -1, 1].eq(0).all()
    wrong = torch.tensor([[2, 0, 2, 1, 1, 1]]).expand(40, -1)
    assert crf(emissions, wrong).log_softmax(-1).gather(2, wrong.unsqueeze(2)).min() > -1e3
    assert set(crf.state_dict()) == {"transitions", "start", "end"}
    with pytest.raises(ValueError, match="3, 3"):
        CRF(4, order=ORDER)


def test_without_transitions_it_is_a_softmax() -> None:
    emissions = torch.randn(2, 7, 5)
    assert_close(CRF(5).marginals(emissions).marginals.detach(), emissions.softmax(-1), tolerance=1e-6)
    assert torch.equal(CRF(5).path(emissions).labels, emissions.argmax(-1))
