"""Memory: growing and reordering, masks along."""

from __future__ import annotations

import pytest
import torch

from regard import Mask
from regard.masks import MaskShapeError
from regard.nn import Memory


def memory(size: int, mask: Mask | None = None) -> Memory:
    """Two sequences, three heads, keys of width 5, values of width 7."""
    return Memory(torch.randn(2, 3, size, 5), torch.randn(2, 3, size, 7), mask)


def rows(mask: Mask | None, size: int) -> list[list[int]]:
    """What each sequence may attend to with one query."""
    assert mask is not None
    return mask.allowed((2, 3, 1, size)).expand(2, 3, 1, size)[:, 0, 0].int().tolist()


def test_lengths() -> None:
    assert memory(4).lengths.tolist() == [4, 4]
    assert memory(4, Mask.padding([4, 2])).lengths.tolist() == [4, 2]
    assert memory(4, Mask.padding([4, 2]) & Mask.causal()).lengths.tolist() == [4, 2]
    assert memory(4, Mask.causal()).lengths.tolist() == [4, 4]
    assert memory(4, Mask.padding([4, 2]) | Mask.window(1)).lengths.tolist() == [4, 4]
    assert memory(0).lengths.tolist() == [0, 0]
    assert memory(0, Mask.padding([0, 0])).lengths.tolist() == [0, 0]


def test_lengths_lie_where_the_keys_lie() -> None:
    there = Memory(torch.empty(2, 1, 3, 5, device="meta"), torch.empty(2, 1, 3, 5, device="meta"))
    assert there.lengths.device.type == "meta"
    masked = Memory(there.key, there.value, Mask.padding([3, 1]) & Mask.of(torch.ones(3).bool().to("meta")))
    assert masked.lengths.device.type == "meta", "though the parts of its mask lie elsewhere"


def test_appending_joins_keys_and_values() -> None:
    first, second = memory(4), memory(3)
    both = first.append(second)
    assert both.size == 7
    assert torch.equal(both.key[:, :, :4], first.key)
    assert torch.equal(both.key[:, :, 4:], second.key)
    assert torch.equal(both.value[:, :, 4:], second.value)
    assert both.mask is None
    assert first.size == 4, "the old memory is untouched"


def test_what_a_reader_makes_of_a_memory_is_made_once() -> None:
    first, made = memory(4), []

    def size(read: Memory) -> int:
        made.append(read)
        return read.size

    assert [first.once("one", size), first.once("one", size), first.once("other", size)] == [4, 4, 4]
    assert made == [first, first], "once for each reader"
    assert first.select(torch.tensor([1])).once("one", size) == 4
    assert len(made) == 3, "another memory is read anew"


def test_each_mask_speaks_of_its_own_part() -> None:
    padded, plain, other = memory(3, Mask.padding([3, 1])), memory(2), memory(2, Mask.padding([0, 1]))
    assert rows(padded.append(plain).mask, 5) == [[1, 1, 1, 1, 1], [1, 0, 0, 1, 1]]
    assert rows(plain.append(padded).mask, 5) == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert rows(padded.append(other).mask, 5) == [[1, 1, 1, 0, 0], [1, 0, 0, 1, 0]]
    again = padded.append(other).append(plain)
    assert rows(again.mask, 7) == [[1, 1, 1, 0, 0, 1, 1], [1, 0, 0, 1, 0, 1, 1]]
    assert again.lengths.tolist() == [7, 7]
    assert padded.append(other).lengths.tolist() == [3, 4]


def test_a_mask_by_place_is_kept_once() -> None:
    both = memory(3, Mask.causal()).append(memory(2, Mask.causal()))
    assert both.mask == Mask.causal()
    assert memory(3).append(memory(2, Mask.causal())).mask == Mask.causal()


def test_a_mask_by_query_cannot_be_appended_to() -> None:
    with pytest.raises(MaskShapeError, match="cannot follow a growing memory"):
        memory(3, Mask.of(torch.ones(4, 3).bool())).append(memory(1))


def test_selecting_reorders_keys_values_and_masks() -> None:
    before = memory(4, Mask.padding([4, 2]))
    chosen = before.select(torch.tensor([1, 1, 0]))
    assert torch.equal(chosen.key, before.key[[1, 1, 0]])
    assert torch.equal(chosen.value, before.value[[1, 1, 0]])
    assert chosen.mask == Mask.padding([2, 2, 4])
    assert chosen.lengths.tolist() == [2, 2, 4]
    assert memory(4).select(torch.tensor([1])).mask is None


def test_selecting_and_appending_commute() -> None:
    """A beam is reordered before or after the next word is remembered: the same memory."""
    past, word, order = memory(3, Mask.padding([3, 1])), memory(1, Mask.padding([1, 0])), torch.tensor([1, 0])
    one, other = past.append(word).select(order), past.select(order).append(word.select(order))
    assert torch.equal(one.key, other.key)
    assert torch.equal(one.value, other.value)
    assert rows(one.mask, 4) == rows(other.mask, 4) == [[1, 0, 0, 0], [1, 1, 1, 1]]


def test_without_gradient_a_memory_stays_what_it_was() -> None:
    """Two continuations of one memory, a reordered one among them, and more entries than there is room for."""
    first, others = memory(4), [memory(1) for _ in range(30)]
    with torch.no_grad():
        begun = first.append(others[0])
        left, right, turned = begun.append(others[1]), begun.append(others[2]), begun.select(torch.tensor([1, 0]))
        turned = turned.append(others[3])
        longest = left
        for more in others[4:]:
            longest = longest.append(more)
    assert torch.equal(begun.key, torch.cat((first.key, others[0].key), 2))
    assert torch.equal(left.key, torch.cat((begun.key, others[1].key), 2))
    assert torch.equal(right.value, torch.cat((begun.value, others[2].value), 2))
    assert torch.equal(turned.key, torch.cat((begun.key.flip(0), others[3].key), 2))
    assert torch.equal(longest.value, torch.cat([left.value, *(more.value for more in others[4:])], 2))
