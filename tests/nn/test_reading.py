"""Any score with any aligner, one head or several: all at once or step by step, and reordered with a beam."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import regard
from regard import Mask
from regard.nn import (
    Additive,
    Addressing,
    Aligner,
    Attention,
    AttentionModule,
    AttentionState,
    Bilinear,
    Concat,
    Cosine,
    Dot,
    Fertility,
    Hard,
    History,
    LinearAligner,
    LocalM,
    LocalP,
    Location,
    LocationFeatures,
    Markov,
    Memory,
    MultiHead,
    Position,
    ScaledDot,
    Score,
    Softmax,
)
from tests.mechanism import assert_close

CQ, CK, CV = 5, 7, 3


class Distance(Score):
    """e_ts = -|q_t - k_s|² / √D, as in the contributing guide."""

    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        return -torch.cdist(query, memory.key).square() / math.sqrt(query.shape[-1])


SCORES: dict[str, Callable[[int], Score]] = {
    "additive": lambda heads: Additive(CQ, CK, 11, num_heads=heads),
    "additive-position": lambda heads: Additive(CQ, CK, 11, num_heads=heads, terms=[Position()]),
    "additive-past": lambda heads: Additive(
        CQ, CK, 11, num_heads=heads, terms=[Markov(), Position(), Fertility(reach=2), History(4), LocationFeatures(3)]
    ),
    "concat": lambda heads: Concat(CQ, CK, 11, num_heads=heads),
    "concat-luong": lambda heads: Concat(CQ, CK, CK, num_heads=heads, identity_key=True),
    "bilinear": lambda heads: Bilinear(CQ, CK, num_heads=heads),
    "dot": lambda heads: Dot(CQ, CK, 11, num_heads=heads),
    "scaled-dot": lambda heads: ScaledDot(CQ, CK, 11, num_heads=heads),
    "cosine": lambda heads: Cosine(CQ, CK, num_heads=heads),
    "location": lambda heads: Location(CQ, 6, num_heads=heads),
    "a new one": lambda heads: Distance(CQ, CK, 4, num_heads=heads),
}
ALIGNERS: dict[str, Callable[[int], Aligner]] = {
    "softmax": lambda heads: Softmax(),
    "linear": lambda heads: LinearAligner(),
    "local-m": lambda heads: LocalM(window=1),
    "local-p": lambda heads: LocalP(CQ, window=2, num_heads=heads),
    "hard": lambda heads: Hard(),
    "addressing": lambda heads: Addressing(CQ, num_heads=heads),
}


def reader(score: str, aligner: str, heads: int) -> AttentionModule:
    parts = SCORES[score](heads), ALIGNERS[aligner](heads)
    one = heads == 1
    module = Attention(*parts) if one else MultiHead(*parts, value_dim=CV, head_dim=2, output_dim=13)
    return module.double().eval()


@pytest.fixture
def given() -> tuple[Tensor, Tensor, Tensor, Mask]:
    """Three sequences, one of which is empty."""
    lengths = Mask.padding(torch.tensor([6, 3, 0]))
    query, key, value = (torch.randn(3, length, width).double() for length, width in ((4, CQ), (6, CK), (6, CV)))
    return query, key, value, lengths


def steps(
    module: AttentionModule, query: Tensor, memory: Memory, state: AttentionState | None = None
) -> tuple[Tensor, Tensor]:
    contexts, weights = [], []
    for row in query.split(1, dim=1):
        out = module.read(row, memory, state)
        state = out.state
        contexts.append(out.context)
        weights.append(out.weights())
    return torch.cat(contexts, 1), torch.cat(weights, -2)


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("aligner", ALIGNERS)
@pytest.mark.parametrize("score", SCORES)
def test_all_at_once_is_step_by_step(
    score: str, aligner: str, heads: int, given: tuple[Tensor, Tensor, Tensor, Mask]
) -> None:
    query, key, value, mask = given
    module = reader(score, aligner, heads)
    whole = module(query, key, value, mask)
    contexts, weights = steps(module, query, module.remember(key, value, mask))
    assert whole.state.step == query.shape[1]
    assert torch.isfinite(whole.context).all()
    assert_close(contexts, whole.context, tolerance=1e-12)
    assert_close(weights, whole.weights(), tolerance=1e-12)
    assert (whole.weights()[2] == 0).all()
    assert (whole.weights()[1][..., 3:] == 0).all()


@pytest.mark.parametrize("mask", [Mask.causal(), Mask.window(2), "dense"], ids=str)
@pytest.mark.parametrize(
    ("score", "aligner"), [("additive-past", "softmax"), ("dot", "addressing"), ("dot", "local-p")]
)
def test_a_mask_that_differs_by_query(
    score: str, aligner: str, mask: Mask | str, given: tuple[Tensor, Tensor, Tensor, Mask]
) -> None:
    """Queries that are read one by one still see what they may, and the true lengths stay what they are."""
    query, key, value, padding = given
    place = Mask.of(torch.rand(4, 6) < 0.5) if isinstance(mask, str) else mask
    module = reader(score, aligner, 2)
    whole = module(query, key, value, place & padding)
    forbidden = ~(place & padding).allowed((3, 2, 4, 6)).expand(3, 2, 4, 6)
    assert (whole.weights()[forbidden] == 0).all()
    memory, state = module.remember(key, value, place & padding), None
    for row in range(4):
        step = module.read(query[:, row : row + 1], memory.row(row, 4), state)
        state = step.state
        assert_close(step.context, whole.context[:, row : row + 1], tolerance=1e-12)


@pytest.mark.parametrize("aligner", ALIGNERS)
@pytest.mark.parametrize("score", SCORES)
def test_a_beam_can_reorder_memory_and_state(
    score: str, aligner: str, given: tuple[Tensor, Tensor, Tensor, Mask]
) -> None:
    query, key, value, mask = given
    module, rows = reader(score, aligner, 2), torch.tensor([1, 0, 0, 2])
    memory = module.remember(key, value, mask)
    first = module.read(query[:, :2], memory)
    straight = module.read(query[:, 2:], memory, first.state)
    reordered = module.read(query[rows, 2:], memory.select(rows), first.state.select(rows))
    assert_close(reordered.context, straight.context[rows], tolerance=1e-12)


@pytest.mark.parametrize("aligner", ALIGNERS)
@pytest.mark.parametrize("score", SCORES)
def test_more_padding_changes_nothing(score: str, aligner: str, given: tuple[Tensor, Tensor, Tensor, Mask]) -> None:
    query, key, value, mask = given
    module = reader(score, aligner, 2)
    rubbish = [torch.cat((tensor, 30 * torch.randn(3, 5, tensor.shape[2]).double()), 1) for tensor in (key, value)]
    assert_close(module(query, *rubbish, mask).context, module(query, key, value, mask).context, tolerance=1e-12)


@pytest.mark.parametrize("aligner", ALIGNERS)
@pytest.mark.parametrize("score", SCORES)
def test_gradients_reach_every_parameter_and_stay_finite(
    score: str, aligner: str, given: tuple[Tensor, Tensor, Tensor, Mask]
) -> None:
    query, key, value, mask = given
    module = reader(score, aligner, 2).train()
    out = module(query, key, value, mask)
    loss = out.context.square().sum()
    if out.sample is not None:
        loss = loss + (out.sample.log_prob + out.sample.entropy).sum()
    loss.backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize("score", SCORES)
def test_an_empty_memory_and_no_queries(score: str, given: tuple[Tensor, Tensor, Tensor, Mask]) -> None:
    query, key, value, _ = given
    module = reader(score, "softmax", 2)
    assert module(query, key[:, :0], value[:, :0]).weights().shape == (3, 2, 4, 0)
    assert module(query[:, :0], key, value).context.shape == (3, 0, 13)


def test_a_reader_can_be_copied_and_saved(given: tuple[Tensor, Tensor, Tensor, Mask]) -> None:
    query, key, value, mask = given
    module = reader("additive-past", "softmax", 2)
    twin = copy.deepcopy(module)
    fresh = reader("additive-past", "softmax", 2)
    fresh.load_state_dict(module.state_dict())
    expected = module(query, key, value, mask).context
    assert torch.equal(twin(query, key, value, mask).context, expected)
    assert torch.equal(fresh(query, key, value, mask).context, expected)


def test_dropout_is_for_training_and_leaves_the_weights_alone(given: tuple[Tensor, Tensor, Tensor, Mask]) -> None:
    query, key, value, _ = given
    module = Attention(ScaledDot(CQ, CK, 11), dropout=0.5).double()
    trained = module(query, key, value)
    calm = module.eval()(query, key, value)
    assert not torch.allclose(trained.context, calm.context)
    assert_close(trained.weights(), calm.weights())


def test_what_does_not_fit_is_one_sentence(given: tuple[Tensor, Tensor, Tensor, Mask]) -> None:
    query, key, value, mask = given
    with pytest.raises(ValueError, match="Attention has one head, but its score has 2: use MultiHead"):
        Attention(Dot(num_heads=2))
    with pytest.raises(ValueError, match="impl='blocked' chooses among softmax reads of all queries; LocalM has none"):
        Attention(Additive(CQ, CK, 3), LocalM(window=1), impl="blocked")
    with pytest.raises(
        ValueError, match="impl='blocked' chooses among softmax reads of all queries; Additive has none"
    ):
        Attention(Additive(CQ, CK, 3, terms=[Markov()]), impl="blocked")
    with pytest.raises(ValueError, match=r"Additive was made for keys of width 7; got \[3, 6, 3\]"):
        Attention(Additive(CQ, CK, 3)).double()(query, value)
    with pytest.raises(ValueError, match=r"query must be \[B, T, Cq\] with the B = 3 of the memory; got \[1, 4, 5\]"):
        Attention(Additive(CQ, CK, 3)).double()(query[:1], key)
    with pytest.raises(ValueError, match=r"with one B and S; got \[3, 6, 7\] and \[3, 5, 3\]"):
        Attention(Additive(CQ, CK, 3)).double()(query, key, value[:, :5], mask)
    with pytest.raises(ValueError, match="Distance: no implementation 'sdpa'; there are reference"):
        Attention(Distance(CQ, CK, 4), impl="sdpa")
    with pytest.raises(ValueError, match="Additive: the implementation blocked cannot drop weights; use reference"):
        Attention(Additive(CQ, CK, 4), impl="blocked", dropout=0.1)
    with pytest.raises(ValueError, match="hidden_dim=4 needs query_dim and key_dim too"):
        Dot(hidden_dim=4)
    with pytest.raises(ValueError, match="query_dim and key_dim are for maps; give hidden_dim too"):
        ScaledDot(CQ, CK, num_heads=2)
    with pytest.raises(ValueError, match="Additive: hidden_dim must be at least 1; got -5"):
        Additive(CQ, CK, -5)
    with pytest.raises(
        TypeError, match=r"takes a score and an aligner, for example Dot\(\) and Softmax\(\); got 'softmax'"
    ):
        Attention(Dot(), "softmax")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a regard"):
        Attention(Dot())(query, query, mask=torch.ones(3, 4).bool())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the mask is the last argument"):
        Attention(Dot())(query, query, mask)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="LocalP was made for queries of width 9"):
        Attention(Dot(), LocalP(9)).double()(query, query)
    with pytest.raises(ValueError, match="MultiHead was made for values of width 3"):
        MultiHead(Dot(num_heads=1), value_dim=CV)(query, query)
    with pytest.raises(ValueError, match="7 channels cannot be split among 2 heads"):
        MultiHead(Dot(num_heads=2), value_dim=CK)(query[..., :1].expand(-1, -1, 7), key)


def test_watchers_are_called_once_a_read(given: tuple[Tensor, Tensor, Tensor, Mask]) -> None:
    query, key, value, mask = given
    module = reader("additive-past", "addressing", 2)
    with regard.capture(module) as seen:
        module(query, key, value, mask)
    assert len(seen[""]) == 1
