"""Recurrent layers: torch's own functions, over padding, step by step, with dropout along time."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from regard.cuda_capture import recording
from regard.nn import Cells, Recurrent
from regard.nn.cells import CellState, CellWeights, cell_step
from tests.mechanism import assert_close, check_gradients

LENGTHS = [7, 4, 1]
kinds = pytest.mark.parametrize("kind", ["elman", "gru", "lstm"])
both = pytest.mark.parametrize("bidirectional", [False, True])


def layers(kind: str, *, bidirectional: bool = False, **options: float) -> Recurrent:
    cells = Cells(kind=kind, num_layers=2, **options)  # type: ignore[arg-type]
    return Recurrent(3, 5, cells, bidirectional=bidirectional).double()


def words() -> Tensor:
    return torch.randn(3, 7, 3, dtype=torch.float64)


@kinds
@both
def test_is_torchs_own(kind: str, bidirectional: bool) -> None:
    ours = layers(kind, bidirectional=bidirectional)
    theirs = {"elman": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[kind](
        3, 5, num_layers=2, batch_first=True, bidirectional=bidirectional
    ).double()
    theirs.load_state_dict(ours.layers.state_dict())
    x = words()
    outputs, state = ours(x)
    expected, end = theirs(x)
    assert outputs.shape == (3, 7, ours.output_dim)
    assert_close(outputs, expected)
    assert_close(state.hidden, (end[0] if kind == "lstm" else end).transpose(0, 1))


@kinds
@both
def test_padding_and_batch_change_nothing(kind: str, bidirectional: bool) -> None:
    recurrent, x = layers(kind, bidirectional=bidirectional), words()
    outputs, state = recurrent(x, torch.tensor(LENGTHS))
    for row, length in enumerate(LENGTHS):
        alone, end = recurrent(x[row : row + 1, :length])
        assert_close(outputs[row, :length], alone[0], tolerance=1e-10)
        assert (outputs[row, length:] == 0).all()
        assert_close(state.hidden[row], end.hidden[0], tolerance=1e-10)
        if kind == "lstm":
            assert_close(state.cell[row], end.cell[0], tolerance=1e-10)
    x[1, 4:] = 99.0
    assert_close(recurrent(x, torch.tensor(LENGTHS))[0], outputs)


@kinds
def test_step_by_step_is_all_at_once(kind: str) -> None:
    recurrent, x = layers(kind), words()
    outputs, end = recurrent(x)
    state, rows = recurrent.start(3), []
    for word in x.unbind(1):
        output, state = recurrent.step(word, state)
        rows.append(output)
    assert_close(torch.stack(rows, 1), outputs, tolerance=1e-10)
    assert_close(state.hidden, end.hidden, tolerance=1e-10)
    first, half = recurrent(x[:, :3])
    assert_close(torch.cat((first, recurrent(x[:, 3:], state=half)[0]), 1), outputs, tolerance=1e-10)


@kinds
@both
def test_the_loop_is_the_fused_layer(kind: str, bidirectional: bool) -> None:
    """Variational dropout that drops nothing: the same weights, read by the other implementation."""
    recurrent = layers(kind, bidirectional=bidirectional, recurrent_dropout=0.5).eval()
    x, lengths = words(), torch.tensor(LENGTHS)
    ones = torch.ones(3, 4, 10, dtype=torch.float64)
    state = replace(recurrent.start(3), noise=(ones[..., :5], ones[..., : recurrent.output_dim]))
    for given in (lengths, None):
        looped, end = recurrent._by_layer(x, given, state)
        fused, expected = recurrent(x, given)
        assert_close(looped, fused, tolerance=1e-10)
        assert_close(end.hidden, expected.hidden, tolerance=1e-10)


@kinds
@both
def test_a_recording_is_the_packed_layer(kind: str, bidirectional: bool) -> None:
    """Without the lengths on the CPU: the same outputs, ends and gradients, also from a state of its own."""
    recurrent, x, lengths = layers(kind, bidirectional=bidirectional), words(), torch.tensor([7, 0, 4])
    start = recurrent.start(3, torch.randn(3, 2 * recurrent.directions, 5, dtype=torch.float64))
    x[2, 4:] = 99.0
    for given, begin in product((lengths, None), (start, None)):
        found = []
        for context in (nullcontext, recording):
            with context():
                outputs, end = recurrent(x, given, begin)
            ends = [end.hidden] if end.cell is None else [end.hidden, end.cell]
            total = sum((part * part).sum() for part in (outputs, *ends))
            found.append([outputs, *ends, *torch.autograd.grad(total, list(recurrent.parameters()))])
        for recorded, packed in zip(*reversed(found), strict=True):
            assert_close(recorded, packed.detach(), tolerance=1e-10)


@pytest.mark.parametrize("rate", [0.5, 0.0])
def test_variational_dropout_keeps_to_its_channels(rate: float) -> None:
    """Also where nothing is dropped along time, and a layer is run at once."""
    recurrent = layers("lstm", dropout=0.5, recurrent_dropout=rate, variational=True)
    x = words()
    outputs, state = recurrent(x)
    along, up = state.noise
    assert set(along.unique().tolist()) <= ({0.0, 2.0} if rate else {1.0})
    assert set(up.unique().tolist()) <= {0.0, 2.0}
    now, rows = replace(recurrent.start(3), noise=state.noise), []
    for word in x.unbind(1):
        output, now = recurrent.step(word, now)
        rows.append(output)
    assert_close(torch.stack(rows, 1), outputs, tolerance=1e-10)
    assert not torch.equal(outputs, recurrent(x)[0])
    recurrent.eval()
    assert_close(recurrent(x)[0], recurrent(x)[0])
    assert recurrent(x)[1].noise == ()


@kinds
@both
def test_weight_dropout_drops_recurrent_weights_for_a_whole_sequence(kind: str, bidirectional: bool) -> None:
    recurrent = layers(kind, bidirectional=bidirectional, weight_dropout=0.5)
    x, lengths = words(), torch.tensor(LENGTHS)
    outputs, state = recurrent(x, lengths)
    assert len(state.recurrent_weights) == 2 * recurrent.directions
    plain = Recurrent(3, 5, Cells(kind=kind, num_layers=2), bidirectional=bidirectional).double()  # type: ignore[arg-type]
    plain.load_state_dict(recurrent.state_dict())
    for index, dropped in enumerate(state.recurrent_weights):
        own = plain.weights(index).state
        kept = dropped != 0
        assert 0.3 < kept.double().mean() < 0.7
        assert_close(dropped[kept], 2 * own[kept], tolerance=1e-10)
        own.data.copy_(dropped)
    assert_close(outputs, plain(x, lengths)[0], tolerance=1e-10)
    gradients = torch.autograd.grad(outputs.sum(), [recurrent.weights(index).state for index in range(2)])
    for gradient, dropped in zip(gradients, state.recurrent_weights, strict=False):
        assert ((gradient == 0) == (dropped == 0)).all() or bidirectional
    assert not torch.equal(outputs, recurrent(x, lengths)[0])
    recurrent.eval()
    assert recurrent(x, lengths)[1].recurrent_weights == ()


@kinds
def test_steps_keep_to_the_weights_that_a_state_carries(kind: str) -> None:
    recurrent, x = layers(kind, weight_dropout=0.5), words()
    now, rows = recurrent.start(3), []
    for word in x.unbind(1):
        output, now = recurrent.step(word, now)
        rows.append(output)
    whole = replace(recurrent.start(3), recurrent_weights=now.recurrent_weights)
    assert_close(torch.stack(rows, 1), recurrent._by_layer(x, None, whole)[0], tolerance=1e-10)
    assert now.select(torch.tensor([2, 2])).recurrent_weights == now.recurrent_weights
    assert now.carried().recurrent_weights == ()
    assert not any(weight.requires_grad for weight in now.detach().recurrent_weights)


def test_zaremba_dropout_is_between_layers_only() -> None:
    """One layer has nothing between: the rate changes nothing. Two layers: the lower one's state stays undropped."""
    x = words()
    single = Recurrent(3, 5, Cells(kind="gru", dropout=0.9)).double()
    assert_close(single(x)[0], single(x)[0])
    double = layers("gru", dropout=0.5)
    first, second = double(x), double(x)
    assert not torch.equal(first[0], second[0])
    assert_close(first[1].hidden[:, 0], second[1].hidden[:, 0])


@kinds
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_empty_sequences(kind: str, rate: float) -> None:
    recurrent, x = layers(kind, recurrent_dropout=rate), words()
    start = recurrent.start(3, torch.randn(3, 2, 5, dtype=torch.float64))
    outputs, state = recurrent(x, torch.tensor([7, 0, 2]), start)
    assert (outputs[1] == 0).all()
    assert_close(state.hidden[1], start.hidden[1])
    nothing, same = recurrent(x[:, :0], None, start)
    assert nothing.shape == (3, 0, 5)
    assert_close(same.hidden, start.hidden)


@kinds
def test_in_evaluation_float32_is_float32(kind: str) -> None:
    """No TF32 on a GPU: wide layers at once and by steps agree to float32, and torch's setting is left as it was."""
    before = torch.backends.cudnn.rnn.fp32_precision
    recurrent, x = Recurrent(256, 256, kind).eval(), torch.randn(3, 11, 256)
    outputs, _ = recurrent(x, torch.tensor([11, 7, 2]))
    state = recurrent.start(3)
    for t, word in enumerate(x[:, :2].unbind(1)):
        output, state = recurrent.step(word, state)
        assert_close(output, outputs[:, t], tolerance=5e-6)
    assert torch.backends.cudnn.rnn.fp32_precision == before


def test_cells_by_hand() -> None:
    """All weights 1, biases 0, x = h = c = 0: gates are 1/2, and the state halves towards tanh(0) = 0."""
    x, zero, one = torch.zeros(1, 1), torch.zeros(1, 1), torch.ones(1, 1)

    def weights(gates: int) -> CellWeights:
        return CellWeights(torch.ones(gates, 1), torch.zeros(gates, 1), torch.zeros(gates), torch.zeros(gates))

    assert_close(cell_step("elman", one, CellState(zero), weights(1)).hidden, [[0.76159416]])
    assert_close(cell_step("gru", x, CellState(one), weights(3)).hidden, [[0.5]])
    after = cell_step("lstm", x, CellState(zero, one), weights(4))
    assert after.cell is not None
    assert_close(after.cell, [[0.5]])
    assert_close(after.hidden, [[0.5 * 0.46211716]])


def test_parameter_count() -> None:
    """LSTM, two layers: 4D (C + D + 2) + 4D (D + D + 2) with C = 3, D = 5."""
    assert sum(p.numel() for p in layers("lstm").parameters()) == 20 * (3 + 5 + 2) + 20 * (5 + 5 + 2)


@both
def test_gradients(bidirectional: bool) -> None:
    recurrent = layers("gru", bidirectional=bidirectional)
    check_gradients(lambda x: recurrent(x, torch.tensor([3, 0, 1]))[0], torch.randn(3, 3, 3))


def test_select_and_detach() -> None:
    recurrent = layers("lstm", recurrent_dropout=0.5)
    state = recurrent(words())[1]
    rows = torch.tensor([2, 0])
    chosen = state.select(rows)
    assert_close(chosen.hidden, state.hidden[rows])
    assert_close(chosen.noise[0], state.noise[0][rows])
    assert not state.detach().hidden.requires_grad
    assert not state.detach().cell.requires_grad


def test_bad_values_are_named() -> None:
    recurrent = layers("gru")
    with pytest.raises(ValueError, match=r"x must be \[B, T, C\] with C = 3; got \[2, 7, 4\]"):
        recurrent(torch.zeros(2, 7, 4))
    with pytest.raises(ValueError, match=r"kind must be one of .*; got 'gruu'"):
        Recurrent(3, 5, "gruu")
    with pytest.raises(ValueError, match=r"a state of 2 layers is \[B, 2, 5\] with B = 3; got \[3, 1, 5\]"):
        recurrent.start(3, torch.zeros(3, 1, 5))
    with pytest.raises(ValueError, match="there is no step"):
        layers("gru", bidirectional=True).step(torch.zeros(2, 3).double(), recurrent.start(2))
    with pytest.raises(ValueError, match=r"dropout must lie in \[0, 1\); got 1.0"):
        Cells(dropout=1.0)


@kinds
@both
def test_long_padded_sequences_are_learned_from_as_packed_ones(
    kind: str, bidirectional: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU they are walked with their padding: outputs, ends and gradients stay what they are."""
    made = layers(kind, bidirectional=bidirectional)
    x, lengths = torch.randn(3, 131, 3, dtype=torch.float64), torch.tensor([131, 89, 0])

    def learned() -> list[Tensor]:
        made.zero_grad()
        outputs, end = made(x, lengths)
        (outputs.square().sum() + end.hidden.sum()).backward()
        return [outputs, end.hidden, *(p.grad.clone() for p in made.parameters() if p.grad is not None)]

    walked = learned()
    monkeypatch.setattr("regard.nn.rnn._LONG", 10**9)
    for one, other in zip(walked, learned(), strict=True):
        torch.testing.assert_close(one, other)
