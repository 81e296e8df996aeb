"""The writable memory of a Neural Turing Machine."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn import Addressing, Attention, Cosine, MultiHead, NTMHeads, NTMMemory
from regard.ops import Attended, ntm_read, ntm_write
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    memory, weights, vector = torch.randn(2, 11, 5), torch.rand(2, 3, 11), torch.rand(2, 3, 5)
    assert ntm_read(memory, weights).shape == (2, 3, 5)
    assert ntm_write(memory, weights, vector, vector).shape == (2, 11, 5)
    assert ntm_write(memory.bfloat16(), weights, vector, vector).dtype == torch.bfloat16


def test_value_by_hand() -> None:
    """Half of the focus, all of the first channel erased: (4, 4) keeps (2, 4), then half of (10, 20) is added."""
    memory, weights = torch.tensor([[[4.0, 4.0], [1.0, 1.0]]]), torch.tensor([[[0.5, 0.0]]])
    written = ntm_write(memory, weights, torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[10.0, 20.0]]]))
    assert_close(written, [[[7.0, 14.0], [1.0, 1.0]]])
    assert_close(ntm_read(written, torch.tensor([[[0.5, 0.5]]])), [[[4.0, 7.5]]])


def test_rows_without_weight_stay_bit_for_bit() -> None:
    """A weight of exactly zero is this memory's mask: neither erased, nor added to, nor read."""
    memory, vector = torch.randn(2, 7, 5), torch.rand(2, 3, 5)
    weights = torch.rand(2, 3, 7)
    weights[:, :, 4:] = 0.0
    written = ntm_write(memory, weights, vector, vector)
    assert torch.equal(written[:, 4:], memory[:, 4:])
    assert (written[:, :4] != memory[:, :4]).any(-1).all()
    rubbish = torch.cat((memory[:, :4], 50.0 * torch.randn(2, 3, 5)), 1)
    assert_close(ntm_read(rubbish, weights), ntm_read(memory, weights).double(), tolerance=1e-5)
    assert torch.equal(ntm_write(memory, torch.zeros(2, 3, 7), vector, vector), memory)


def test_gradients() -> None:
    def write(memory, weights, erase, add):  # type: ignore[no-untyped-def]
        weights = weights.softmax(-1)
        written = ntm_write(memory, weights, erase.sigmoid(), add.tanh())
        return written, ntm_read(written, weights)

    check_gradients(write, torch.randn(2, 4, 3), torch.randn(2, 2, 4), torch.randn(2, 2, 3), torch.randn(2, 2, 3))


def test_the_order_of_the_heads_does_not_matter() -> None:
    """All erase, then all add; one head after the other would let the second erase what the first added."""
    memory, weights = torch.randn(2, 7, 5).double(), torch.randn(2, 3, 7).double().softmax(-1)
    erase, add = torch.rand(2, 3, 5).double(), torch.randn(2, 3, 5).double()
    written = ntm_write(memory, weights, erase, add)
    order = [2, 0, 1]
    assert_close(ntm_write(memory, weights[:, order], erase[:, order], add[:, order]), written)
    in_turn = memory
    for h in range(3):
        in_turn = ntm_write(in_turn, weights[:, h : h + 1], erase[:, h : h + 1], add[:, h : h + 1])
    assert (in_turn - written).abs().max() > 1e-3


def test_several_heads_are_the_equation() -> None:
    memory, weights = torch.randn(1, 4, 3).double(), torch.rand(1, 2, 4).double()
    erase, add = torch.rand(1, 2, 3).double(), torch.randn(1, 2, 3).double()
    expected = memory.clone()
    for i in range(4):
        for h in range(2):
            expected[0, i] *= 1 - weights[0, h, i] * erase[0, h]
        for h in range(2):
            expected[0, i] += weights[0, h, i] * add[0, h]
    assert_close(ntm_write(memory, weights, erase, add), expected)


def walking(align: Addressing) -> None:
    """Set an addressing to ignore content and go one row ahead at every step."""
    for layer in (align.gate_map, align.shift_map, align.sharpness_map):
        nn.init.zeros_(layer.weight)
    nn.init.constant_(align.gate_map.bias, -100.0)
    align.shift_map.bias.data = torch.tensor([-100.0, -100.0, 100.0])


def test_copying_by_hand() -> None:
    """Write five vectors with a shift of +1, read them back with a shift of +1: a Turing machine that copies."""
    writer, reader = NTMHeads(query_dim=3, row_dim=3, reads=0), Attention(Cosine(3, 3), Addressing(3))
    assert isinstance(reader.align, Addressing)
    walking(writer.align)
    walking(reader.align)
    nn.init.constant_(writer.erase_map.bias, 100.0)
    nn.init.eye_(writer.add_map.weight)
    nn.init.zeros_(writer.add_map.bias)
    words, tape, state = torch.randn(2, 5, 3), NTMMemory.constant(batch=2, rows=8, width=3, value=0.5), None
    for word in words.split(1, 1):
        _, tape, state = writer(word, tape, state)
    out = reader(torch.zeros(2, 5, 3), tape.matrix)
    assert_close(out.context, words.tanh().double(), tolerance=1e-5)
    assert out.alignment().tolist() == [[1, 2, 3, 4, 5]] * 2  # w_0 is on row 0, and the first step leaves it
    assert_close(tape.matrix[:, [0, 6, 7]], torch.full((2, 3, 3), 0.5))


def test_heads_are_addressing_reading_erasing_and_adding() -> None:
    head = NTMHeads(query_dim=7, row_dim=5, reads=3, writes=2).double()
    twin = MultiHead(head.score, head.align, value_dim=5)
    query, tape = torch.randn(3, 1, 7).double(), NTMMemory(torch.randn(3, 11, 5).double())
    seen: list[Attended] = []
    handle = head.watch(seen.append)
    read, written, state = head(query, tape)
    handle.remove()
    out = twin(query, tape.matrix)
    erase = head.erase_map(query).sigmoid().view(3, 2, 5)
    add = head.add_map(query).tanh().view(3, 2, 5)
    assert_close(written.matrix, ntm_write(tape.matrix, out.weights()[:, 3:, 0], erase, add))
    assert_close(read, out.context[:, 0, :15])
    assert len(seen) == 1
    assert_close(seen[0].weights(), out.weights())
    assert_close(seen[0].context, out.context)
    _, again, _ = head(query, written, state)
    order = torch.tensor([2, 0])
    _, chosen, _ = head(query[order], written.select(order), state.select(order))
    assert_close(chosen.matrix, again.matrix[order])


def test_a_key_with_a_bias_finds_rows_of_zeros() -> None:
    """Row 1 is zero: without a bias every key has cosine 0 with it, with one the key of the bias alone points at it."""
    tape = NTMMemory(torch.tensor([[[3.0, -4.0], [0.0, 0.0], [-5.0, 12.0]]], dtype=torch.float64))
    plain, biased = (NTMHeads(query_dim=3, row_dim=2, key_bias=bias).double() for bias in (False, True))
    key, strength = torch.tensor([[[0.0, 0.0, 7.0] * 2]]).double(), torch.full((1, 1, 2), 30.0).double()
    cosines = tape.compared(biased.score.aim(key, strength).squeeze(2)) / 30
    expected = [1 / (1 + norm**2 + 1e-4) ** 0.5 for norm in (5.0, 0.0, 13.0)]
    assert_close(cosines, [[expected] * 2], tolerance=1e-10)
    key = torch.randn(1, 1, 4).double()
    assert tape.compared(plain.score.aim(key, strength).squeeze(2))[..., 1].abs().max() == 0.0
    read, written, state = biased(torch.randn(1, 1, 3).double(), tape)
    assert (read.shape, written.matrix.shape, state.step) == ((1, 2), (1, 3, 2), 1)


def test_maps_that_were_joined_before_are_the_same_maps() -> None:
    heads = NTMHeads(query_dim=7, row_dim=5, reads=2, writes=3).double()
    query, tape = torch.randn(3, 1, 7).double(), NTMMemory(torch.randn(3, 11, 5).double())
    first, again = heads(query, tape), heads(query, tape, joined=heads.joined())
    assert torch.equal(first.tape.matrix, again.tape.matrix)
    assert len(heads.joined().bias) == 5 * (5 + 1 + 1 + 3 + 1) + 2 * 3 * 5
    again.tape.matrix.sum().backward()
    assert all(parameter.grad is not None for parameter in heads.parameters())


def test_a_tape_that_nothing_was_written_to_has_no_steep_slopes() -> None:
    """One over the length of its rows would be 4.5e5."""
    heads, matrix = NTMHeads(query_dim=7, row_dim=5, reads=1), torch.full((2, 11, 5), 1e-6, requires_grad=True)
    _, _, state = heads(torch.randn(2, 1, 7), NTMMemory(matrix))
    (weights,) = state.align
    assert isinstance(weights, Tensor)
    (slope,) = torch.autograd.grad(weights[..., 0].sum(), matrix)
    assert 0 < slope.abs().max() < 100


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4])
def test_never_nan(scale: float) -> None:
    """500 steps of writing and reading with whatever a controller may say: finite values, finite gradients."""
    heads, tape, state = (
        NTMHeads(query_dim=4, row_dim=5, reads=2, writes=2),
        NTMMemory.constant(2, 6, 5, value=0.0),
        None,
    )
    reads: list[Tensor] = []
    for _ in range(500):
        read, tape, state = heads(scale * torch.randn(2, 1, 4), tape, state)
        reads.append(read)
        assert torch.isfinite(read).all()
        (weights,) = state.align
        assert isinstance(weights, Tensor)
        assert_close(weights.sum(-1), torch.ones(2, 4, 1), tolerance=1e-4)
    F.mse_loss(torch.cat(reads[-20:], 1), torch.ones(2, 20 * 10)).backward()
    assert torch.isfinite(tape.matrix).all()
    for parameter in heads.parameters():
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()


def test_bad_shapes_are_named() -> None:
    memory, weights, vector = torch.randn(2, 11, 5), torch.rand(2, 3, 11), torch.rand(2, 3, 5)
    with pytest.raises(ValueError, match=r"must share B and N; got \[2, 11, 5\] and \[2, 3, 10\]"):
        ntm_read(memory, weights[..., :10])
    with pytest.raises(ValueError, match=r"erase and add must be \[B, H, M\] = \[2, 3, 5\]; got \[2, 3, 4\]"):
        ntm_write(memory, weights, vector[..., :4], vector)
    with pytest.raises(ValueError, match=r"once a call: query must be \[B, 1, Cq\]; got \[2, 3, 7\]"):
        NTMHeads(7, 5)(torch.randn(2, 3, 7), NTMMemory(memory))
    with pytest.raises(ValueError, match="at least one writes, and not less than none reads; got 0 and 1"):
        NTMHeads(7, 5, writes=0)
