"""Intra-attention: the LSTMN's reading of its own past."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.ops import deep_fusion, intra_attention, lstmn_step
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    query, key, weight = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(3, 7)
    out = intra_attention(query, key, torch.randn(2, 3, 11, 13), torch.randn(2, 3, 11, 13), weight)
    assert out.context.shape == (2, 3, 5, 26)
    assert out.weights().shape == (2, 3, 5, 11)
    cell = lstmn_step(torch.randn(2, 3), torch.randn(2, 5), torch.randn(2, 5), torch.randn(20, 8), torch.randn(20))
    assert cell.hidden.shape == cell.memory.shape == (2, 5)
    assert deep_fusion(torch.randn(2, 3), torch.randn(2, 5), torch.randn(2, 5), torch.randn(5, 8)).shape == (2, 5)


def test_reading_by_hand() -> None:
    """v = 2 and keys 0 and 1: energies 0 and 2 tanh 1; the cells go along with the weights of the hidden states."""
    zero, keys = torch.zeros(1, 1, 1, 1), torch.tensor([[[[0.0], [1.0]]]])
    second = 1 / (1 + math.exp(-2 * math.tanh(1)))
    out = intra_attention(zero, keys, keys, 10 * keys + 5, torch.tensor([[2.0]]))
    assert_close(out.weights(), [[[[1 - second, second]]]])
    assert_close(out.context, [[[[second, 5 + 10 * second]]]])


def test_a_step_by_hand() -> None:
    """Biases make i = 3/4, f = 1/4, o = 1/2 and a candidate of tanh 1; the cell that was read is 2."""
    odds = math.log(3)
    bias = torch.tensor([odds, -odds, 0.0, 1.0])
    one = torch.ones(1, 1)
    cell = 0.25 * 2 + 0.75 * math.tanh(1)
    new = lstmn_step(one, one, 2 * one, torch.zeros(4, 2), bias)
    assert_close(new.memory, [[cell]])
    assert_close(new.hidden, [[0.5 * math.tanh(cell)]])
    fused = lstmn_step(
        one, one, 2 * one, torch.zeros(4, 2), bias, fused=deep_fusion(one, one, 6 * one, torch.zeros(1, 2))
    )
    assert_close(fused.memory, [[cell + 3]])  # r = 1/2 of the encoder's 6


def test_the_candidate_may_be_negative() -> None:
    """tanh, not σ: with a logistic candidate no cell could ever fall below zero."""
    zero = torch.zeros(1, 1)
    assert lstmn_step(zero, zero, zero, torch.zeros(4, 2), torch.tensor([0.0, 0.0, 0.0, -2.0])).memory.item() < 0


def test_mask() -> None:
    query, key, weight = torch.randn(2, 1, 3, 5), torch.randn(2, 1, 7, 5), torch.randn(1, 5)
    hidden, memory = torch.randn(2, 1, 7, 2), torch.randn(2, 1, 7, 2)
    out = intra_attention(query, key, hidden, memory, weight, Mask.padding([4, 0]))
    assert (out.weights()[0, ..., 4:] == 0).all()
    assert (out.context[1] == 0).all()
    shorter = intra_attention(query[:1], key[:1, :, :4], hidden[:1, :, :4], memory[:1, :, :4], weight)
    assert_close(out.context[:1], shorter.context.double())


def test_the_empty_tape_reads_zero() -> None:
    empty = torch.zeros(2, 1, 0, 5)
    out = intra_attention(torch.randn(2, 1, 1, 5), empty, empty, empty, torch.randn(1, 5))
    assert out.context.shape == (2, 1, 1, 10)
    assert (out.context == 0).all()


def test_gradients() -> None:
    mask = Mask.padding([3, 4])

    def step(query, key, tape, v, word, weight, bias, gate):  # type: ignore[no-untyped-def]
        context = intra_attention(query, key, tape, tape.square(), v, mask).context[:, 0, 0]
        hidden, memory = context.chunk(2, -1)
        return lstmn_step(word, hidden, memory, weight, bias, fused=deep_fusion(word, hidden, memory, gate))

    check_gradients(
        step,
        torch.randn(2, 1, 1, 3),
        torch.randn(2, 1, 4, 3),
        torch.randn(2, 1, 4, 2),
        torch.randn(1, 3),
        torch.randn(2, 3),
        torch.randn(8, 5),
        torch.randn(8),
        torch.randn(2, 5),
    )


def test_both_tapes_are_read_with_one_weighting() -> None:
    """Exchange the tapes and the two halves of the context are exchanged: cells take no part in the score."""
    query, key, weight = torch.randn(2, 2, 3, 5), torch.randn(2, 2, 7, 5), torch.randn(2, 5)
    hidden, memory = torch.randn(2, 2, 7, 4), torch.randn(2, 2, 7, 4)
    first, second = intra_attention(query, key, hidden, memory, weight).context.chunk(2, -1)
    swapped = intra_attention(query, key, memory, hidden, weight).context
    assert_close(swapped, torch.cat((second, first), -1).double())


def test_bad_shapes_are_named() -> None:
    tape = torch.randn(2, 1, 7, 5)
    with pytest.raises(ValueError, match=r"two tapes .* of the same steps; got \[2, 1, 7, 5\] and \[2, 1, 6, 5\]"):
        intra_attention(tape[:, :, :1], tape, tape, tape[:, :, :6], torch.randn(1, 5))
    state = torch.randn(2, 5)
    with pytest.raises(ValueError, match=r"weight \[4D, D \+ C\]; got \[2, 3\], \[2, 5\], \[2, 5\] and \[20, 7\]"):
        lstmn_step(torch.randn(2, 3), state, state, torch.randn(20, 7))
    with pytest.raises(ValueError, match=r"deep fusion's weight must be \[5, 8\]; got \[5, 7\]"):
        deep_fusion(torch.randn(2, 3), state, state, torch.randn(5, 7))
