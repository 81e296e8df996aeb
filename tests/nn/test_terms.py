"""What all terms of an additive score share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from regard import Mask
from regard.nn import (
    Additive,
    Attention,
    Fertility,
    History,
    LocationFeatures,
    Markov,
    MultiHead,
    Position,
    RecurrentTerm,
    Term,
)
from tests.mechanism import assert_close, check_gradients

TERMS: dict[str, Callable[[], Term]] = {
    "position": Position,
    "markov": Markov,
    "fertility": Fertility,
    "recall": lambda: History(hidden_dim=2),
    "location": lambda: LocationFeatures(num_filters=3, reach=2),
    "cumulative location": lambda: LocationFeatures(num_filters=2, reach=1, cumulative=True),
}
CHOICES = {**{name: [term] for name, term in TERMS.items()}, "all": list(TERMS.values())}
LOOKING_BACK = [name for name in CHOICES if name != "position"]
every_choice = pytest.mark.parametrize("choice", CHOICES)


def make(choice: str, *, num_heads: int = 1) -> Additive:
    """A score with the chosen terms; weights large enough to matter."""
    score = Additive(3, 5, 7, num_heads=num_heads, terms=[term() for term in CHOICES[choice]])
    assert score.term_weight is not None
    nn.init.normal_(score.term_weight, std=2.0)
    return score.double()


def inputs(batch: int = 2, queries: int = 4, keys: int = 6) -> tuple[Tensor, Tensor]:
    return torch.randn(batch, queries, 3).double(), torch.randn(batch, keys, 5).double()


@every_choice
def test_step_by_step_is_all_at_once(choice: str) -> None:
    attention = Attention(make(choice))
    query, key = inputs()
    mask = Mask.padding([6, 3])
    together = attention(query, key, mask=mask)
    memory, state = attention.remember(key, mask=mask), None
    for j in range(4):
        out = attention.read(query[:, j : j + 1], memory, state)
        state = out.state
        assert_close(out.context, together.context[:, j : j + 1], tolerance=1e-10)
        assert_close(out.weights(), together.weights(rows=j), tolerance=1e-10)
    first = attention.read(query[:, :3], memory)
    assert_close(attention.read(query[:, 3:], memory, first.state).context, together.context[:, 3:], tolerance=1e-10)


@every_choice
def test_each_head_has_its_own_past(choice: str) -> None:
    score = make(choice, num_heads=2)
    query, key = inputs()
    both = MultiHead(score, value_dim=5)(query, key)
    for head in range(2):
        one = make(choice)
        one.terms = score.terms
        rows = slice(7 * head, 7 * head + 7)
        assert one.query_map is not None
        assert one.key_map is not None
        assert score.query_map is not None
        assert score.key_map is not None
        assert score.term_weight is not None
        one.query_map.weight = nn.Parameter(score.query_map.weight[rows])
        one.key_map.weight = nn.Parameter(score.key_map.weight[rows])
        one.weight = nn.Parameter(score.weight[head : head + 1])
        one.term_weight = nn.Parameter(score.term_weight[head : head + 1])
        assert_close(both.weights(heads=head)[:, 0], Attention(one)(query, key).weights(), tolerance=1e-10)


@every_choice
def test_a_beam_reorders_the_past(choice: str) -> None:
    attention = Attention(make(choice))
    query, key = inputs(batch=3)
    mask, rows = Mask.padding([6, 4, 2]), torch.tensor([2, 0, 0, 1])
    memory = attention.remember(key, mask=mask)
    state = attention.read(query[:, :2], memory).state
    moved = attention.read(query[rows, 2:], memory.select(rows), state.select(rows))
    assert_close(moved.context, attention(query, key, mask=mask).context[rows, 2:], tolerance=1e-10)


@every_choice
def test_padding_and_batch_change_nothing(choice: str) -> None:
    attention = Attention(make(choice))
    query, key = inputs()
    longer = torch.cat((key, 50 * torch.randn(2, 20, 5).double()), dim=1)
    padded = attention(query, longer, mask=Mask.padding([6, 3]))
    assert (padded.weights()[0, :, 6:] == 0).all()
    assert (padded.weights()[1, :, 3:] == 0).all()
    for b, length in enumerate((6, 3)):
        alone = attention(query[b : b + 1], key[b : b + 1, :length])
        assert_close(padded.context[b], alone.context[0], tolerance=1e-10)


@every_choice
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_nothing_to_attend_to_is_zero(choice: str, dtype: torch.dtype) -> None:
    """A sentence of length 0 beside one of length 6."""
    attention = Attention(make(choice)).to(dtype)
    query, key = (tensor.to(dtype).requires_grad_() for tensor in inputs())
    out = attention(query, key, mask=Mask.padding([0, 6]))
    assert out.context.dtype == dtype
    assert (out.context[0] == 0).all()
    assert (out.weights()[0] == 0).all()
    assert_close(out.weights()[1].sum(-1), torch.ones(4), tolerance=1e-5)
    grads = torch.autograd.grad(out.context.square().sum(), [query, key, *attention.parameters()])
    assert all(torch.isfinite(grad).all() for grad in grads)
    assert (grads[0][0] == 0).all()
    assert (grads[1][0] == 0).all()


@every_choice
def test_an_empty_memory(choice: str) -> None:
    attention = Attention(make(choice))
    out = attention(torch.randn(2, 3, 3).double(), torch.randn(2, 0, 5).double())
    assert out.weights().shape == (2, 3, 0)
    assert out.context.shape == (2, 3, 5)
    assert (out.context == 0).all()


@every_choice
def test_gradients_through_the_past(choice: str) -> None:
    score = make(choice)
    attention = Attention(score)
    names, parameters = zip(*attention.named_parameters(), strict=True)

    def read(query: Tensor, key: Tensor, *values: Tensor) -> Tensor:
        arguments = dict(zip(names, values, strict=True))
        out = torch.func.functional_call(attention, arguments, (query, key), {"mask": Mask.padding([4, 2])})
        context: Tensor = out.context
        return context

    check_gradients(read, *inputs(queries=3, keys=4), *parameters)


@every_choice
def test_a_query_depends_on_those_before_it_only_through_the_past(choice: str) -> None:
    query, key = inputs()
    query.requires_grad_()
    last = Attention(make(choice))(query, key).weights()[:, -1]
    (grad,) = torch.autograd.grad(last.square().sum(), query)
    before = grad[:, :-1].abs().amax()
    assert (before > 0) == (choice != "position")


def test_the_score_written_out() -> None:
    """Cohn et al.'s equation, word by word, with three terms in one score."""
    score = Additive(3, 5, 7, terms=[Position(), Markov(), Fertility(reach=2)]).double()
    (query, key), lengths = inputs(), [6, 3]
    out = Attention(score)(query, key, mask=Mask.padding(lengths))
    assert score.query_map is not None
    assert score.key_map is not None
    assert score.term_weight is not None
    w_position, w_markov, w_fertility = score.term_weight[0].split((3, 3, 5), dim=1)
    for b, length in enumerate(lengths):
        alphas = [torch.zeros(length).double()]
        for j in range(4):
            padded, total = (nn.functional.pad(row, (2, 2)) for row in (alphas[-1], torch.stack(alphas).sum(0)))
            energies = []
            for i in range(length):
                hidden = score.key_map(key[b, i]) + score.query_map(query[b, j])
                hidden = hidden + w_position @ torch.tensor([j, i, length]).double().log1p()
                hidden = hidden + w_markov @ padded[i + 1 : i + 4] + w_fertility @ total[i : i + 5]
                energies.append(score.weight[0] @ hidden.tanh())
            alphas.append(torch.stack(energies).softmax(0))
            assert_close(out.weights()[b, j, :length], alphas[-1], tolerance=1e-10)


@pytest.mark.parametrize("choice", LOOKING_BACK)
def test_what_looks_back_says_so(choice: str) -> None:
    score = make(choice)
    assert score.recurrent
    assert Attention(score).recurrent
    memory = Attention(score).remember(torch.randn(2, 6, 5).double())
    for term in score.terms:
        if isinstance(term, RecurrentTerm):
            with pytest.raises(ValueError, match="one query at a time, not 3"):
                term(memory, term.start(memory), step=0, queries=3)


def test_only_terms_are_terms() -> None:
    with pytest.raises(TypeError, match=r"modules like Position\(\) or Markov\(\), not Linear"):
        Additive(3, 5, 7, terms=[Position(), nn.Linear(3, 3)])  # type: ignore[list-item]
