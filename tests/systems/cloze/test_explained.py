"""Cloze readers as explanations see them."""

from __future__ import annotations

import pytest

from regard.data import Tokenizer
from regard.decode.search import Search
from regard.explain.importance import leave_one_out
from regard.models import build
from regard.systems.cloze.question import BLANK
from regard.systems.cloze.task import ClozeAnswering
from tests.explain.subjects import check_subject, random_model
from tests.mechanism import assert_close

WORDS = Tokenizer.train(["ann saw bo ran .", BLANK], kind="words", split="whitespace")
TASK = ClozeAnswering({"passage": WORDS}, slots=3)
INPUTS = ["ann saw bo . bo ran .\tXXXXX ran", "cy saw ann . dee ran . ann ran .\tcy saw XXXXX"]


@pytest.mark.parametrize("attention", ["sum", "over"])
def test_a_reader_points_at_its_answer(attention: str) -> None:
    encoder = {"kind": "rnn", "embedding_dim": 5, "hidden_dim": 6, "bidirectional": True}
    model = random_model(build("cloze_reader", WORDS.size + 3, None, encoder=encoder, attention=attention))
    subject = TASK.subject(model)
    found = check_subject(subject, INPUTS)
    assert found.changes is not None
    assert not found.detached
    texts = subject.read(INPUTS)
    chosen = subject.probabilities(texts).argmax(1).tolist()
    said = [one[0] for one in TASK.predict(model, [TASK.parse(given) for given in INPUTS], Search())]
    names = [subject.name(given, texts, answer) for given, answer in zip(INPUTS, chosen, strict=True)]
    assert names == [one.source.split("\t")[1].replace(BLANK, one.text) for one in said]
    whole = subject.probabilities(texts)
    shorter = subject.probabilities(subject.read(["cy saw ann . ran . ann ran .\tcy saw XXXXX", INPUTS[1]]))[0]
    # Without "dee" its number has nothing, and "ran", the next new word, moves up in the numbers of the shorter text.
    moved = shorter[[0, 1, 2, 3, -1, 4]]
    assert_close(leave_one_out(subject, texts)[1, 4], (moved - whole[1]).abs().mean())
