"""Answers to questions about stories: the loss by hand, and what is answered."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from regard.data import Batch, Sentences, Tokenizer
from regard.decode.search import Search
from regard.models.model_output import ModelOutput
from regard.specials import UNK
from regard.systems.answering.task import Answering
from tests.mechanism import assert_close

WORDS = Tokenizer.train(["a b c Where is"], kind="words", lowercase=True)


class Says(nn.Module):
    """Says p of the words a, b, c whatever it reads, and something foolish of special ids; keeps what it read."""

    def __init__(self, *shares: float) -> None:
        super().__init__()
        logits = torch.full((WORDS.size,), -50.0)
        logits[:4] = 99.0
        for word, share in zip("abc", shares, strict=True):
            logits[WORDS.encode(word)[0]] = math.log(share)
        self.logits = nn.Parameter(logits)
        self.read: list[tuple[Tensor, Tensor, Tensor]] = []

    def forward(self, story: Tensor, question: Tensor, sentences: Tensor) -> ModelOutput:
        self.read.append((story, question, sentences))
        return ModelOutput(self.logits.expand(len(story), -1))


def answering(smoothing: float = 0.0) -> Answering:
    return Answering(dict.fromkeys(("story", "question", "answer"), WORDS), smoothing)


def batch(*answers: int) -> Batch:
    size = len(answers)
    tensors = {
        "story": torch.full((size, 2, 3), 5),
        "story_lengths": torch.full((size,), 2),
        "question": torch.full((size, 2), 5),
        "question_lengths": torch.full((size,), 2),
        "answer": torch.tensor(answers).view(-1, 1),
    }
    return Batch(tensors, tuple(range(size)), size)


def test_the_loss_is_of_words_and_unknown_answers_do_not_count() -> None:
    a, c = (WORDS.encode(word)[0] for word in "ac")
    loss = answering().loss(Says(0.5, 0.3, 0.2), batch(a, c, UNK))
    assert_close(loss.total, -math.log(0.5) - math.log(0.2), tolerance=1e-5)
    assert_close(loss.nll, -math.log(0.5) - math.log(0.2), tolerance=1e-5)
    assert loss.tokens == 2


def test_an_answer_that_training_never_had_is_wrong_and_not_unknown() -> None:
    assert answering().reference("Football,Apple") == "football,apple"
    assert answering().reference("B") == "b"


def test_a_story_that_cannot_be_read_is_said_so() -> None:
    model = Says(0.5, 0.3, 0.2)
    assert answering().input_warnings(model, ["a b. Where is c?", "x y. Where is z?"]) == []
    assert answering().input_warnings(model, ["x y. q?"]) == [
        "no word of 'x y q' is in the vocabulary of this run: its answer says nothing"
    ]
    model.memory_size = 2
    (said,) = answering().input_warnings(model, ["a. b. c. Where is a?", "a. b. Where is a?"])
    assert said.startswith("a story of 3 sentences is longer than the memory of 2")


def test_smoothing_is_of_training_alone() -> None:
    a = WORDS.encode("a")[0]
    smoothed = answering(0.1).loss(Says(0.5, 0.3, 0.2), batch(a, UNK), update=0)
    assert smoothed.total > smoothed.nll
    assert torch.isfinite(smoothed.total)
    assert_close(answering(0.1).loss(Says(0.5, 0.3, 0.2), batch(a)).total, -math.log(0.5), tolerance=1e-5)


def test_the_likeliest_words_are_answered_and_no_special_ones() -> None:
    model = Says(0.2, 0.5, 0.3)
    asked = ["A b. C. Where is a?", "Where is b?", "c\tb. a\ta a\twhere is"]
    answers = answering().predict(model, asked, Search(n_best=2), batch=2)
    assert [[one.text for one in ranked] for ranked in answers] == [["b", "c"]] * 3
    assert answers[0][0].score == pytest.approx(math.log(0.5), abs=1e-5)
    assert [ranked[0].source_tokens for ranked in answers] == [("A b", "C"), (), ("c", "b. a", "a a")]
    story, question, sentences = model.read[0]  # the shortest first
    assert sentences.tolist() == [0, 2]
    assert WORDS.decode(story[1, 0].tolist()) == "a b"
    assert WORDS.decode(question[1].tolist()) == "where is a"
    assert len(answering().predict(model, ["Where is a?"], Search(n_best=99, beam_size=99))[0]) == WORDS.size - 4


def test_what_is_asked_is_read_as_it_was_told() -> None:
    fields = {"story": Sentences(["Dr. A is in B", "C"]), "question": "Where is Dr. A", "answer": "B"}
    asked = answering().ask(fields)
    assert Sentences.of(asked) == [*fields["story"], fields["question"]]
    assert answering().reference("B") == "b"
    assert answering().measured_in == "nats an answer"
