"""MultiHead: equal to what PyTorch has, to H single heads, and to itself step by step."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from regard import Mask
from regard.nn import Additive, Attention, Bilinear, Cosine, Dot, Memory, MultiHead, ScaledDot, Score
from tests.mechanism import assert_close

WIDTH, HEADS, BATCH, QUERIES, KEYS = 12, 3, 2, 5, 7


def twins(*, key_dim: int = WIDTH, value_dim: int = WIDTH, bias: bool = True) -> tuple[MultiHead, nn.Module]:
    """Our module and PyTorch's with the same weights, in float64."""
    theirs = nn.MultiheadAttention(
        WIDTH, HEADS, bias=bias, kdim=key_dim, vdim=value_dim, batch_first=True, dtype=torch.float64
    )
    head = WIDTH // HEADS
    score = ScaledDot(WIDTH, key_dim, hidden_dim=head, num_heads=HEADS, bias=bias)
    ours = MultiHead(score, value_dim=value_dim, head_dim=head, output_dim=WIDTH, bias=bias).double()
    with torch.no_grad():
        for mine, (weight, offset) in zip(maps(ours), their_maps(theirs), strict=True):
            mine.weight.copy_(weight)
            if offset is not None:
                mine.bias.copy_(offset.normal_())
    return ours, theirs


def maps(ours: MultiHead) -> list[nn.Linear]:
    """W^Q, W^K, W^V, W^O."""
    found = (ours.score.query_map, ours.score.key_map, ours.value_map, ours.output_map)
    return [layer for layer in found if isinstance(layer, nn.Linear)]


def their_maps(theirs: nn.MultiheadAttention) -> list[tuple[Tensor, Tensor | None]]:
    """The same of PyTorch's module, as views of its parameters."""
    if theirs.in_proj_weight is None:
        weights = (theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight)
    else:
        weights = theirs.in_proj_weight.chunk(3)
    biases = (None,) * 3 if theirs.in_proj_bias is None else theirs.in_proj_bias.chunk(3)
    return [*zip(weights, biases, strict=True), (theirs.out_proj.weight, theirs.out_proj.bias)]


def their_gradients(theirs: nn.MultiheadAttention) -> list[Tensor]:
    """Gradients of W^Q, W^K, W^V, W^O."""
    parts = (theirs.in_proj_weight, theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight)
    grads = [part.grad for part in parts if part is not None]
    first = grads[0].chunk(3) if len(grads) == 1 else grads
    return [*first, theirs.out_proj.weight.grad]


def assert_same(
    ours: MultiHead, theirs: nn.Module, inputs: tuple[Tensor, ...], mask: Mask | None, **their_mask: object
) -> None:
    """Contexts, weights of every head, and gradients of inputs and maps."""
    mine = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    yours = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    out = ours(*mine, mask=mask)
    query, key, value = (yours * 3)[:3] if len(yours) == 1 else yours
    context, weights = theirs(query, key, value, average_attn_weights=False, **their_mask)
    assert_close(out.context, context.detach(), tolerance=1e-10)
    assert_close(out.weights(), weights.detach(), tolerance=1e-10)
    probe = torch.randn_like(context)
    (out.context * probe).sum().backward()
    (context * probe).sum().backward()
    for tensor, other in zip(mine, yours, strict=True):
        assert tensor.grad is not None
        assert other.grad is not None
        assert_close(tensor.grad, other.grad, tolerance=1e-10)
    assert isinstance(theirs, nn.MultiheadAttention)
    for layer, grad in zip(maps(ours), their_gradients(theirs), strict=True):
        assert layer.weight.grad is not None
        assert_close(layer.weight.grad, grad, tolerance=1e-10)


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64)


@pytest.mark.parametrize("bias", [True, False])
def test_self_attention_is_pytorchs(bias: bool) -> None:
    ours, theirs = twins(bias=bias)
    assert_same(ours, theirs, (normal(BATCH, QUERIES, WIDTH),), None)


@pytest.mark.parametrize("bias", [True, False])
def test_cross_attention_is_pytorchs(bias: bool) -> None:
    ours, theirs = twins(key_dim=5, value_dim=11, bias=bias)
    inputs = normal(BATCH, QUERIES, WIDTH), normal(BATCH, KEYS, 5), normal(BATCH, KEYS, 11)
    assert_same(ours, theirs, inputs, None)


def test_padding_is_pytorchs_upside_down() -> None:
    """There True means padding; here a mask says what may be attended."""
    ours, theirs = twins()
    inputs = normal(BATCH, QUERIES, WIDTH), normal(BATCH, KEYS, WIDTH), normal(BATCH, KEYS, WIDTH)
    lengths = torch.tensor([KEYS, 4])
    ignored = torch.arange(KEYS) >= lengths[:, None]
    assert_same(ours, theirs, inputs, Mask.padding(lengths), key_padding_mask=ignored)


def test_causal_is_pytorchs_upside_down() -> None:
    ours, theirs = twins()
    forbidden = torch.ones(QUERIES, QUERIES).bool().triu(1)
    assert_same(ours, theirs, (normal(BATCH, QUERIES, WIDTH),), Mask.causal(), attn_mask=forbidden)


def test_causal_and_padding_together_are_pytorchs() -> None:
    ours, theirs = twins()
    lengths = torch.tensor([QUERIES, 3])
    assert_same(
        ours,
        theirs,
        (normal(BATCH, QUERIES, WIDTH),),
        Mask.padding(lengths) & Mask.causal(),
        key_padding_mask=torch.arange(QUERIES) >= lengths[:, None],
        attn_mask=torch.ones(QUERIES, QUERIES).bool().triu(1),
    )


def test_nothing_to_attend_to_leaves_the_bias_of_the_output_map() -> None:
    """The heads are zero, where PyTorch's module gives NaN; W^O adds its bias to that as to anything."""
    ours, _ = twins()
    out = ours(normal(BATCH, QUERIES, WIDTH), mask=Mask.padding([QUERIES, 0]))
    assert ours.output_map is not None
    assert_close(out.context[1], ours.output_map.bias.detach().expand(QUERIES, WIDTH))
    assert (out.weights()[1] == 0).all()


def _one_additive(score: Score, head: int) -> Score:
    assert isinstance(score, Additive)
    single = Additive(6, 5, hidden_dim=4)
    assert single.query_map is not None
    assert single.key_map is not None
    assert score.query_map is not None
    assert score.key_map is not None
    single.query_map.weight.copy_(score.query_map.weight[4 * head : 4 * head + 4])
    single.key_map.weight.copy_(score.key_map.weight[4 * head : 4 * head + 4])
    single.weight.copy_(score.weight[head : head + 1])
    return single


def _one_bilinear(score: Score, head: int) -> Score:
    assert isinstance(score, Bilinear)
    single = Bilinear(6, 5)
    single.weight.copy_(score.weight[head : head + 1])
    return single


def _one_cosine(score: Score, head: int) -> Score:
    assert isinstance(score, Cosine)
    single = Cosine(6, 5)
    assert single.query_map is not None
    assert score.query_map is not None
    for mine, all_heads, rows in (
        (single.query_map, score.query_map, slice(5 * head, 5 * head + 5)),
        (single.strength_map, score.strength_map, slice(head, head + 1)),
    ):
        mine.weight.copy_(all_heads.weight[rows])
        mine.bias.copy_(all_heads.bias[rows])
    return single


@pytest.mark.parametrize(
    ("score", "single"),
    [
        (lambda: Additive(6, 5, hidden_dim=4, num_heads=HEADS), _one_additive),
        (lambda: Bilinear(6, 5, num_heads=HEADS), _one_bilinear),
        (lambda: Cosine(6, 5, num_heads=HEADS), _one_cosine),
    ],
    ids=["additive", "bilinear", "cosine"],
)
@torch.no_grad()
def test_many_heads_are_single_heads_side_by_side(
    score: Callable[[], Score], single: Callable[[Score, int], Score]
) -> None:
    together = MultiHead(score(), value_dim=7, head_dim=2, output_dim=None)
    query, key, value, mask = torch.randn(2, 4, 6), torch.randn(2, 9, 5), torch.randn(2, 9, 7), Mask.padding([9, 4])
    out = together(query, key, value, mask)
    assert together.value_map is not None
    values = together.value_map(value).split(2, dim=2)
    alone = [Attention(single(together.score, h))(query, key, values[h], mask) for h in range(HEADS)]
    assert_close(out.weights(), torch.stack([one.weights() for one in alone], dim=1).double(), tolerance=1e-5)
    assert_close(out.context, torch.cat([one.context for one in alone], dim=2).double(), tolerance=1e-5)


def test_without_head_dim_every_head_reads_the_values_as_they_are() -> None:
    attention = MultiHead(Dot(6, 5, hidden_dim=4, num_heads=HEADS), value_dim=7)
    assert attention.value_map is None
    assert attention.output_map is None
    value = torch.randn(2, 9, 7)
    out = attention(torch.randn(2, 4, 6), torch.randn(2, 9, 5), value)
    assert out.context.shape == (2, 4, HEADS * 7)
    for h, context in enumerate(out.context.split(7, dim=2)):
        assert_close(context, (out.weights()[:, h] @ value).double(), tolerance=1e-5)


def test_without_output_dim_contexts_stay_concatenated() -> None:
    attention = MultiHead(Dot(6, 5, hidden_dim=4, num_heads=HEADS), value_dim=7, head_dim=2)
    key, value = torch.randn(2, 9, 5), torch.randn(2, 9, 7)
    out = attention(torch.randn(2, 4, 6), key, value)
    assert attention.value_map is not None
    for h, (context, values) in enumerate(
        zip(out.context.split(2, dim=2), attention.value_map(value).split(2, dim=2), strict=True)
    ):
        assert_close(context, (out.weights()[:, h] @ values).detach().double(), tolerance=1e-5)


SCORES: dict[str, Callable[[], Score]] = {
    "additive": lambda: Additive(6, 6, hidden_dim=4, num_heads=HEADS),
    "bilinear": lambda: Bilinear(6, 6, num_heads=HEADS),
    "cosine": lambda: Cosine(6, 6, num_heads=HEADS),
    "dot": lambda: Dot(6, 6, hidden_dim=4, num_heads=HEADS),
    "scaled_dot": lambda: ScaledDot(6, 6, hidden_dim=4, num_heads=HEADS),
}


@pytest.mark.parametrize("chunks", [[1] * 5, [2, 3], [4, 1]], ids=str)
@pytest.mark.parametrize("mask", [Mask.causal(), Mask.window(2)], ids=str)
@pytest.mark.parametrize("name", SCORES)
def test_a_growing_memory_is_the_causal_mask(name: str, mask: Mask, chunks: list[int]) -> None:
    """A KV cache: each chunk of queries reads what has been remembered so far, itself included."""
    attention = MultiHead(SCORES[name](), value_dim=6, head_dim=2, output_dim=6)
    x = torch.randn(2, 5, 6)
    at_once = attention(x, mask=mask)
    memory: Memory | None = None
    state, contexts = None, []
    for part in x.split(chunks, dim=1):
        new = attention.remember(part, mask=mask)
        memory = new if memory is None else memory.append(new)
        out = attention.read(part, memory, state)
        state = out.state
        contexts.append(out.context)
    assert state is not None
    assert state.step == 5
    assert_close(torch.cat(contexts, dim=1), at_once.context.detach().double(), tolerance=1e-5)


@pytest.mark.parametrize("name", SCORES)
def test_one_word_at_a_time_needs_no_mask(name: str) -> None:
    attention = MultiHead(SCORES[name](), value_dim=6, head_dim=2, output_dim=6)
    x = torch.randn(2, 5, 6)
    memory = attention.remember(x[:, :0])
    contexts = []
    for word in x.split(1, dim=1):
        memory = memory.append(attention.remember(word))
        contexts.append(attention.read(word, memory).context)
    assert_close(torch.cat(contexts, dim=1), attention(x, mask=Mask.causal()).context.detach().double(), tolerance=1e-5)


@pytest.mark.parametrize("name", SCORES)
def test_a_batch_is_its_sequences(name: str) -> None:
    """Neither the company nor the padding of a sequence changes its result."""
    attention = MultiHead(SCORES[name](), value_dim=6, head_dim=2, output_dim=6)
    x, lengths = torch.randn(3, 5, 6), [5, 2, 3]
    together = attention(x, mask=Mask.padding(lengths) & Mask.causal())
    for row, length in enumerate(lengths):
        alone = attention(x[row : row + 1, :length], mask=Mask.causal())
        assert_close(together.context[row, :length], alone.context[0].detach().double(), tolerance=1e-5)
