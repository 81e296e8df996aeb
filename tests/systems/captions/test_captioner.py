"""The captioner: four ways to look at a picture, and what holds for each of them."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from regard.decode import generate
from regard.decode.search import Search
from regard.models.model_output import log_softmax
from regard.specials import BOS
from regard.systems.captions.captioner import Captioner, Convolutions
from regard.systems.captions.feature_maps import FeatureMaps

LOOKING = ("none", "soft", "hard", "marginal")
SMALL = Convolutions(width=8, depth=1, stages=2)


def captioner(looking: str, **given: object) -> Captioner:
    torch.manual_seed(1)
    options = {"convolutions": SMALL, "embedding_dim": 5, "hidden_dim": 7, "scale": 1.0, **given}
    return Captioner(3, 13, attention=looking, **options)  # type: ignore[arg-type]


def words(batch: int, size: int) -> Tensor:
    return torch.randint(4, 13, (batch, size)).index_fill(1, torch.tensor([0]), BOS)


@pytest.mark.parametrize("output", ["deep", "maxout"])
@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("looking", LOOKING)
def test_steps_are_the_same_as_teacher_forcing(looking: str, gate: bool, output: str) -> None:
    model = captioner(looking, gate=gate, output=output).eval()
    pictures, ids = torch.rand(2, 3, 12, 20), words(2, 6)
    predicted = model(pictures, None, ids)
    state, said = model.start(pictures), []
    for token in ids.unbind(1):
        step = model.step(token, state)
        said.append(step.log_probs)
        state = step.state
    torch.testing.assert_close(log_softmax(predicted.logits), torch.stack(said, 1))
    if looking == "none":
        assert predicted.attended is None
    else:
        assert predicted.attended.weights().shape == (2, 6, 15)
        torch.testing.assert_close(predicted.attended.weights().sum(2), torch.ones(2, 6))


@pytest.mark.parametrize("looking", LOOKING)
def test_a_beam_answers_each_picture_as_if_alone(looking: str) -> None:
    model, pictures = captioner(looking).eval(), torch.rand(3, 3, 12, 20)
    search = Search(strategy="beam", beam_size=4, max_length=6, n_best=2)
    together = generate(model, pictures, None, search)
    for row, found in enumerate(together):
        (alone,) = generate(model, pictures[row : row + 1], None, search)
        assert [one.tokens for one in found] == [one.tokens for one in alone]
        assert found[0].score == pytest.approx(alone[0].score, abs=1e-5)


@pytest.mark.parametrize("looking", LOOKING)
def test_padding_of_feature_maps_changes_nothing(looking: str) -> None:
    model = captioner(looking, given=True).double().eval()
    maps, ids = torch.randn(2, 7, 3).double(), words(2, 5)
    padded = model(torch.cat((maps, torch.full((2, 4, 3), 9.0).double()), 1), torch.tensor([7, 7]), ids)
    torch.testing.assert_close(padded.logits, model(maps, None, ids).logits)
    if looking != "none":
        assert padded.attended.weights()[..., 7:].abs().max() == 0


@pytest.mark.parametrize("looking", LOOKING)
def test_a_picture_without_regions_has_finite_gradients(looking: str) -> None:
    model = captioner(looking, given=True)
    predicted = model(torch.randn(2, 7, 3), torch.tensor([0, 7]), words(2, 5))
    log_softmax(predicted.logits).sum().backward()
    assert all(one.grad is None or one.grad.isfinite().all() for one in model.parameters())


def test_the_marginal_is_the_sum_over_all_draws() -> None:
    model = captioner("marginal", given=True).double().eval()
    maps, ids = torch.randn(1, 3, 3).double(), words(1, 4)
    with torch.no_grad():
        predicted = model(maps, None, ids)
    alpha = predicted.attended.weights()[0]  # [T, S]
    wanted = [5, 11, 4, 3]
    exact = sum(log_softmax(predicted.logits)[0, step, word] for step, word in enumerate(wanted))
    # The same from the definition: one region per word, all 3 ** 4 sequences of draws.
    with torch.no_grad():
        hidden, _ = model.layers(model.words(ids), None, model.start(maps).layers)
        looked = torch.sigmoid(model.gate(hidden)).unsqueeze(2) * model.context_map(maps)
        summed = (model.words(ids) + model.hidden_map(hidden)).unsqueeze(2) + looked
        each = model.output_map(summed.tanh()).log_softmax(-1)[0]  # [T, S, V]
    total = 0.0
    for draws in itertools.product(range(3), repeat=4):
        total += math.exp(sum(float(alpha[t, s].log() + each[t, s, wanted[t]]) for t, s in enumerate(draws)))
    assert float(exact) == pytest.approx(math.log(total), abs=1e-10)


def test_the_gradient_of_the_marginal_is_right() -> None:
    model = captioner("marginal", given=True).double()
    ids = words(2, 4)
    maps = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: model(x, torch.tensor([5, 3]), ids).logits, (maps,))


def test_soft_attention_by_hand() -> None:
    """The equations of Xu et al. once more, for the first word."""
    model = captioner("soft", given=True).double().eval()
    maps, ids = torch.randn(2, 5, 3).double(), words(2, 1)
    mean = maps.mean(1)
    hidden, cell = model.first_hidden(mean), model.first_cell(mean)
    score = model.attention.score
    energy = torch.tanh(score.query_map(hidden).unsqueeze(1) + score.key_map(maps)) @ score.weight[0]
    context = (energy.softmax(1).unsqueeze(2) * maps).sum(1) * torch.sigmoid(model.gate(hidden))
    word, lstm = model.words(ids[:, 0]), model.layers.layers
    gates = torch.cat((word, context), 1) @ lstm.weight_ih_l0.T + lstm.bias_ih_l0
    enter, keep, new, leave = (gates + hidden @ lstm.weight_hh_l0.T + lstm.bias_hh_l0).chunk(4, 1)
    after = torch.sigmoid(leave) * torch.tanh(torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new))
    logits = model.output_map(torch.tanh(word + model.hidden_map(after) + model.context_map(context)))
    torch.testing.assert_close(model(maps, None, ids).logits[:, 0], logits)


def test_hard_attention_draws_in_training_and_expects_at_test() -> None:
    model, pictures, ids = captioner("hard", expectation=0.0), torch.rand(2, 3, 12, 20), words(2, 6)
    predicted = model(pictures, None, ids)
    assert set(predicted.attended.weights().unique().tolist()) == {0.0, 1.0}
    assert predicted.extras["sample_log_prob"].requires_grad
    soft = captioner("soft")
    soft.load_state_dict({name: one for name, one in model.state_dict().items() if name != "baseline.value"})
    torch.testing.assert_close(model.eval()(pictures, None, ids).logits, soft.eval()(pictures, None, ids).logits)


def test_an_encoder_of_ones_own() -> None:
    model = Captioner(3, 13, encoder=FeatureMaps(11), embedding_dim=5, hidden_dim=7)
    assert model(torch.randn(2, 11, 3, 2), None, words(2, 4)).attended.weights().shape == (2, 4, 6)


def test_feature_maps_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[B, S, 11\].*\[2, 3, 5\]"):
        FeatureMaps(11)(torch.zeros(2, 3, 5))
