"""Key-value attention."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.nn import Additive, Attention, Dot, KeyValue, MultiHead, ScaledDot
from regard.ops import Attended, split_key_value
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    key, value = split_key_value(torch.randn(2, 5, 18), key_dim=7)
    assert key.shape == (2, 5, 7)
    assert value.shape == (2, 5, 11)
    attention = KeyValue(Attention(Additive(query_dim=3, key_dim=7, hidden_dim=13)), key_dim=7)
    out = attention(torch.randn(2, 17, 3), torch.randn(2, 5, 18))
    assert out.context.shape == (2, 17, 11)
    assert out.weights().shape == (2, 17, 5)


def test_value_by_hand() -> None:
    """Found by the first channel (energies 2 and 1), read from the second (10 and 20)."""
    attention = KeyValue(Attention(Dot()), key_dim=1)
    out = attention(torch.tensor([[[1.0]]]), torch.tensor([[[2.0, 10.0], [1.0, 20.0]]]))
    first = math.e / (1 + math.e)
    assert_close(out.weights(), [[[first, 1 - first]]])
    assert_close(out.context, [[[10 * first + 20 * (1 - first)]]])


def test_mask() -> None:
    attention = KeyValue(Attention(Additive(query_dim=3, key_dim=4, hidden_dim=5)), key_dim=4)
    query, memory = torch.randn(2, 2, 3), torch.randn(2, 7, 10)
    out = attention(query, memory, Mask.padding([4, 0]))
    assert (out.weights()[0, :, 4:] == 0).all()
    assert_close(out.weights()[0].sum(-1), torch.ones(2))
    assert (out.context[1] == 0).all()
    assert_close(out.context[:1], attention(query[:1], memory[:1, :4]).context.detach().double(), tolerance=1e-5)


def test_gradients() -> None:
    attention = KeyValue(Attention(Additive(query_dim=3, key_dim=2, hidden_dim=5)), key_dim=2).double()
    mask = Mask.padding([3, 0])

    def read(query, memory):  # type: ignore[no-untyped-def]
        out = attention(query, memory, mask)
        return out.context, out.weights()

    check_gradients(read, torch.randn(2, 2, 3), torch.randn(2, 4, 5))


def test_the_key_part_alone_finds_and_the_value_part_alone_is_read() -> None:
    attention = KeyValue(Attention(Additive(query_dim=3, key_dim=4, hidden_dim=5)), key_dim=4)
    query, memory = torch.randn(2, 2, 3), torch.randn(2, 7, 10)
    before = attention(query, memory)
    other_values = torch.cat((memory[..., :4], torch.randn(2, 7, 6)), dim=2)
    assert torch.equal(attention(query, other_values).weights(), before.weights())
    doubled = torch.cat((memory[..., :4], 2 * memory[..., 4:]), dim=2)
    assert_close(attention(query, doubled).context, 2 * before.context.detach().double(), tolerance=1e-5)


def test_module_computes_the_equation() -> None:
    """u g(W¹ v_k + W² q) and Σ α v_v, as the notes have it."""
    score = Additive(query_dim=3, key_dim=4, hidden_dim=5)
    query, memory = torch.randn(2, 2, 3), torch.randn(2, 7, 10)
    assert score.query_map is not None
    assert score.key_map is not None
    v_k, v_v = memory[..., :4], memory[..., 4:]
    hidden = torch.tanh((v_k @ score.key_map.weight.T).unsqueeze(1) + (query @ score.query_map.weight.T).unsqueeze(2))
    expected = (hidden @ score.weight[0]).softmax(-1) @ v_v
    assert_close(
        KeyValue(Attention(score), key_dim=4)(query, memory).context, expected.detach().double(), tolerance=1e-5
    )


def test_several_heads() -> None:
    """The notes' multi-head key-value attention: v_k W_k against q W_q over √d_k, summaries of v_v W_v."""
    heads = MultiHead(ScaledDot(3, 4, hidden_dim=5, num_heads=2), value_dim=6, head_dim=7, output_dim=11)
    query, memory = torch.randn(2, 2, 3), torch.randn(2, 9, 10)
    out = KeyValue(heads, key_dim=4)(query, memory)
    assert out.weights().shape == (2, 2, 2, 9)
    assert_close(out.context, heads(query, memory[..., :4], memory[..., 4:]).context.detach().double())


def test_step_by_step_is_all_at_once() -> None:
    attention = KeyValue(Attention(Additive(query_dim=3, key_dim=4, hidden_dim=5)), key_dim=4)
    query, states, mask = torch.randn(2, 4, 3), torch.randn(2, 7, 10), Mask.padding([7, 3])
    memory = attention.remember(states, mask)
    state, contexts = attention.start(memory), []
    for row in query.split(1, dim=1):
        out = attention.read(row, memory, state)
        state = out.state
        contexts.append(out.context)
    assert state.step == 4
    assert_close(torch.cat(contexts, dim=1), attention(query, states, mask).context.detach().double(), tolerance=1e-5)


def test_the_wrapped_reader_is_the_one_that_is_watched() -> None:
    reader = Attention(Dot())
    seen: list[Attended] = []
    reader.watch(seen.append)
    out = KeyValue(reader, key_dim=3)(torch.randn(2, 4, 3), torch.randn(2, 7, 5))
    assert len(seen) == 1
    assert seen[0] is out


def test_bad_shapes_are_named() -> None:
    for key_dim in (0, 5, 6, -1):
        with pytest.raises(ValueError, match=rf"shape \[2, 3, 5\] cannot give {key_dim} .* between 1 and 4"):
            split_key_value(torch.randn(2, 3, 5), key_dim)
    with pytest.raises(ValueError, match=r"memory must be \[B, S, C\]; got shape \[3, 5\]"):
        split_key_value(torch.randn(3, 5), 2)
