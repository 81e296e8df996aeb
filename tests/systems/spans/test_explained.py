"""Span readers as explanations see them."""

from __future__ import annotations

import pytest

from regard.data import Tokenizer
from regard.decode.search import Search
from regard.explain.importance import leave_one_out
from regard.models import build
from regard.systems.spans.task import SpanAnswering
from tests.explain.subjects import check_subject, random_model
from tests.mechanism import assert_close

WORDS = Tokenizer.train(["where did Emmy sell the old violin ? in Turin near a harbour"], kind="words", masked=True)
TASK = SpanAnswering({"question": WORDS, "context": WORDS})
INPUTS = ["where did Emmy sell it ?\tEmmy did sell the old violin in Turin", "where ?\tnear a harbour"]
LAYERS = {"dim": 6, "num_heads": 2, "num_layers": 2}
RNN = {"kind": "rnn", "embedding_dim": 5, "hidden_dim": 6, "bidirectional": False}


@pytest.mark.parametrize("kind", ["coattention_reader", "bert", "transformer"])
def test_words_of_the_question(kind: str) -> None:
    coattends = kind == "coattention_reader"
    options = {"encoder": RNN, "hidden_dim": 4} if coattends else {"encoder": {"kind": kind, **LAYERS}}
    model = random_model(build("coattention_reader" if coattends else "span_reader", WORDS.size, None, **options))
    subject = TASK.subject(model)
    found = check_subject(subject, INPUTS)
    assert found.changes is None
    assert ("rollout" in found.erased) == (not coattends)
    texts, shorter = (
        subject.read(INPUTS[:1]),
        subject.read(["where did Emmy it ?\tEmmy did sell the old violin in Turin"]),
    )
    change = subject.probabilities(texts) - subject.probabilities(shorter)
    assert_close(leave_one_out(subject, texts)[0, 3], change.abs().mean())


def test_a_long_passage_is_read_where_its_answer_stands() -> None:
    task = SpanAnswering({"question": WORDS, "context": WORDS}, window=5, overlap=2)
    model = random_model(build("coattention_reader", WORDS.size, None, encoder=RNN, hidden_dim=4))
    (answer,) = task.predict(model, INPUTS[:1], Search())[0]
    passage, lengths = task.subject(model).read(INPUTS[:1]).beside
    assert int(lengths[0]) <= 5
    assert answer.text in WORDS.decode(passage[0].tolist())


def test_what_is_not_explained() -> None:
    for options in ({"interaction": "none", "decoder": "bilinear"}, {"interaction": "summary"}):
        model = build("coattention_reader", WORDS.size, None, encoder=RNN, hidden_dim=4, **options)
        with pytest.raises(ValueError, match="coattention"):
            TASK.subject(model)
    with pytest.raises(ValueError, match="coattention"):
        TASK.subject(build("span_reader", WORDS.size, None, encoder=RNN))
