"""What every generating model must do, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from regard.models.model_output import log_softmax
from regard.nn import pack
from regard.nn.cpu_decode import packing
from regard.specials import BOS
from tests.mechanism import assert_close
from tests.models.systems import ENCODER_DECODERS, LANGUAGE_MODELS, TARGET, forced, named_gradients, pairs, stepped

Make = Callable[[], Any]
each_pair = pytest.mark.parametrize("make", ENCODER_DECODERS.values(), ids=ENCODER_DECODERS)
each_text = pytest.mark.parametrize("make", LANGUAGE_MODELS.values(), ids=LANGUAGE_MODELS)
each_dtype = pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])


@each_pair
def test_shapes(make: Make) -> None:
    model, (source, lengths, target) = make(), pairs()
    predicted = model(source, lengths, target)
    assert predicted.logits.shape == (3, 7, TARGET)
    if predicted.attended is not None:
        weights = predicted.attended.weights()
        assert weights.shape[0] == 3
        assert weights.shape[-2:] == (7, 5)
        assert (weights[1, ..., 2:] == 0).all()


@each_dtype
@each_pair
def test_teacher_forcing_is_step_by_step(make: Make, dtype: torch.dtype, tolerance: float) -> None:
    model, (source, lengths, target) = make().to(dtype).eval(), pairs()
    stepwise = stepped(model, target, model.start(source, lengths))
    assert_close(stepwise, forced(model, source, lengths, target).double(), tolerance=tolerance)


@each_pair
def test_weights_are_those_of_the_steps(make: Make) -> None:
    model, (source, lengths, target) = make().eval(), pairs()
    attended, state = model(source, lengths, target).attended, model.start(source, lengths)
    for t, token in enumerate(target.unbind(1)):
        step = model.step(token, state)
        state = step.state
        assert (step.attended is None) == (attended is None)
        if attended is not None:
            assert_close(step.attended.weights(), attended.weights(rows=t), tolerance=1e-5)


@each_pair
def test_batch_and_padding_change_nothing(make: Make) -> None:
    model, (source, lengths, target) = make().double(), pairs()
    together = forced(model, source, lengths, target)
    for row, length in enumerate(lengths.tolist()):
        alone = forced(model, source[row : row + 1, :length], lengths[row : row + 1], target[row : row + 1])
        assert_close(alone[0], together[row], tolerance=1e-10)
    longer = F.pad(source, (0, 3), value=7)
    assert_close(forced(model, longer, lengths, target), together, tolerance=1e-10)
    full = torch.full_like(lengths, source.shape[1])
    assert_close(forced(model, source, full, target)[0], together[0], tolerance=1e-10)


@each_pair
def test_later_target_tokens_do_not_matter(make: Make) -> None:
    model, (source, lengths, target) = make().double(), pairs()
    before = forced(model, source, lengths, target)
    target[:, 4:] = 5
    assert_close(forced(model, source, lengths, target)[:, :4], before[:, :4], tolerance=1e-10)


@each_pair
def test_select_reorders_and_repeats(make: Make) -> None:
    model, (source, lengths, target) = make().double(), pairs()
    state = model.start(source, lengths)
    for token in target[:, :3].unbind(1):
        state = model.step(token, state).state
    rows = torch.tensor([2, 0, 0, 1])
    straight = stepped(model, target[:, 3:], state)
    assert_close(stepped(model, target[rows, 3:], state.select(rows)), straight[rows], tolerance=1e-10)


@each_pair
def test_a_beam_reads_its_own_source(make: Make) -> None:
    """Two hypotheses an input, reordered, then one input less: each says and attends to what it would alone."""
    model, (source, lengths, _) = make().double(), pairs()
    orders = [[0, 0, 1, 1, 2, 2], [1, 0, 2, 2, 5, 4], [4, 5, 0, 1]]
    origin, said = [0, 1, 2], [[BOS], [BOS], [BOS]]
    with torch.no_grad():
        state = model.start(source, lengths)
        for number, order in enumerate(orders):
            state = state.select(torch.tensor(order))
            origin, said = [origin[row] for row in order], [said[row] for row in order]
            step = model.step(torch.tensor([history[-1] for history in said]), state)
            state = step.state
            said = [[*history, 4 + (row + number) % 5] for row, history in enumerate(said)]
        histories = torch.tensor([history[:-1] for history in said])
        straight = model(source[origin], lengths[origin], histories)
        assert_close(step.log_probs, log_softmax(straight.logits)[:, -1], tolerance=1e-10)
        if straight.attended is not None:
            assert_close(step.attended.weights()[..., 0, :], straight.attended.weights()[..., -1, :], tolerance=1e-10)


@each_pair
def test_packing_changes_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "SMALL", 0)
    model, (source, lengths, target) = make().eval(), pairs()
    with torch.no_grad():
        plain = stepped(model, target, model.start(source, lengths))
        twin = make().eval()
        twin.load_state_dict(model.state_dict())
        packed = pack(twin)
        assert_close(stepped(packed, target, packed.start(source, lengths)), plain, tolerance=1e-5)
    assert packed.state_dict().keys() == model.state_dict().keys()


@each_pair
def test_an_empty_source_is_no_accident(make: Make) -> None:
    model, (source, _, target) = make(), pairs()
    lengths = torch.tensor([5, 0, 4])
    predicted = model(source, lengths, target)
    predicted.logits.sum().backward()
    assert torch.isfinite(predicted.logits).all()
    assert all(gradient is None or torch.isfinite(gradient).all() for _, gradient in named_gradients(model))


@each_pair
def test_sources_without_a_word_are_no_accident_either(make: Make) -> None:
    model, (_, _, target) = make().eval(), pairs()
    with torch.no_grad():
        state = model.start(torch.zeros(3, 0, dtype=torch.long), torch.tensor([0, 0, 0]))
        assert model.step(target[:, 0], state).log_probs.isfinite().all()


@each_pair
def test_gradient_reaches_every_parameter(make: Make) -> None:
    model, (source, lengths, target) = make(), pairs()
    predicted = model(source, lengths, target)
    (log_softmax(predicted.logits)[..., 5].sum() + sum(extra.sum() for extra in predicted.extras.values())).backward()
    silent = [name for name, gradient in named_gradients(model) if gradient is None or not gradient.any()]
    # A key's bias adds the same energy to every key of an inner product, which a softmax does not see.
    assert [name for name in silent if "key_map.bias" not in name] == []


@pytest.mark.parametrize("name", ["bahdanau", "luong", "simple", "transformer"])
def test_only_what_depends_on_the_past_is_done_step_by_step(name: str) -> None:
    """Teacher forcing looks all words up at once, and makes all logits at once."""
    model, batch = ENCODER_DECODERS[name](), pairs()
    calls: list[str] = []
    for part in ("words", "output_map"):
        getattr(model, part).register_forward_hook(lambda *_, part=part: calls.append(part))
    model(*batch)
    assert calls == ["words", "output_map"]


@pytest.mark.parametrize("name", ["seq2seq input", "bahdanau", "luong", "simple", "transformer"])
def test_learns_a_handful_by_heart(name: str) -> None:
    model, (source, lengths, target) = ENCODER_DECODERS[name](), pairs()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(220):
        logits = model(source, lengths, target[:, :-1]).logits
        loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        if loss.item() < 0.1:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1


@each_dtype
@each_text
def test_language_models_force_as_they_step(make: Make, dtype: torch.dtype, tolerance: float) -> None:
    model, (_, _, text) = make().to(dtype).eval(), pairs()
    at_once = forced(model, text)
    assert at_once.shape == (3, 7, TARGET)
    assert_close(stepped(model, text, model.start(None, None, batch=3)), at_once.double(), tolerance=tolerance)


@each_text
def test_a_carried_state_goes_on(make: Make) -> None:
    model, (_, _, text) = make().double(), pairs()
    first = model(text[:, :3])
    second = log_softmax(model(text[:, 3:], first.state.detach()).logits)
    assert_close(second, forced(model, text)[:, 3:], tolerance=1e-10)


@each_text
def test_language_models_select(make: Make) -> None:
    model, (_, _, text) = make().double(), pairs()
    state, rows = model(text[:, :4]).state, torch.tensor([1, 1, 0])
    assert_close(
        stepped(model, text[rows, 4:], state.select(rows)), stepped(model, text[:, 4:], state)[rows], tolerance=1e-10
    )


@each_text
def test_language_models_train_everywhere_and_learn(make: Make) -> None:
    model, (_, _, text) = make(), pairs()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(160):
        loss = F.cross_entropy(model(text[:, :-1]).logits.flatten(0, 1), text[:, 1:].flatten())
        if loss.item() < 0.5:  # the first words of three texts cannot be told apart
            break
        optimizer.zero_grad()
        loss.backward()
        assert all(gradient is not None for _, gradient in named_gradients(model))
        optimizer.step()
    assert loss.item() < 0.5


def test_bad_calls_are_named() -> None:
    model, text_model = ENCODER_DECODERS["bahdanau"](), LANGUAGE_MODELS["language model"]()
    with pytest.raises(ValueError, match="Bahdanau: an encoder-decoder needs a source; got None"):
        model.start(None, None)
    with pytest.raises(ValueError, match="LanguageModel is a language model: start it with source None and batch=B"):
        text_model.start(torch.ones(2, 3).long(), None)
    with pytest.raises(
        ValueError, match=r"LanguageModel: tokens must be \[B, T\] with at least one step; got \[2, 0\]"
    ):
        text_model(torch.ones(2, 0).long())
