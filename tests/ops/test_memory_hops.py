"""Memory hops: reading several times with a better question."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.ops import insert_empty, memory_hop, memory_hops, position_encoding, slot_softmax, time_index
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    query, memories = torch.randn(2, 3, 5, 7), torch.randn(4, 2, 3, 11, 7)
    out = memory_hops(query, list(memories[:2]), list(memories[2:]))
    assert out.output.shape == (2, 3, 5, 7)
    assert [read.weights().shape for read in out.reads] == [(2, 3, 5, 11)] * 2
    assert position_encoding(3, 5).shape == (3, 5)
    assert position_encoding(torch.tensor([[3, 1], [0, 2]]), 5, size=7).shape == (2, 2, 7, 5)


def test_two_hops_by_hand() -> None:
    """u = 1 sees memories 0 and log 3: 1/4 and 3/4; it finds 8 and is 9. Then both memories are 0: it finds 2."""
    key, value = torch.tensor([[[[0.0], [math.log(3)]]]]), torch.tensor([[[[2.0], [10.0]]]])
    out = memory_hops(torch.ones(1, 1, 1, 1), [key, 0 * key], [value, 0 * value + 2])
    assert_close(out.reads[0].weights(), [[[[0.25, 0.75]]]])
    assert_close(out.reads[0].context, [[[[8.0]]]])
    assert_close(out.reads[1].weights(), [[[[0.5, 0.5]]]])
    assert_close(out.output, [[[[11.0]]]])
    half = memory_hops(torch.ones(1, 1, 1, 1), [key], [value], carry=torch.tensor([[0.5]]))
    assert_close(half.output, [[[[8.5]]]])


def test_the_linear_start_by_hand() -> None:
    """Without the softmax 2 u with memories 1 and -3 weighs them 2 and -6."""
    key = torch.tensor([[[[1.0], [-3.0]]]])
    out = memory_hop(torch.full((1, 1, 1, 1), 2.0), key, key, linear=True)
    assert_close(out.weights(), [[[[2.0, -6.0]]]])
    assert_close(out.context, [[[[20.0]]]])


def test_position_encoding_by_hand() -> None:
    """J = 4, d = 2: the first word (3/4) - (k/2)(1/2), the last (0) + (k/2)."""
    assert_close(position_encoding(4, 2)[[0, 3]], [[0.5, 0.25], [0.5, 1.0]])
    assert_close(position_encoding(1, 4), [[0.25, 0.5, 0.75, 1.0]])


def test_position_encoding_counts_the_sentence_s_own_words() -> None:
    """Company changes nothing: a sentence of two words in a batch of five is encoded as it is alone."""
    both = position_encoding(torch.tensor([2, 5, 0]), 3, size=6)
    assert_close(both[0, :2], position_encoding(2, 3).double())
    assert_close(both[1, :5], position_encoding(5, 3).double())
    assert (both[0, 2:] == 0).all()
    assert (both[2] == 0).all()


def test_the_most_recent_sentence_is_number_zero() -> None:
    assert time_index(torch.tensor([4, 2, 0]), 4).tolist() == [[3, 2, 1, 0], [1, 0, -1, -1], [-1] * 4]


def test_empty_memories_are_inserted_and_nothing_is_lost() -> None:
    story = torch.arange(1, 121).view(4, 10, 3)
    sentences = torch.tensor([10, 6, 1, 0])
    added = []
    for _ in range(50):
        words, counts = insert_empty(story, sentences, rate=0.3)
        added.append(counts - sentences)
        for b in range(4):
            kept = words[b, : counts[b]]
            assert torch.equal(kept[kept.any(-1)], story[b, : sentences[b]])
            assert int((~kept.any(-1)).sum()) == int(added[-1][b])
    total = torch.stack(added).sum(0)
    assert total[3] == 0
    assert 0.2 < total[0] / 500 < 0.4
    same = insert_empty(story, sentences, rate=0.0)
    assert torch.equal(same.words, story)
    assert torch.equal(same.sentences, sentences)


def test_mask() -> None:
    query, key, value = torch.randn(2, 1, 3, 5), torch.randn(2, 1, 7, 5), torch.randn(2, 1, 7, 5)
    out = memory_hops(query, [key, value], [value, key], Mask.padding([4, 0]))
    for read in out.reads:
        assert (read.weights()[0, ..., 4:] == 0).all()
        assert (read.context[1] == 0).all()
    assert_close(out.output[1], query[1].double())  # nothing read: the question stays
    key, value = key[:1, :, :4], value[:1, :, :4]
    assert_close(out.output[:1], memory_hops(query[:1], [key, value], [value, key]).output.double(), tolerance=1e-5)


@pytest.mark.parametrize("linear", [False, True])
def test_gradients(linear: bool) -> None:
    def hops(query, first, second, third, carry):  # type: ignore[no-untyped-def]
        out = memory_hops(query, [first, second], [second, third], Mask.padding([3, 0]), carry=carry, linear=linear)
        return out.output, out.reads[1].weights()

    memories = torch.randn(3, 2, 1, 4, 3)
    check_gradients(hops, torch.randn(2, 1, 2, 3), *memories, torch.randn(3, 3))


def test_a_second_hop_finds_what_only_the_first_points_to() -> None:
    """The property of hops. "Where is the ball?": Mary has the ball; Mary is in the garden."""
    ball, mary, garden = 20 * torch.eye(3)
    keys = torch.stack((ball, mary))[None, None]
    values = torch.stack((mary - ball, garden - mary))[None, None]
    question = (ball / 20)[None, None, None]
    one = memory_hops(question, [keys], [values])
    two = memory_hops(question, [keys, keys], [values, values])
    assert one.reads[0].alignment().item() == 0
    assert two.reads[1].alignment().item() == 1
    assert two.output.argmax().item() == 2


def test_empty_slots_are_memories_of_nothing() -> None:
    """A memory that is filled up with zeros, written out, has the same weights on what is there."""
    energy, mask = torch.randn(3, 2, 5, 7).double(), Mask.padding([7, 4, 0])
    weights = slot_softmax(energy, 11, mask)
    for row, length in enumerate((7, 4, 0)):
        filled = torch.cat((energy[row, ..., :length], torch.zeros(2, 5, 11 - length)), -1).softmax(-1)
        assert_close(weights[row, ..., :length], filled[..., :length])
        assert not weights[row, ..., length:].any()
    assert_close(slot_softmax(energy, 7), energy.softmax(-1))
    assert_close(slot_softmax(energy, 3), energy.softmax(-1))  # no slot is empty
    assert not slot_softmax(energy[2:], 0, Mask.padding([0])).any()
    check_gradients(lambda energy: slot_softmax(energy, 9, Mask.padding([2, 4, 0])), torch.randn(3, 1, 2, 4))


def test_bad_shapes_are_named() -> None:
    query, key = torch.randn(2, 1, 3, 5), torch.randn(2, 1, 7, 5)
    with pytest.raises(
        ValueError, match=r"memory_hops: query .* share B, H and D; got \[2, 1, 3, 5\] and \[2, 1, 7, 4"
    ):
        memory_hop(query, key[..., :4], key)
    with pytest.raises(ValueError, match="got 2 keys and 1 values"):
        memory_hops(query, [key, key], [key])
