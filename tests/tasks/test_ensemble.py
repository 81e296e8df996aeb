"""Several models that answer as one."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from regard.decode import Ensemble, score
from regard.models import LanguageModel, TransformerLM
from regard.models.model_output import log_softmax
from regard.models.recurrent_encoder import RecurrentEncoder
from regard.nn.transformer_layer import LayerConfig
from regard.systems.classification.acceptor import Acceptor
from regard.tasks.ensemble import PredictionEnsemble, WindowedEnsemble, make_ensemble
from tests.mechanism import assert_close
from tests.models.systems import bahdanau, luong, pairs


def test_the_mean_of_probabilities_and_of_alignments() -> None:
    models, (source, lengths, target) = [bahdanau().eval(), luong().eval()], pairs()
    said = make_ensemble(models)(source, lengths, target[:, :-1])
    each = [model(source, lengths, target[:, :-1]) for model in models]
    mean = torch.stack([log_softmax(one.logits).exp() for one in each]).mean(0)
    assert_close(said.logits.exp(), mean.double(), tolerance=1e-6)
    looked = torch.stack([one.attended.weights() for one in each]).mean(0)
    assert_close(said.attended.weights(), looked.double(), tolerance=1e-6)


def test_all_at_once_is_step_by_step() -> None:
    model, (source, lengths, target) = make_ensemble([bahdanau(), luong()]).eval(), pairs()
    words = [[token for token in row if token] for row in target[:, 1:].tolist()]
    said = log_softmax(model(source, lengths, target[:, :-1]).logits)
    for row, made in enumerate(score(model, source, lengths, words)):  # type: ignore[arg-type]
        here = said[row, range(len(words[row])), words[row]]
        assert_close(torch.tensor(made.log_probs), here.double(), tolerance=1e-5)


def test_one_alone_is_itself_and_training_is_that_of_all() -> None:
    model = bahdanau()
    assert make_ensemble([model]) is model
    both = make_ensemble([model, bahdanau()])
    assert sum(1 for _ in both.parameters()) == 2 * sum(1 for _ in model.parameters())
    assert not both.eval().training
    assert not model.training


def test_labels_too() -> None:
    models = [
        Acceptor(RecurrentEncoder(11, embedding_dim=3, hidden_dim=4), 5, pooling="attention").eval() for _ in range(3)
    ]
    text, lengths = torch.randint(4, 11, (2, 7)), torch.tensor([7, 4])
    said = PredictionEnsemble(models)(text, lengths)
    mean = torch.stack([log_softmax(model(text, lengths).logits).exp() for model in models]).mean(0)
    assert_close(said.logits.exp(), mean.double(), tolerance=1e-6)
    assert said.attended is not None
    assert_close(said.attended.weights().sum(-1), torch.ones(2, 1).double(), tolerance=1e-6)


def carrying() -> nn.Module:
    return LanguageModel(11, embedding_dim=4, hidden_dim=4).eval()


def test_language_models_carry_their_states_from_window_to_window() -> None:
    models, text = [carrying(), carrying()], torch.randint(4, 11, (2, 9))
    both = make_ensemble(models)
    assert isinstance(both, WindowedEnsemble)
    whole: Tensor = both(text, None).logits
    first = both(text[:, :5], None)
    second = both(text[:, 5:], both.carry(first.state))
    assert_close(torch.cat((first.logits, second.logits), 1), whole.double(), tolerance=1e-5)
    alone: Tensor = both(text[:, 5:], None).logits
    assert not torch.allclose(alone, second.logits)


def test_models_that_read_windows_differently_are_refused() -> None:
    other = TransformerLM(11, LayerConfig(dim=4, num_heads=2), num_layers=1)
    with pytest.raises(ValueError, match="needs all of them to carry their state, or none"):
        make_ensemble([carrying(), other])
    assert not hasattr(make_ensemble([other, other]), "carry")


def test_both_averages_are_distributions() -> None:
    said = [torch.tensor([0.5, 0.25, 0.25]).log(), torch.tensor([0.25, 0.5, 0.25]).log()]
    models = [bahdanau(), bahdanau()]
    assert_close(Ensemble(models).mean(said).exp(), torch.tensor([0.375, 0.375, 0.25]).double(), tolerance=1e-6)
    root = math.sqrt(0.125)
    wanted = torch.tensor([root, root, 0.25]).double() / (2 * root + 0.25)
    assert_close(Ensemble(models, average="log_probabilities").mean(said).exp(), wanted, tolerance=1e-6)
