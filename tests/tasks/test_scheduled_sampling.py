"""What is fed to the decoder instead of the right words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.models import AttentionConfig, DecoderOutput, DecoderState, EncoderDecoder, Transformer
from regard.models.embeddings import drop_words
from regard.nn import RecurrentState
from regard.specials import BOS, EOS, PAD, UNK
from regard.tasks.scheduled_sampling import Exposure, ScheduledSampling, corrupt_words
from tests.mechanism import assert_close
from tests.models.systems import ENCODER_DECODERS, PRE, SOURCE, TARGET, bahdanau, luong, named_gradients, pairs


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
    fed = drop_words(given, probability, keep=(PAD, BOS))
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


class Parrot(EncoderDecoder[DecoderState]):
    """Always says 5, and notes what it is fed."""

    def __init__(self) -> None:
        super().__init__()
        self.fed: list[Tensor] = []

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> DecoderState:
        return DecoderState(RecurrentState(torch.zeros(0)))

    def embed(self, tokens: Tensor, state: DecoderState) -> Tensor:
        self.fed.append(tokens)
        return tokens.unsqueeze(2)

    def advance(self, words: Tensor, state: DecoderState) -> DecoderOutput[DecoderState]:
        return DecoderOutput((words,), state)

    def output(self, *features: Tensor) -> Tensor:
        logits = torch.full((*features[0].shape[:2], 8), -torch.inf)
        logits[..., 5] = 0.0
        return logits


@pytest.mark.parametrize(("teacher", "share"), [(1.0, 0.0), (0.0, 1.0), (0.25, 0.75)])
def test_scheduled_sampling_feeds_the_models_own_words(teacher: float, share: float) -> None:
    given = torch.full((300, 20), 6)
    given[:, 0] = BOS
    given[:, 15:] = PAD
    model = Parrot()
    predicted = Exposure().sampled(model, given, None, given, teacher)
    fed = torch.cat(model.fed, dim=1)
    assert predicted.logits.shape == (300, 20, 8)
    assert bool((fed[:, 0] == BOS).all())
    assert bool((fed[:, 15:] == PAD).all())
    assert float((fed[:, 1:15] == 5).float().mean()) == pytest.approx(share, abs=0.03)
    assert set(fed[:, 1:15].unique().tolist()) <= {5, 6}


HARD = AttentionConfig(align={"name": "hard", "expectation_probability": 0.0})
MODELS: dict[str, tuple[Callable[[], Any], set[str]]] = {
    "luong": (luong, set()),
    "transformer": (lambda: Transformer(SOURCE, TARGET, PRE, num_layers=1), set()),
    "seq2seq": (ENCODER_DECODERS["seq2seq input"], set()),
    "fertility": (lambda: bahdanau(fertility=4), {"fertility"}),
    "hard": (lambda: bahdanau(attention=HARD), {"sample_key", "sample_log_prob", "sample_entropy"}),
    "both directions": (ENCODER_DECODERS["bidirectional"], {"backward", "symmetry"}),
}
each = pytest.mark.parametrize(("make", "extras"), MODELS.values(), ids=MODELS)


@each
def test_nothing_is_lost_by_sampling(make: Callable[[], Any], extras: set[str]) -> None:
    """What was attended to and what is added to the loss are there, of the words that were fed."""
    model, (source, lengths, target) = make(), pairs()
    predicted = Exposure().sampled(model, source, lengths, target, 0.0)
    assert predicted.logits.shape == (3, 7, TARGET)
    assert set(predicted.extras) == extras
    assert (predicted.attended is None) == (model(source, lengths, target).attended is None)
    if predicted.attended is not None:
        assert predicted.attended.weights().shape[-2:] == (7, 5)


@each
def test_feeding_the_right_words_is_teacher_forcing(make: Callable[[], Any], extras: set[str]) -> None:
    model, (source, lengths, target) = make().double().eval(), pairs()
    forced = model(source, lengths, target)
    predicted = Exposure().sampled(model, source, lengths, target, 1.0)
    assert_close(predicted.logits, forced.logits, tolerance=1e-10)
    if forced.attended is not None:
        assert_close(predicted.attended.weights(), forced.attended.weights(), tolerance=1e-10)
    for name in extras:
        assert_close(predicted.extras[name], forced.extras[name], tolerance=1e-10)


def test_sampled_words_carry_no_gradient_but_what_follows_them_does() -> None:
    model, (source, lengths, target) = bahdanau(fertility=4), pairs()
    predicted = Exposure().sampled(model, source, lengths, target, 0.5)
    (predicted.logits.logsumexp(-1).sum() + predicted.extras["fertility"].sum()).backward()
    assert [name for name, gradient in named_gradients(model) if gradient is None or not gradient.any()] == []


def test_what_is_no_number_reaches_the_loss() -> None:
    """Nothing can be drawn from it; the training loop says where it arose."""
    model, (source, lengths, target) = bahdanau(), pairs()
    with torch.no_grad():
        model.output_map.bias.fill_(math.nan)
    assert Exposure().sampled(model, source, lengths, target, 0.0).logits.isnan().all()
