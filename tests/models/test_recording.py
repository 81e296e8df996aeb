"""Models while an update is recorded: the same function, without a look at the lengths."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.cuda_capture import recording
from regard.models.bert import BertEncoder
from regard.nn import FusionState
from regard.systems.classification.acceptor import Acceptor
from tests.mechanism import assert_close, on_the_device
from tests.models.systems import ENCODER_DECODERS, LANGUAGE_MODELS, POST, SOURCE, TARGET, bahdanau, pairs
from tests.models.test_labelling import ENCODERS

READERS: dict[str, Callable[[], Any]] = {**ENCODERS, "bert": lambda: BertEncoder(SOURCE, POST, num_layers=2)}
RECORDED = [name for name in ENCODER_DECODERS if not name.startswith("bidirectional")]


@pytest.mark.parametrize("name", RECORDED)
def test_nothing_passes_between_host_and_device(name: str) -> None:
    model, inputs = ENCODER_DECODERS[name](), pairs()
    with recording(), on_the_device():
        model(*inputs).logits.sum().backward()


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_is_the_same_function(name: str) -> None:
    model, inputs = ENCODER_DECODERS[name]().double(), pairs()
    found: list[list[Tensor]] = []
    for context in (nullcontext, recording):
        with context():
            predicted = model(*inputs)
        seen = [] if predicted.attended is None else [predicted.attended.weights(), predicted.attended.weights(rows=2)]
        slopes = torch.autograd.grad((predicted.logits**2).sum(), list(model.parameters()))
        ends = _ends(predicted.state)
        found.append([predicted.logits, *ends, *seen, *slopes])
    for plain, recorded in zip(*found, strict=True):
        assert_close(recorded, plain.detach(), tolerance=1e-10)


@pytest.mark.parametrize("pooling", ["last", "mean", "max", "attention"])
@pytest.mark.parametrize("encoder", READERS.values(), ids=READERS)
def test_an_acceptor_can_be_recorded(encoder: Callable[[], Any], pooling: str) -> None:
    model, (text, lengths, _) = Acceptor(encoder(), 4, pooling=pooling).double(), pairs()
    plain = model(text, lengths).logits
    with recording(), on_the_device():
        logits = model(text, lengths).logits
        logits.sum().backward()
    assert_close(logits, plain.detach(), tolerance=1e-10)


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_a_language_model_can_be_recorded(name: str) -> None:
    model, (_, _, target) = LANGUAGE_MODELS[name]().double(), pairs()
    plain = model(target, None).logits
    with recording(), on_the_device():
        logits = model(target, None).logits
        logits.sum().backward()
    assert_close(logits, plain.detach(), tolerance=1e-10)


def _ends(state: Any) -> list[Tensor]:
    """Where a decoder stands: its tape, its caches, or its layers."""
    if isinstance(state, FusionState):
        return [state.intra.hidden, state.intra.cells, state.summary]
    layers = state.layers
    return [layer.past.key for layer in layers] if isinstance(layers, tuple) else [layers.hidden]


def test_a_decoder_goes_on_from_a_recorded_state() -> None:
    model, (source, lengths, target) = bahdanau().double(), pairs()
    with recording():
        state = model(source, lengths, target[:, :4]).state
    step = model.step(target[:, 4], state)
    assert_close(step.log_probs, model(source, lengths, target).logits.log_softmax(-1)[:, 4].detach(), tolerance=1e-10)
    assert step.state.read.step == 5
    assert step.log_probs.shape == (3, TARGET)


def test_half_precision_stays_near() -> None:
    model, inputs = bahdanau(), pairs()
    wide = model(*inputs).logits
    with torch.autocast(wide.device.type, torch.bfloat16), recording():
        narrow = model(*inputs).logits
    assert not torch.equal(narrow, wide)
    assert_close(narrow.float(), wide.detach(), tolerance=0.02)
    (gradient,) = torch.autograd.grad(narrow.float().square().sum(), [model.layers.layers.weight_hh_l0])
    (expected,) = torch.autograd.grad(wide.square().sum(), [model.layers.layers.weight_hh_l0])
    assert_close(gradient, expected, tolerance=0.05)
