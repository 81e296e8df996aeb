"""What is fed to the decoder instead of the right words."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard.data.batch import Batch
from regard.protocol import Step
from regard.specials import BOS, EOS, PAD, UNK
from regard.tasks.exposure import Exposure, ScheduledSampling, corrupt_words, drop_words


@pytest.mark.parametrize(
    ("sampling", "update", "teacher"),
    [
        (ScheduledSampling("exponential", k=0.5), 0, 1.0),
        (ScheduledSampling("exponential", k=0.5), 3, 0.125),
        (ScheduledSampling("inverse_sigmoid", k=10), 0, 10 / 11),
        (ScheduledSampling("inverse_sigmoid", k=10), 20, 10 / (10 + math.e**2)),
        (ScheduledSampling("inverse_sigmoid", k=1), 10**6, 0.0),
        (ScheduledSampling("linear", k=0.25), 3, 0.25),
        (ScheduledSampling("linear", k=0.25, floor=0.1), 100, 0.1),
        (ScheduledSampling("linear", k=0.25, c=0.5), 1, 0.25),
    ],
)
def test_schedules_by_hand(sampling: ScheduledSampling, update: int, teacher: float) -> None:
    assert sampling.teacher(update) == pytest.approx(teacher, abs=1e-12)


def words(rows: int = 400) -> Tensor:
    """[rows, 52]: a beginning, 50 words of 4 to 13, padding."""
    body = torch.randint(4, 14, (rows, 50))
    return torch.cat((torch.full((rows, 1), BOS), body, torch.full((rows, 1), PAD)), dim=1)


@pytest.mark.parametrize("probability", [0.0, 0.1, 0.5, 1.0])
def test_words_are_dropped_as_often_as_asked(probability: float) -> None:
    given = words()
    fed = drop_words(given, probability, unknown=UNK, keep=(PAD, BOS))
    assert torch.equal(fed[:, [0, -1]], given[:, [0, -1]])
    assert float((fed == UNK).sum()) / (400 * 50) == pytest.approx(probability, abs=0.01)
    assert torch.equal(fed[fed != UNK], given[fed != UNK])


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_words_are_replaced_by_words_as_often_as_asked(probability: float) -> None:
    given = words()
    fed = corrupt_words(given, probability, vocabulary=14, first=EOS + 1, keep=(PAD, BOS))
    assert torch.equal(fed[:, [0, -1]], given[:, [0, -1]])
    changed = float((fed != given).sum()) / (400 * 50)
    assert changed == pytest.approx(0.9 * probability, abs=0.01)  # one draw in ten is the word itself
    assert int(fed[:, 1:-1].min()) == EOS + 1
    assert int(fed.max()) == 13


def test_nothing_is_disturbed_unless_asked() -> None:
    given = words()
    assert torch.equal(Exposure().disturbed(given, vocabulary=14), given)
    assert Exposure().teacher(10**6) == 1.0


class Recorder:
    """A model that always says 5, and notes what it is fed."""

    def __init__(self) -> None:
        self.fed: list[Tensor] = []

    def start(self, source: Tensor, lengths: Tensor) -> Recorder:
        return self

    def step(self, token: Tensor, state: Recorder) -> Step:
        self.fed.append(token)
        log_probs = torch.full((len(token), 8), -torch.inf)
        log_probs[:, 5] = 0.0
        return Step(log_probs, self)  # type: ignore[arg-type]


@pytest.mark.parametrize(("teacher", "share"), [(1.0, 0.0), (0.0, 1.0), (0.25, 0.75)])
def test_scheduled_sampling_feeds_the_models_own_words(teacher: float, share: float) -> None:
    given = torch.full((300, 20), 6)
    given[:, 0] = BOS
    given[:, 15:] = PAD
    model = Recorder()
    batch = Batch({"source": given, "source_lengths": torch.full((300,), 20)}, tuple(range(300)), 1)
    predicted = Exposure().sampled(model, batch, given, teacher)
    fed = torch.stack(model.fed, dim=1)
    assert predicted.logits.shape == (300, 20, 8)
    assert bool((fed[:, 0] == BOS).all())
    assert bool((fed[:, 15:] == PAD).all())
    assert float((fed[:, 1:15] == 5).float().mean()) == pytest.approx(share, abs=0.03)
    assert set(fed[:, 1:15].unique().tolist()) <= {5, 6}
