"""Dynamic evaluation against its equations, written out; activation penalties against sums."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from regard.data.batching.batch import Batch
from regard.data.batching.feed import BatchPosition, Feed
from regard.data.batching.stream import Stream
from regard.systems.language_model.activation_penalties import ActivationPenalties
from regard.systems.language_model.dynamic_evaluation import Dynamics, dynamic_likelihood
from tests.mechanism import assert_close
from tests.systems.language_model.test_language_modelling import batch, made, task, text


class Windows(Feed):
    """Windows of ids."""

    def __init__(self, ids: list[int], size: int) -> None:
        self.stream = Stream(ids, batch=1, steps=size)
        self.per_epoch = len(self.stream)

    def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
        window = self.stream[place.position]
        return batch(torch.cat((window.text, window.target[:, -1:]), dim=1), begins=window.begins)

    def after(self, epoch: int, position: int):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    tokens = __str__ = after  # type: ignore[assignment]


def model() -> nn.Module:
    return made(cells={"kind": "lstm"}, tied=False)


def gradients(net: nn.Module, window: Batch, state: object) -> tuple[float, object]:
    net.zero_grad()
    loss = task().loss(net, window, state=state)
    (loss.total / loss.tokens).backward()
    return float(loss.nll), loss.state


@pytest.mark.parametrize("rule", ["sgd", "rms"])
def test_it_is_the_equations(rule: str) -> None:
    net, other = model(), model()
    other.load_state_dict(net.state_dict())
    ids, training = (text(1, length)[0].tolist() for length in (17, 23))
    dynamics = Dynamics(rule, 0.3, 0.05, window=5, epsilon=0.01, statistics=22)  # type: ignore[arg-type]
    found, tokens = dynamic_likelihood(task(), net, Windows(ids, 5), dynamics, training)
    assert tokens == 16

    first = {name: parameter.detach().clone() for name, parameter in other.named_parameters()}
    squares = {name: torch.zeros_like(value) for name, value in first.items()}
    state, feed = None, Windows(training, 5)
    for number in range(5):
        _, state = gradients(other, feed.batch(BatchPosition(0, number)), state)
        for name, parameter in other.named_parameters():
            squares[name] += parameter.grad**2 / 5
    s = {name: total.sqrt() for name, total in squares.items()}
    mean = torch.cat([value.flatten() for value in s.values()]).mean()
    expected, state, feed = 0.0, None, Windows(ids, 5)
    for number in range(4):
        nll, state = gradients(other, feed.batch(BatchPosition(0, number)), state)
        expected += nll
        for name, parameter in other.named_parameters():
            g, back = parameter.grad, first[name] - parameter.detach()
            if rule == "sgd":
                change = -0.3 * g + 0.05 * back
            else:
                change = -0.3 * g / (s[name] + 0.01) + torch.minimum(0.05 * s[name] / mean, torch.ones(())) * back
            parameter.data += change
    assert found == pytest.approx(expected, rel=1e-9)
    for name, parameter in net.named_parameters():  # as it was
        assert torch.equal(parameter, first[name])
        assert parameter.grad is None


def test_the_first_window_is_measured_before_it_is_learned_from() -> None:
    net, ids = model(), text(1, 9)[0].tolist()
    static = float(task().loss(net, batch(torch.tensor([ids]))).nll)
    once, _ = dynamic_likelihood(task(), net, Windows(ids, 8), Dynamics("sgd", rate=9.0), ())
    assert once == pytest.approx(static, rel=1e-9)
    twice, _ = dynamic_likelihood(task(), net, Windows(ids, 4), Dynamics("sgd", rate=9.0), ())
    assert twice != pytest.approx(static, rel=1e-3)
    still, _ = dynamic_likelihood(task(), net, Windows(ids, 4), Dynamics("sgd", rate=1e-30, decay=0.0), ())
    assert still == pytest.approx(static, rel=1e-9)


def test_a_text_that_repeats_itself_is_learned() -> None:
    net, ids = model(), [5, 6, 7, 8] * 40
    static = float(task().loss(net, batch(torch.tensor([ids]))).nll)
    for dynamics in (Dynamics("sgd", rate=1.0, decay=0.0, window=5), Dynamics("rms", rate=0.02, window=5)):
        found, _ = dynamic_likelihood(task(), net, Windows(ids, 5), dynamics, ids)
        assert found < 0.7 * static


def test_penalties_count_what_counts() -> None:
    outputs = torch.randn(3, 7, 5, dtype=torch.float64)
    dropped = outputs * (torch.rand_like(outputs) < 0.5)
    counts = torch.arange(7) < torch.tensor([[7], [4], [0]])
    extras = {"outputs": outputs, "dropped": dropped}
    expected = 0.0
    for row, length in enumerate((7, 4, 0)):
        expected += 2.0 * (dropped[row, :length] ** 2).mean(-1).sum()
        expected += 3.0 * sum(((outputs[row, t + 1] - outputs[row, t]) ** 2).mean() for t in range(length - 1))
    assert_close(ActivationPenalties(2.0, 3.0).loss(extras, counts), expected, tolerance=1e-5)
    assert ActivationPenalties().loss({}, counts) == 0.0


def test_penalties_are_in_the_training_loss_alone() -> None:
    net, ids = model(), batch(text(2, 6))
    penalised = replace(task(), penalties=ActivationPenalties(2.0, 1.0))
    with torch.no_grad():
        outputs = net(ids["text"][:, :-1]).extras["outputs"]
        plain, found, measured = (
            one.loss(net, ids, update=update) for one, update in ((task(), 0), (penalised, 0), (penalised, None))
        )
    more = 2 * outputs.square().mean(-1).sum() + outputs.diff(dim=1).square().mean(-1).sum()
    assert_close(found.total - plain.total, more, tolerance=1e-5)
    assert float(found.nll) == float(plain.nll)
    assert float(measured.total) == float(plain.total)
