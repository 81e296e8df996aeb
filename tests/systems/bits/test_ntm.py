"""The Neural Turing Machine and the recurrent layers it is compared with."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import regard
from regard.models.build import build
from regard.systems.bits.ntm import NTM
from regard.systems.bits.vector_rnn import VectorRNN
from tests.mechanism import assert_close, check_gradients

controllers = pytest.mark.parametrize("controller", ["feedforward", "lstm"])


def machine(controller: str = "feedforward", **options: object) -> NTM:
    given = {"hidden_dim": 7, "rows": 11, "row_dim": 3, "read_heads": 2, "write_heads": 1} | options
    return NTM(5, 4, controller=controller, **given)  # type: ignore[arg-type]


@controllers
def test_shapes(controller: str) -> None:
    model = machine(controller, write_heads=3, num_layers=2)
    predicted = model(torch.rand(2, 13, 5))
    assert predicted.logits.shape == (2, 13, 4)
    assert predicted.state.tape.matrix.shape == (2, 11, 3)
    trace = model.trace(torch.rand(2, 13, 5))
    assert trace.read_weights.shape == (2, 2, 13, 11)
    assert trace.write_weights.shape == (2, 3, 13, 11)
    assert trace.reads.shape == (2, 13, 6)
    assert model(torch.rand(2, 0, 5)).logits.shape == (2, 0, 4)


def test_inputs_of_another_width_are_refused() -> None:
    for inputs in (torch.rand(2, 13, 6), torch.rand(13, 5)):
        with pytest.raises(ValueError, match=r"NTM was made for inputs \[B, T, 5\]; got"):
            machine()(inputs)


@controllers
def test_a_step_is_the_equations(controller: str) -> None:
    model, x = machine(controller).double(), torch.rand(2, 5).double()
    before = model.start(2)
    said, after = model.step(x, before)
    seen = torch.cat((x, before.read), -1)
    if controller == "lstm":
        hidden, _ = model.controller.layers(seen.unsqueeze(1))  # type: ignore[operator]
        hidden = hidden.squeeze(1)
    else:
        hidden = (seen @ model.controller[0].weight.T + model.controller[0].bias).tanh()  # type: ignore[index]
    read, tape, _ = model.heads(hidden.unsqueeze(1), before.tape)
    assert_close(said, hidden)
    assert_close(after.tape.matrix, tape.matrix)
    assert_close(after.read, read)
    assert_close(model(x.unsqueeze(1)).logits.squeeze(1), model.output_map(torch.cat((hidden, read), -1)))


@controllers
def test_in_two_parts_is_at_once_and_a_trace_is_the_same(controller: str) -> None:
    model, inputs = machine(controller).double(), torch.rand(3, 9, 5).double()
    whole = model(inputs)
    first = model(inputs[:, :4])
    second = model(inputs[:, 4:], first.state)
    assert_close(torch.cat((first.logits, second.logits), 1), whole.logits)
    assert_close(second.state.tape.matrix, whole.state.tape.matrix)
    trace = model.trace(inputs)
    assert_close(trace.logits, whole.logits)
    assert_close(trace.tape.matrix, whole.state.tape.matrix)


def test_what_comes_later_changes_nothing_before() -> None:
    model, inputs = machine().double(), torch.rand(2, 9, 5).double()
    other = inputs.clone()
    other[:, 6:] = 0.0
    assert torch.equal(model(inputs).logits[:, :6], model(other).logits[:, :6])


@controllers
def test_gradients(controller: str) -> None:
    model = NTM(2, 1, controller=controller, hidden_dim=2, rows=3, row_dim=2).double()
    names = [name for name, _ in model.named_parameters()]

    def run(inputs: Tensor, *parameters: Tensor) -> Tensor:
        found = torch.func.functional_call(model, dict(zip(names, parameters, strict=True)), (inputs,))
        return found.logits  # type: ignore[no-any-return]

    check_gradients(run, torch.randn(1, 2, 2), *(parameter.detach() for parameter in model.parameters()))


def copying(rows: int) -> NTM:
    """A machine that copies, set by hand: one head walks and writes all it is given, the other waits, then follows.

    Inputs are three bits, a one that says that they are there, and the mark; the controller passes them on.
    """
    model = NTM(5, 3, hidden_dim=5, rows=rows, row_dim=5)
    heads, sure = model.heads, 60.0
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    model.controller[0].weight.data[:, :5] = 3.0 * torch.eye(5)  # type: ignore[index]
    nn.init.constant_(heads.align.gate_map.bias, -sure)  # never by content
    nn.init.constant_(heads.align.sharpness_map.bias, sure)
    heads.align.shift_map.bias.data = torch.tensor([0.0, 0.0, sure] * 2)  # on by one ...
    heads.align.shift_map.weight.data[1, 3:] = 2 * sure  # ... but the reader, while something is read
    nn.init.constant_(heads.erase_map.bias, sure)
    heads.add_map.weight.data = 2.0 * torch.eye(5)
    nn.init.constant_(heads.add_map.bias, -1.0)  # zeros are written as -tanh 1
    model.output_map.weight.data[:, 5:8] = torch.eye(3)
    return model


def test_copying_by_hand() -> None:
    model, vectors = copying(rows=13), torch.randint(2, (2, 5, 3)).float()
    inputs = torch.zeros(2, 11, 5)
    inputs[:, :5, :3], inputs[:, :5, 3], inputs[:, 5, 4] = vectors, 1.0, 1.0
    trace = model.trace(inputs)
    assert torch.equal((trace.logits[:, 6:] > 0).float(), vectors)
    assert trace.write_weights[0, 0].argmax(-1).tolist() == list(range(1, 12))
    assert trace.read_weights[0, 0].argmax(-1).tolist() == [0] * 6 + [1, 2, 3, 4, 5]
    assert_close(trace.tape.matrix[:, [0, 12]], torch.full((2, 2, 5), 1e-6))


def test_the_tape_is_a_ring() -> None:
    """A head that walks one row a step is back after as many steps as there are rows."""
    places = copying(rows=7).trace(torch.zeros(1, 9, 5)).write_weights[0, 0].argmax(-1)
    assert places.tolist() == [1, 2, 3, 4, 5, 6, 0, 1, 2]


@controllers
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_never_nan(controller: str, scale: float) -> None:
    """Long sequences of large inputs, large parameters: finite outputs, finite gradients."""
    model = machine(controller, rows=5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(scale**0.5)
    predicted = model(scale * torch.randn(2, 150, 5))
    predicted.logits.clamp(-50, 50).square().mean().backward()
    assert torch.isfinite(predicted.logits).all()
    assert torch.isfinite(predicted.state.tape.matrix).all()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()


def test_a_learned_tape_is_where_it_begins_and_is_learned() -> None:
    model = machine(tape="learned")
    assert model.first_tape is not None
    assert_close(model.start(2).tape.matrix, model.first_tape.expand(2, -1, -1).double())
    model(torch.rand(2, 6, 5)).logits.sum().backward()
    assert model.first_tape.grad is not None
    assert (model.first_tape.grad.abs().sum(1) > 0).all(), "every row is looked at"
    assert machine().first_tape is None


def test_captures_see_the_heads() -> None:
    model, inputs = machine(), torch.rand(2, 6, 5)
    with regard.capture(model) as seen:
        model(inputs)
    trace = model.trace(inputs)
    assert list(seen) == ["heads"]
    assert_close(seen.weights("heads"), torch.cat((trace.read_weights, trace.write_weights), 1))


def test_the_lstm_beside_it() -> None:
    model = build("rnn", 5, 4, hidden_dim=7, cells={"kind": "lstm", "num_layers": 3})
    assert isinstance(model, VectorRNN)
    inputs = torch.rand(2, 6, 5)
    first = model(inputs[:, :2])
    second = model(inputs[:, 2:], first.state)
    assert_close(torch.cat((first.logits, second.logits), 1), model(inputs).logits, tolerance=1e-5)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"controller": "gru"}, "controller must be one of .*; got 'gru'"),
        ({"rows": 2}, "shifts are different places on the tape, so at most its 2 rows; got 3"),
        ({"shifts": 2}, "shifts must be odd, as many back as forth; got 2"),
        ({"read_heads": 0}, "NTM: read_heads must be at least 1; got 0"),
        ({"row_dim": 0}, "NTM: row_dim must be at least 1; got 0"),
        ({"initial": "random"}, "initial must be one of .*; got 'random'"),
        ({"tape": "random"}, "tape must be one of .*; got 'random'"),
        ({"hidden_dims": 3}, "no argument of the model 'ntm' called 'hidden_dims' .did you mean 'hidden_dim'"),
    ],
)
def test_bad_arguments_are_one_sentence(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        build("ntm", 5, 4, **options)
