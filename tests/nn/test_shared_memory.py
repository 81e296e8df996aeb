"""A source that the hypotheses of a beam share."""

from __future__ import annotations

import pytest
import torch

import regard
from regard import Mask
from regard.models import AttentionConfig
from regard.nn import Memory, packed_copy
from regard.nn.shared_memory import SharedMemory
from tests.mechanism import assert_close

READERS = {
    "additive": AttentionConfig(),
    "general": AttentionConfig(score="general"),
    "scaled dot heads": AttentionConfig(score="scaled_dot", num_heads=2),
    "key-value": AttentionConfig(key_value=True),
    "terms": AttentionConfig(terms=("position", "markov")),
    "local-m": AttentionConfig(score="dot", align="local_m"),
}


@pytest.mark.parametrize("name", READERS)
def test_reading_together_is_reading_alone(name: str) -> None:
    attention = READERS[name](6, 6).eval().double()
    source, query = torch.randn(2, 5, 6).double(), torch.randn(6, 1, 6).double()
    rows = torch.tensor([0, 0, 0, 1, 1, 1])
    memory = attention.remember(source, mask=Mask.padding([5, 3]))
    shared, own, state = SharedMemory(memory).select(rows), memory.select(rows), attention.start(memory).select(rows)
    assert shared.memory is memory
    together, alone = shared.read(attention, query, state), attention.read(query, own, state)
    assert_close(together.context, alone.context, tolerance=1e-12)
    assert_close(together.weights(), alone.weights(), tolerance=1e-12)
    assert together.shape == alone.shape
    assert together.state.step == alone.state.step == 1


@pytest.mark.parametrize("mask", [None, Mask.padding([5, 3]), Mask.padding([4, 0])])
@pytest.mark.parametrize("copies", [1, 3])
def test_a_packed_additive_read_is_the_read(mask: Mask | None, copies: int) -> None:
    plain = AttentionConfig(hidden_dim=256)(192, 192).to("cpu").eval()
    with torch.no_grad():
        plain.score.weight.mul_(5.0)  # weights far from even
    packed = packed_copy(plain)
    source, query = torch.randn(2, 5, 192, device="cpu"), torch.randn(2 * copies, 1, 192, device="cpu")
    with torch.inference_mode():
        shared = SharedMemory(plain.remember(source, mask=mask), copies)
        state = plain.start(shared.memory)
        assert shared._quick(packed, query)
        assert not shared._quick(plain, query)
        wanted, found = shared.read(plain, query, state), shared.read(packed, query, state)
    assert_close(found.context, wanted.context, tolerance=2e-5)
    assert_close(found.weights(), wanted.weights(), tolerance=2e-5)
    assert found.shape == wanted.shape
    assert found.state.step == wanted.state.step == 1


def test_uneven_rows_are_copied() -> None:
    memory = Memory(torch.arange(3.0)[:, None, None, None], torch.zeros(3, 1, 1, 1))
    for order in ([0, 0, 0, 2], [2, 1], [1, 1, 0, 0], [0, 0, 1, 1, 2, 2]):
        chosen = SharedMemory(memory).select(torch.tensor(order))
        assert chosen.memory.key.flatten().repeat_interleave(chosen.copies).tolist() == order
        again = chosen.select(torch.tensor([1, 0]))
        assert again.memory.key.flatten().repeat_interleave(again.copies).tolist() == [order[1], order[0]]


def test_nobody_may_be_left() -> None:
    memory = Memory(torch.zeros(3, 1, 2, 4), torch.zeros(3, 1, 2, 4))
    assert SharedMemory(memory, 2).select(torch.tensor([], dtype=torch.long)).memory.key.shape == (0, 1, 2, 4)


def test_whoever_watches_sees_each_sequence() -> None:
    attention = AttentionConfig(score="scaled_dot", num_heads=2)(6, 6).eval()
    shared = SharedMemory(attention.remember(torch.randn(2, 5, 6)), 3)
    with regard.capture(attention) as seen:
        shared.read(attention, torch.randn(6, 1, 6), None)
    assert seen.weights("").shape == (6, 2, 1, 5)
