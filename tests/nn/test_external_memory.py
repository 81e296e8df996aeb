"""A memory that all sequences share: equal to a copy for each of them, in pieces, and by its nearest entries."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import regard
from regard import Mask
from regard.models import AttentionConfig
from regard.nn import Attention, Dot, Memory, MultiHead, ScaledDot
from regard.nn import external_memory as module
from regard.nn.attention_module import AttentionModule
from regard.nn.external_memory import ExternalMemory
from regard.nn.shared_memory import SharedMemory
from tests.mechanism import assert_close

READERS = {
    "scaled dot": AttentionConfig(score="scaled_dot", num_heads=2),
    "general": AttentionConfig(score="general"),
    "additive": AttentionConfig(),
    "dot": AttentionConfig(score="dot"),
}
LENGTHS = [7, 4, 1]


def heads() -> MultiHead:
    return MultiHead(ScaledDot(6, 6, 3, num_heads=2), value_dim=6, head_dim=3, output_dim=6).double()


def copied(attention: AttentionModule, query: Tensor, source: Tensor, stored: Tensor) -> regard.ops.Attended:
    """The definition: the stored states behind each source."""
    rows = stored.expand(len(source), -1, -1)
    mask = Mask.padding(LENGTHS).embed(0, source.shape[1], stored.shape[1])
    return attention(query, torch.cat((source, rows), dim=1), mask=mask)


def beside(attention: AttentionModule, source: Tensor, stored: Tensor, nearest: int | None = None) -> ExternalMemory:
    own = SharedMemory(attention.remember(source, mask=Mask.padding(LENGTHS)))
    return ExternalMemory(own, attention.remember(stored), nearest)


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("name", READERS)
def test_it_is_read_as_if_each_sequence_had_its_copy(name: str, steps: int) -> None:
    attention = READERS[name](6, 6).double().eval()
    source, stored, query = (torch.randn(*size).double() for size in ((3, 7, 6), (1, 11, 6), (3, steps, 6)))
    shared, alone = (
        beside(attention, source, stored).read(attention, query, None),
        copied(attention, query, source, stored),
    )
    assert_close(shared.context, alone.context, tolerance=1e-12)
    assert_close(shared.weights(), alone.weights(), tolerance=1e-12)
    assert shared.shape == alone.shape
    assert shared.state.step == steps


def test_a_beam_reads_what_its_sequences_read() -> None:
    attention, source, stored = heads().eval(), torch.randn(3, 7, 6).double(), torch.randn(1, 11, 6).double()
    memory, rows = beside(attention, source, stored, nearest=4), torch.tensor([0, 0, 1, 1, 2, 2])
    query = torch.randn(6, 1, 6).double()
    beam = memory.select(rows)
    assert beam.external is memory.external
    assert beam.own is not None
    assert beam.own.copies == 2
    alone = ExternalMemory(SharedMemory(memory.own.memory.select(rows)), memory.external, 4)
    assert_close(beam.read(attention, query, None).context, alone.read(attention, query, None).context, tolerance=1e-12)
    left = beam.select(torch.tensor([5, 4]))
    assert_close(
        left.read(attention, query[:2], None).weights(),
        alone.select(torch.tensor([5, 4])).read(attention, query[:2], None).weights(),
        tolerance=1e-12,
    )


@pytest.mark.parametrize("nearest", [None, 3])
def test_pieces_change_nothing(nearest: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    attention, source, query = heads(), torch.randn(3, 7, 6).double(), torch.randn(3, 5, 6).double()
    stored = torch.randn(1, 23, 6).double().requires_grad_()

    def read() -> tuple[Tensor, Tensor]:
        context = beside(attention, source, stored, nearest).read(attention, query, None).context
        return context, torch.autograd.grad(context.square().sum(), stored)[0]

    whole, slopes = read()
    monkeypatch.setattr(module, "_HELD", 1)
    monkeypatch.setattr(module, "_LEAST", 5)
    pieces, again = read()
    assert_close(pieces, whole, tolerance=1e-12)
    assert_close(again, slopes, tolerance=1e-12)


def test_the_nearest_are_those_with_the_largest_energies() -> None:
    attention, source = heads().eval(), torch.randn(3, 7, 6).double()
    stored, query = torch.randn(1, 11, 6).double(), torch.randn(3, 5, 6).double()
    near, every = (beside(attention, source, stored, k).read(attention, query, None) for k in (2, None))
    largest = every.weights()[..., 7:].topk(2).indices
    weights = near.weights()
    assert ((weights[..., 7:] > 0).sum(-1) == 2).all()
    assert_close(weights.sum(-1), torch.ones(3, 2, 5).double(), tolerance=1e-12)
    kept = every.weights().clone()
    kept[..., 7:] = torch.zeros_like(kept[..., 7:]).scatter(-1, largest, every.weights()[..., 7:].gather(-1, largest))
    assert_close(weights, kept / kept.sum(-1, keepdim=True), tolerance=1e-12)
    assert_close(
        beside(attention, source, stored, 11).read(attention, query, None).context, every.context, tolerance=1e-12
    )


@pytest.mark.parametrize("nearest", [None, 2])
def test_gradients(nearest: int | None) -> None:
    attention, mask = heads(), Mask.padding([3, 2])

    def read(query: Tensor, source: Tensor, stored: Tensor) -> Tensor:
        own = SharedMemory(attention.remember(source, mask=mask))
        return ExternalMemory(own, attention.remember(stored), nearest).read(attention, query, None).context

    sizes = ((2, 2, 6), (2, 3, 6), (1, 5, 6))
    assert torch.autograd.gradcheck(read, tuple(torch.randn(*size).double().requires_grad_() for size in sizes))


def test_alone_and_by_hand() -> None:
    attention = Attention(Dot())
    key = torch.tensor([[[[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]]]])
    memory = ExternalMemory(None, Memory(key, torch.tensor([[[[1.0], [2.0], [4.0]]]])), nearest=1)
    out = memory.read(attention, torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]).expand(3, 2, 2), None)
    assert out.context.squeeze(-1).tolist() == [[2.0, 4.0]] * 3
    assert out.topk(1).keys.squeeze(-1).tolist() == [[1, 2]] * 3


@pytest.mark.parametrize("nearest", [None, 8])
def test_a_million_entries(nearest: int | None) -> None:
    attention, place = Attention(Dot()), 765_432
    key = torch.zeros(1, 1, 1_000_000, 2)
    key[0, 0, place] = torch.tensor([40.0, 0.0])
    value = torch.arange(1_000_000.0).view(1, 1, -1, 1)
    with torch.no_grad():
        out = ExternalMemory(None, Memory(key, value), nearest).read(attention, torch.ones(5, 1, 2), None)
    assert out.context.flatten().tolist() == pytest.approx([place] * 5, rel=1e-5)
    assert out.weights(rows=0).argmax(-1).flatten().tolist() == [place] * 5


def test_a_row_with_nothing_of_its_own_reads_the_memory() -> None:
    attention, stored = heads(), torch.randn(1, 5, 6).double()
    own = SharedMemory(attention.remember(torch.randn(2, 3, 6).double(), mask=Mask.padding([0, 3])))
    query = torch.randn(2, 1, 6).double().requires_grad_()
    out = ExternalMemory(own, attention.remember(stored)).read(attention, query, None)
    assert out.weights()[0, :, :, :3].abs().sum() == 0
    out.context.sum().backward()
    assert query.grad is not None
    assert query.grad.isfinite().all()


def test_whoever_watches_sees_it() -> None:
    attention = heads().eval()
    with regard.capture(attention) as seen:
        beside(attention, torch.randn(3, 7, 6).double(), torch.randn(1, 11, 6).double()).read(
            attention, torch.randn(3, 1, 6).double(), None
        )
    assert seen.weights("").shape == (3, 2, 1, 18)


def test_what_is_refused() -> None:
    empty, rows = Memory(torch.zeros(1, 1, 0, 2), torch.zeros(1, 1, 0, 2)), torch.zeros(2, 1, 3, 2)
    with pytest.raises(ValueError, match="is empty; remember at least one entry"):
        ExternalMemory(None, empty)
    with pytest.raises(ValueError, match="has one row, without a mask; got 2 rows"):
        ExternalMemory(None, Memory(rows, rows))
    with pytest.raises(ValueError, match="at least 1; got 0"):
        ExternalMemory(None, Memory(rows[:1], rows[:1]), nearest=0)
    local = AttentionConfig(score="dot", align="local_m")(6, 6)
    with pytest.raises(ValueError, match="got Dot with LocalM"):
        ExternalMemory(None, local.remember(torch.randn(1, 4, 6))).read(local, torch.randn(2, 1, 6), None)
    placed = heads().float()
    own = SharedMemory(placed.remember(torch.randn(2, 3, 6), mask=Mask.causal()))
    with pytest.raises(ValueError, match="the source has padding and no other mask"):
        ExternalMemory(own, placed.remember(torch.randn(1, 4, 6))).read(placed, torch.randn(2, 3, 6), None)
