"""The pointer sentinel language model: the mixture by hand, its window across windows of text, and that it points."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.explain import capture
from regard.models import LanguageModel
from regard.models.build import build
from regard.nn import Cells
from regard.systems.language_model.pointer_lm import PointerLM
from tests.mechanism import assert_close

SIZE = 13
each_pairing = pytest.mark.parametrize("pairing", ["read", "next"])


def pointer(**options: Any) -> PointerLM:
    return PointerLM(SIZE, **{"embedding_dim": 5, "hidden_dim": 7} | options).double()


def text(rows: int = 2, length: int = 11) -> Tensor:
    return torch.randint(4, SIZE, (rows, length))


@each_pairing
def test_it_is_the_equations(pairing: str) -> None:
    """Word by word, with every sum written out; a window of 4."""
    model, words = pointer(window=4, pairing=pairing), text(1)
    predicted = model(words)
    h = model.layers(model.words(words))[0][0]
    for t in range(11):
        q = torch.tanh(model.pointer.query_map(h[t]))
        last = range(max(0, t - 3), t + 1)
        if pairing == "read":
            places = [(h[i], int(words[0, i])) for i in last]
        else:
            places = [(h[i - 1], int(words[0, i])) for i in last if i > 0]
        energies = torch.stack([*(q @ state for state, _ in places), q @ model.pointer.sentinel])
        *weights, gate = energies.softmax(0)
        p = gate * model.output_map(h[t]).softmax(0)
        for weight, (_, word) in zip(weights, places, strict=True):
            p = p + weight * F.one_hot(torch.tensor(word), SIZE)
        assert_close(predicted.logits[0, t].exp(), p.detach(), tolerance=1e-10)
        assert_close(predicted.extras["gate"][0, t], gate.item(), tolerance=1e-10)


@each_pairing
def test_logits_are_log_probabilities(pairing: str) -> None:
    predicted = pointer(pairing=pairing)(text())
    assert_close(predicted.logits.exp().sum(-1), torch.ones(2, 11), tolerance=1e-10)
    assert_close(predicted.logits.log_softmax(-1), predicted.logits.detach(), tolerance=1e-10)
    total = predicted.attended.weights().sum(-1) + predicted.extras["gate"]
    assert_close(total, torch.ones(2, 11), tolerance=1e-10)


def test_a_first_word_has_nothing_before_it() -> None:
    """With the pairs of a cache the first state has nothing to point at: the vocabulary alone, finite gradients."""
    model, words = pointer(pairing="next"), text(2, 1)
    predicted = model(words)
    plain = model.output_map(model.layers(model.words(words))[0]).log_softmax(-1)
    assert torch.equal(predicted.extras["gate"], torch.ones(2, 1, dtype=torch.float64))
    assert_close(predicted.logits, plain.detach(), tolerance=1e-12)
    predicted.logits[..., 5].sum().backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())


@each_pairing
@pytest.mark.parametrize("window", [1, 4, 100])
def test_the_window_goes_on_across_windows_of_text(pairing: str, window: int) -> None:
    model, words = pointer(pairing=pairing, window=window), text()
    whole, state, parts = model(words).logits, None, []
    for part in words.split(3, dim=1):
        predicted = model(part, state)
        state = model.carry(predicted.state)
        assert state.states.shape[1] == state.words.shape[1] <= window
        parts.append(predicted.logits)
    assert_close(torch.cat(parts, 1), whole.detach(), tolerance=1e-10)


def test_what_is_carried_has_no_history() -> None:
    model, words = pointer(), text()
    state = model.carry(model(words).state)
    assert not state.states.requires_grad
    assert not state.layers.hidden.requires_grad
    for _ in range(2):  # the second would fail, if the first had gone back into the window before
        predicted = model(words, state)
        predicted.logits.sum().backward()
        state = model.carry(predicted.state)


def test_a_new_text_points_at_nothing_of_the_old() -> None:
    model, words = pointer().eval(), text()
    before = model(words).logits
    model(text())
    assert torch.equal(model(words).logits, before)


def test_later_words_do_not_matter() -> None:
    model, words = pointer(), text()
    before = model(words).logits[:, :6]
    words[:, 6:] = 4
    assert_close(model(words).logits[:, :6], before.detach(), tolerance=1e-12)


@each_pairing
def test_gradients(pairing: str) -> None:
    model, words = PointerLM(7, embedding_dim=2, hidden_dim=3, window=3, pairing=pairing).double(), text(2, 5) % 7
    state = model.carry(model(text(2, 4) % 7).state)
    names = ["pointer.query_map.weight", "pointer.sentinel", "output_map.weight", "layers.layers.weight_hh_l0"]
    given = [model.get_parameter(name).detach().clone().requires_grad_() for name in names]

    def said(*parameters: Tensor) -> Tensor:
        found: Tensor = torch.func.functional_call(
            model, dict(zip(names, parameters, strict=True)), (words, state)
        ).logits
        return found

    assert torch.autograd.gradcheck(said, given)


def test_it_begins_with_a_language_model() -> None:
    """The parameters of a `LanguageModel` by its names; the pointer's own are W, b and s."""
    cells = Cells(kind="lstm", num_layers=2)
    plain, own = (
        kind(SIZE, embedding_dim=7, hidden_dim=7, cells=cells, tied=True) for kind in (LanguageModel, PointerLM)
    )
    assert own.load_state_dict(plain.state_dict(), strict=False).unexpected_keys == []
    more = set(own.state_dict()) - set(plain.state_dict())
    assert more == {"pointer.query_map.weight", "pointer.query_map.bias", "pointer.sentinel"}


def test_the_query_reads_what_the_output_layer_reads() -> None:
    """With everything dropped, and no bias, four states and the sentinel are all alike."""
    model = pointer(cells=Cells(kind="lstm", variational=True), dropout=0.999999)
    model.pointer.query_map.bias.data.zero_()
    assert_close(model(text()).extras["gate"][:, 3], [1 / 5, 1 / 5])
    assert not torch.allclose(model.eval()(text()).extras["gate"][:, 3], torch.tensor(1 / 5, dtype=torch.float64))


def test_capture_sees_where_it_points() -> None:
    model = pointer().eval()
    with capture(model) as seen:
        predicted = model(text())
    (read,) = seen["pointer"]
    assert_close(read.weights(), predicted.attended.weights().detach())


def test_it_learns_to_point() -> None:
    """Words come twice, eleven apart, and nothing else can be known: the pointer finds the place, the plain one not."""
    optimum = {}
    for kind in ("pointer_lm", "language_model"):
        torch.manual_seed(0)
        model = build(kind, 60, embedding_dim=16, hidden_dim=16)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(90):
            words = torch.randint(4, 60, (16, 4))
            words = torch.stack((words, torch.full_like(words, 3)), 2).flatten(1)  # a mark behind each word
            words = torch.cat((words, words), 1)
            predicted = model(words[:, :-1])
            nll = F.cross_entropy(predicted.logits.flatten(0, 1), words[:, 1:].flatten(), reduction="none")
            loss = nll.view(16, 15)[:, 7:].mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        optimum[kind] = loss.item()
    assert optimum["pointer_lm"] < 0.6 * optimum["language_model"]


def test_wrong_settings_are_one_sentence() -> None:
    with pytest.raises(ValueError, match="PointerLM: window must be at least 1; got 0"):
        pointer(window=0)
    with pytest.raises(ValueError, match=r"pairing must be one of .*; got 'last'"):
        pointer(pairing="last")
    with pytest.raises(ValueError, match="window must be a whole number; got None"):
        build("pointer_lm", SIZE, window=None)
    with pytest.raises(ValueError, match=r"PointerLM: text must be \[B, T\] with at least one word; got \[2, 0\]"):
        pointer()(text(2, 0))
    with pytest.raises(ValueError, match="PointerLM is a language model: start it with source None and batch=B"):
        pointer().start(text())
