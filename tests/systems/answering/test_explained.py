"""Readers of stories as explanations see them, and the attentive reader."""

from __future__ import annotations

import pytest
import torch

from regard.data import Tokenizer
from regard.decode.search import Search
from regard.explain.importance import leave_one_out
from regard.models import build
from regard.specials import SPECIALS
from regard.systems.answering.attentive_reader import AttentiveReader, StoryWords
from regard.systems.answering.task import Answering
from tests.explain.subjects import check_subject, random_model
from tests.mechanism import assert_close

WORDS = Tokenizer.train(["Mary went to the garden John left Where is he home now"], kind="words", split="whitespace")
TASK = Answering({"story": WORDS, "question": WORDS, "answer": WORDS})
INPUTS = [
    "Mary went home\tJohn left the garden\tMary is now home\tWhere is John",
    "John left\tMary went\tWhere is Mary",
]
RNN = {"kind": "rnn", "embedding_dim": 5, "hidden_dim": 6, "bidirectional": True}


@pytest.mark.parametrize("tying", ["adjacent", "layerwise"])
def test_a_memory_network_by_its_sentences(tying: str) -> None:
    model = random_model(build("memory_network", WORDS.size, WORDS.size, dim=5, tying=tying, memory_size=9))
    subject = TASK.subject(model)
    found = check_subject(subject, INPUTS)
    assert found.unit == "sentence"
    assert subject.words(INPUTS[1]) == ["John left", "Mary went"]
    whole, part = subject.read(INPUTS[:1]), subject.read(["Mary went home\tMary is now home\tWhere is John"])
    change = subject.probabilities(whole) - subject.probabilities(part)
    assert_close(leave_one_out(subject, whole)[0, 1], change.abs().mean())


def test_an_attentive_reader_by_its_words() -> None:
    model = random_model(build("attentive_reader", WORDS.size, WORDS.size, encoder=RNN))
    assert isinstance(model, AttentiveReader)
    subject = TASK.subject(model)
    check_subject(subject, INPUTS)
    assert subject.words(INPUTS[1]) == ["John", "left", "Mary", "went"]
    texts = subject.read(INPUTS)
    said = [WORDS.tokens([answer + len(SPECIALS)])[0] for answer in subject.probabilities(texts).argmax(1).tolist()]
    assert [found[0].text for found in TASK.predict(model, INPUTS, Search())] == said


def test_the_attentive_reader_adds_up_words_by_sentences() -> None:
    model = random_model(build("attentive_reader", 13, 13, encoder=RNN))
    assert isinstance(model, AttentiveReader)
    story = torch.tensor([[[5, 6, 0], [7, 8, 9], [0, 0, 0]]])
    question = torch.tensor([[4, 5]])
    words = StoryWords.of(story)
    assert words.sentence.tolist() == [[0, 0, 1, 1, 1]]
    weights = model.attend(model.read(words.ids, words.lengths, question)).weights()[0, 0]
    seen = model(story, question, torch.tensor([2])).attended
    assert seen is not None
    assert_close(seen.weights()[0, 0], torch.stack((weights[:2].sum(), weights[2:].sum(), torch.tensor(0.0))))
    nothing = model(torch.zeros(1, 0, 0, dtype=torch.long), question, torch.tensor([0]))
    assert nothing.logits.isfinite().all()


def test_what_is_not_explained() -> None:
    with pytest.raises(ValueError, match="EntityNetwork"):
        TASK.subject(build("entity_network", WORDS.size, WORDS.size, dim=5, num_blocks=2))
    with pytest.raises(ValueError, match="linear_start"):
        TASK.subject(build("memory_network", WORDS.size, WORDS.size, dim=5, linear_start=True))
