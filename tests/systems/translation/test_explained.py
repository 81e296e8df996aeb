"""Translators as explanations see them."""

from __future__ import annotations

import pytest
import torch

from regard.data import Tokenizer
from regard.decode.search import Search
from regard.explain.importance import attention, input_gradient, leave_one_out
from regard.explain.rollout import rollout
from regard.models import build
from regard.specials import BOS
from regard.systems.translation.task import Translation
from tests.explain.subjects import check_subject, random_model
from tests.mechanism import assert_close

SOURCE = Tokenizer.train(["ein alter mann geht nach hause"], kind="words")
TARGET = Tokenizer.train(["an old man goes home"], kind="words")
TASK = Translation({"source": SOURCE, "target": TARGET})
INPUTS = ["ein alter mann geht", "mann geht nach hause ein"]
RECURRENT = {
    "bahdanau": {"embedding_dim": 5, "hidden_dim": 6},
    "luong": {"embedding_dim": 5, "hidden_dim": 6},
    "bahdanau of two heads": {"embedding_dim": 5, "hidden_dim": 6, "attention": {"num_heads": 2}},
}
LAYERS = {"dim": 6, "num_heads": 2, "num_layers": 2}


def translator(kind: str, **options: object) -> torch.nn.Module:
    return random_model(build(kind.split()[0], SOURCE.size, TARGET.size, **options), std=0.4)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random models seldom end: five words are enough."""
    monkeypatch.setattr("regard.systems.translation.explained.Search", lambda: Search(beam_size=1, max_length=5))


@pytest.mark.parametrize("kind", RECURRENT)
def test_a_recurrent_decoder(kind: str) -> None:
    model = translator(kind, **RECURRENT[kind])
    subject = TASK.subject(model)
    found = check_subject(subject, INPUTS)
    assert found.inputs == 2
    assert found.answers > 2
    assert found.changes is not None
    assert found.changes.distance is None


def test_each_word_of_the_translation_is_an_answer() -> None:
    """Row t is what the decoder gives word t of its own translation, by the weights of that step."""
    model = translator("bahdanau", **RECURRENT["bahdanau"])
    subject = TASK.subject(model)
    texts = subject.read(INPUTS[:1])
    said = TASK.predict(model, INPUTS[:1], Search(beam_size=1, max_length=5))[0][0].text
    target = [BOS, *TARGET.encode(said)]
    predicted = model(texts.ids[:1], texts.lengths[:1], torch.tensor([target]))
    assert len(texts.lengths) == len(target)
    assert_close(subject.probabilities(texts), predicted.logits[0].softmax(-1))
    assert_close(attention(subject, texts), predicted.attended.weights()[0])
    third = texts.rows(torch.tensor([2]))
    assert subject.name(INPUTS[0], third, 4) == f"{' '.join(TARGET.tokens(target[1:3]))} [{TARGET.tokens([4])[0]}]"
    ids = torch.tensor([SOURCE.encode("ein mann geht")])
    shorter = model(ids, torch.tensor([3]), torch.tensor([target]))
    change = shorter.logits[0, 2].softmax(-1) - predicted.logits[0, 2].softmax(-1)
    assert_close(leave_one_out(subject, third)[0, 1], change.abs().mean())


def test_gradients_hold_the_weights_of_all_steps() -> None:
    model = translator("luong", **RECURRENT["luong"])
    subject = TASK.subject(model)
    texts = subject.read(INPUTS)
    assert not torch.allclose(input_gradient(subject, texts), input_gradient(subject, texts, detach=False))


def test_a_transformer_has_the_measures_of_its_encoder() -> None:
    model = translator("transformer", **LAYERS)
    subject = TASK.subject(model)
    found = check_subject(subject, INPUTS)
    assert {"rollout", "weighted norms", "flow"} <= set(found.erased)
    assert found.changes is None
    texts = subject.read(INPUTS[:1])
    seen = []
    handles = [layer.attention.watch(lambda read: seen.append(read.weights())) for layer in model.encoder.layers]
    model.encoder(texts.ids[:1], texts.lengths[:1])
    for handle in handles:
        handle.remove()
    expected = attention(subject, texts) @ rollout(torch.stack(seen, 1))[0]
    assert_close(subject.extras()["rollout"].measure(texts), expected)


def test_what_is_not_explained() -> None:
    with pytest.raises(ValueError, match="Seq2Seq"):
        TASK.subject(build("seq2seq", SOURCE.size, TARGET.size, embedding_dim=5, hidden_dim=6))
