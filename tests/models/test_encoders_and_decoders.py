"""Any encoder with any decoder: ids, vectors and images, through the same properties."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.cuda_capture import recording
from regard.decode import Search, generate
from regard.masks import Mask
from regard.models import Encoded
from regard.models.build import ENCODER_DECODERS, ENCODERS, build
from regard.models.model_output import log_softmax
from regard.nn import LayerConfig, pack
from regard.nn.cpu_decode import packing
from regard.specials import BOS
from tests.mechanism import assert_close, on_the_device
from tests.models.systems import SOURCE, TARGET, forced, named_gradients, stepped

LENGTHS = torch.tensor([5, 1, 4])
NARROW = {"embedding_dim": 6, "hidden_dim": 8, "dim": 8, "num_heads": 2, "num_layers": 2, "dropout": 0.0}
WIDE = {**NARROW, "embedding_dim": 5, "hidden_dim": 10, "dim": 10, "max_length": 17}
WIDTH = 10  # of every encoder, and of no decoder


class Vectors(nn.Module):
    """A linear map of vectors [B, S, 7]: the least that an encoder can be."""

    output_dim = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Linear(7, WIDTH)

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> Encoded:
        states = self.map(source)
        mask = None if lengths is None else Mask.padding(lengths)
        if mask is not None:
            states = states * mask.allowed((len(source), 1, 1, source.shape[1]), device=source.device)[:, 0, 0, :, None]
        return Encoded(states, states.sum(1), mask)


class Images(nn.Module):
    """Regions of images [B, 3, H, W]: a state for each square of 4 x 4 pixels."""

    output_dim = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Conv2d(3, WIDTH, kernel_size=4, stride=4)

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> Encoded:
        assert lengths is None, "images have no padding"
        states = self.map(source).flatten(2).mT  # [B, C, H, W] -> [B, H * W, C]
        return Encoded(states, states.mean(1), None)


class Source(NamedTuple):
    """An encoder, and a batch of three sources for it."""

    encoder: nn.Module | None
    batch: Tensor
    lengths: Tensor | None

    def row(self, index: int) -> tuple[Tensor, Tensor | None]:
        """One source without its padding."""
        if self.lengths is None:
            return self.batch[index : index + 1], None
        return self.batch[index : index + 1, : int(self.lengths[index])], self.lengths[index : index + 1]


def accepted(made: type[nn.Module], sizes: dict[str, Any]) -> dict[str, Any]:
    """Those of the sizes that a constructor takes, or its blocks do."""
    names = set(inspect.signature(made.__init__).parameters)
    if "blocks" in names:
        names |= {field.name for field in dataclasses.fields(LayerConfig)}
    return {name: size for name, size in sizes.items() if name in names}


def ids() -> Tensor:
    source = torch.randint(4, SOURCE, (3, 5))
    return source.masked_fill(torch.arange(5) >= LENGTHS.unsqueeze(1), 0)


def injected(kind: str) -> Source:
    model = build("acceptor", SOURCE, 4, encoder={"kind": kind, **accepted(ENCODERS[kind], WIDE)})
    encoder = model.encoder
    assert isinstance(encoder, nn.Module)
    return Source(encoder, ids(), LENGTHS)


SOURCES: dict[str, Callable[[], Source]] = {
    "own": lambda: Source(None, ids(), LENGTHS),
    **{kind: lambda kind=kind: injected(kind) for kind in ENCODERS},  # type: ignore[misc]
    "vectors": lambda: Source(Vectors(), torch.randn(3, 5, 7), LENGTHS),
    "images": lambda: Source(Images(), torch.randn(3, 3, 8, 12), None),
}
each_source = pytest.mark.parametrize("name", SOURCES)
each_decoder = pytest.mark.parametrize("kind", ENCODER_DECODERS)


def made(kind: str, name: str, dtype: torch.dtype = torch.float64) -> tuple[Any, Source, Tensor]:
    """A model in evaluation mode, sources for it, and decoder inputs of six tokens."""
    torch.manual_seed(3)
    source, sizes = SOURCES[name](), accepted(ENCODER_DECODERS[kind], NARROW)
    given = {} if source.encoder is None else {"encoder": source.encoder}
    model = build(kind, SOURCE, TARGET, **sizes, **given).to(dtype).eval()
    target = torch.randint(4, TARGET, (3, 6))
    target[:, 0] = BOS
    if source.batch.is_floating_point():
        source = source._replace(batch=source.batch.to(dtype))
    return model, source, target


def test_all_of_both_are_here() -> None:
    assert {"rnn", "lstmn", "transformer", "bert", "conv"} <= set(ENCODERS)
    assert {"bahdanau", "luong", "lstmn", "seq2seq", "simple_attention", "transformer"} <= set(ENCODER_DECODERS)


@each_source
@each_decoder
def test_steps_are_the_whole(kind: str, name: str) -> None:
    model, source, target = made(kind, name)
    whole = forced(model, source.batch, source.lengths, target)
    assert whole.shape == (3, 6, TARGET)
    assert_close(stepped(model, target, model.start(source.batch, source.lengths)), whole, tolerance=1e-11)


@each_source
@each_decoder
def test_batch_and_padding_change_nothing(kind: str, name: str) -> None:
    model, source, target = made(kind, name)
    together = forced(model, source.batch, source.lengths, target)
    for row in range(3):
        alone = forced(model, *source.row(row), target[row : row + 1])
        assert_close(alone[0], together[row], tolerance=1e-11)
    if source.lengths is not None:
        pad = (0, 0, 0, 3) if source.batch.is_floating_point() else (0, 3)
        longer = F.pad(source.batch, pad, value=7)
        assert_close(forced(model, longer, source.lengths, target), together, tolerance=1e-11)


@each_source
@each_decoder
def test_weights_are_of_what_is_present(kind: str, name: str) -> None:
    model, source, target = made(kind, name)
    attended = model(source.batch, source.lengths, target).attended
    if attended is None:
        assert kind == "seq2seq"
        return
    weights = attended.weights()
    assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)), tolerance=1e-11)
    if source.lengths is not None:
        assert not weights[1, ..., 1:].any()
        assert not weights[2, ..., 4:].any()


@each_source
@each_decoder
def test_a_beam_finds_the_same_in_another_batch(kind: str, name: str) -> None:
    model, source, _ = made(kind, name)
    search = Search(beam_size=3, n_best=2, max_length=6)
    together = generate(model, source.batch, source.lengths, search)
    for row, hypotheses in enumerate(together):
        (alone,) = generate(model, *source.row(row), search)
        assert [one.tokens for one in alone] == [one.tokens for one in hypotheses]
        assert [one.score for one in alone] == pytest.approx([one.score for one in hypotheses], abs=1e-6)


@each_source
@each_decoder
def test_states_can_be_selected(kind: str, name: str) -> None:
    model, source, target = made(kind, name)
    state = model.start(source.batch, source.lengths)
    for token in target[:, :2].unbind(1):
        state = model.step(token, state).state
    rows = torch.tensor([2, 0, 0, 1])
    straight = stepped(model, target[:, 2:], state)
    assert_close(stepped(model, target[rows, 2:], state.select(rows)), straight[rows], tolerance=1e-11)


@each_source
@each_decoder
def test_gradients_are_finite_and_reach_the_encoder(kind: str, name: str) -> None:
    model, source, target = made(kind, name)
    lengths = None if source.lengths is None else torch.tensor([5, 0, 4])  # one source is empty
    model.train()(source.batch, lengths, target).logits.square().sum().backward()
    gradients = {key: gradient for key, gradient in named_gradients(model) if gradient is not None}
    assert all(torch.isfinite(gradient).all() for gradient in gradients.values())
    assert any(gradient.any() for key, gradient in gradients.items() if key.startswith("encoder."))
    new = [key for key in model.state_dict() if key.startswith(("bridge", "source_map", "tape_map"))]
    assert all(gradients[key].any() for key in new)


@each_source
@each_decoder
def test_what_is_fed_can_be_chosen(kind: str, name: str) -> None:
    model, source, target = made(kind, name)
    chosen = model(source.batch, source.lengths, target, lambda logits, given: given)
    assert_close(log_softmax(chosen.logits), forced(model, source.batch, source.lengths, target), tolerance=1e-11)


@each_source
@each_decoder
def test_nothing_waits_for_the_device_while_an_update_is_captured(kind: str, name: str) -> None:
    model, source, target = made(kind, name)
    plain = model(source.batch, source.lengths, target).logits
    with recording(), on_the_device():
        logits = model(source.batch, source.lengths, target).logits
        logits.sum().backward()
    assert_close(logits, plain.detach(), tolerance=1e-10)


@each_source
@each_decoder
def test_packing_changes_nothing(kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "SMALL", 0)
    model, source, target = made(kind, name, torch.float32)
    with torch.no_grad():
        plain = stepped(model, target, model.start(source.batch, source.lengths))
        packed = pack(model)
        assert_close(stepped(packed, target, packed.start(source.batch, source.lengths)), plain, tolerance=1e-5)


@each_decoder
def test_own_encoders_need_no_map_between(kind: str) -> None:
    """Checkpoints from before encoders could be injected load: no parameter is new."""
    model, _, _ = made(kind, "own")
    new = {key.split(".")[0] for key in model.state_dict() if key.startswith(("bridge", "source_map", "tape_map"))}
    assert new == ({"bridge"} if kind == "bahdanau" else set())


@each_decoder
def test_an_encoder_states_its_width(kind: str) -> None:
    with pytest.raises(ValueError, match="output_dim"):
        build(kind, SOURCE, TARGET, encoder=nn.Linear(7, 5))


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [("bahdanau", "bidirectional", False), ("luong", "bidirectional", True), ("seq2seq", "reverse", True)],
)
def test_keys_of_the_own_encoder_have_no_effect_beside_another(kind: str, key: str, value: bool) -> None:
    with pytest.raises(ValueError, match=key):
        build(kind, SOURCE, TARGET, encoder={"kind": "conv"}, **{key: value})
    with pytest.raises(ValueError, match=key):
        ENCODER_DECODERS[kind](Vectors(), TARGET, **{key: value})  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="'all'"):
        build("transformer", SOURCE, SOURCE, encoder={"kind": "conv"}, tied="all")


def test_a_last_state_that_fits_is_the_first() -> None:
    fits = {"kind": "rnn", "embedding_dim": 5, "hidden_dim": 8, "cells": "lstm", "bidirectional": False}
    model = build("luong", SOURCE, TARGET, embedding_dim=6, hidden_dim=8, encoder=fits)
    assert model.bridge is None
    source = ids()
    end = model.encoder(source, LENGTHS).state
    assert_close(model.start(source, LENGTHS).layers.hidden, end.hidden)
    assert_close(model.start(source, LENGTHS).layers.cell, end.cell)
    other = build("luong", SOURCE, TARGET, embedding_dim=6, hidden_dim=8, encoder={**fits, "cells": "gru"})
    begun = other.start(source, LENGTHS).layers
    assert_close(begun.hidden[:, 0], torch.tanh(other.bridge(other.encoder(source, LENGTHS).summary)))
    assert not begun.cell.any()


def test_bahdanau_in_one_direction() -> None:
    model = build("bahdanau", SOURCE, TARGET, embedding_dim=6, hidden_dim=8, bidirectional=False).double()
    source = ids()
    encoded = model.encoder(source, LENGTHS)
    assert encoded.states.shape == (3, 5, 8)
    begun = model.start(source, LENGTHS).layers
    assert_close(begun.top, torch.tanh(model.bridge(encoded.summary)))
    changed = source.clone()
    changed[0, 4] = 4 if source[0, 4] != 4 else 5
    assert_close(model.encoder(changed, LENGTHS).states[0, :4], encoded.states[0, :4])  # nobody reads backwards


@each_source
def test_fertility_is_of_any_source(name: str) -> None:
    source = SOURCES[name]()
    given = {} if source.encoder is None else {"encoder": source.encoder}
    model = build("bahdanau", SOURCE, TARGET, embedding_dim=6, hidden_dim=8, fertility=3, **given)
    target = torch.full((3, 6), BOS)
    target[:, 1:] = 5
    loss = model(source.batch, source.lengths, target).extras["fertility"]
    assert loss.shape == (3,)
    loss.sum().backward()
    assert torch.isfinite(loss).all()
    assert any(
        gradient.any()
        for key, gradient in named_gradients(model)
        if key.startswith("encoder.") and gradient is not None
    )


def test_both_directions_can_have_an_encoder() -> None:
    inner = {"kind": "luong", "embedding_dim": 6, "hidden_dim": 8, "encoder": {"kind": "conv", "hidden_dim": 10}}
    model = build("bidirectional", SOURCE, TARGET, model=inner)
    target = torch.randint(4, TARGET, (3, 6))
    target[:, 0] = BOS
    predicted = model(ids(), LENGTHS, target)
    assert predicted.extras["symmetry"].shape == (3,)
    sizes = [part.encoder.words.table.num_embeddings for part in (model.forward_model, model.backward_model)]
    assert sizes == [SOURCE, TARGET]
