"""Spans: the loss by hand, the best valid span, windows that compete, and a reader of two texts."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from regard.data import Batch, DataError, Tokenizer
from regard.decode.search import Search
from regard.models import build
from regard.models.model_output import ModelOutput
from regard.systems.spans.answer import SpanAnswer
from regard.systems.spans.panels import attention_maps
from regard.systems.spans.task import SpanAnswering, best_spans
from tests.mechanism import assert_close

WORDS = Tokenizer.train(["where is it a b c d e f g h"], kind="words")


class Points(nn.Module):
    """Points at the words it is given, whatever is asked: logits of where an answer begins and ends."""

    def __init__(self, begins: dict[str, float], ends: dict[str, float]) -> None:
        super().__init__()
        table = torch.zeros(WORDS.size, 2)
        for column, chosen in enumerate((begins, ends)):
            for word, logit in chosen.items():
                table[WORDS.encode(word)[0], column] = logit
        self.table = nn.Parameter(table)
        self.widest = 0

    def forward(self, question: Tensor, asked: Tensor, passage: Tensor, told: Tensor) -> ModelOutput:
        self.widest = max(self.widest, passage.shape[1])
        outside = torch.arange(passage.shape[1]) >= told.unsqueeze(1)
        return ModelOutput(self.table[passage].masked_fill(outside.unsqueeze(2), -torch.inf))


def task(**options: int) -> SpanAnswering:
    return SpanAnswering({"question": WORDS, "context": WORDS}, **options)


def test_the_loss_is_of_both_places() -> None:
    model = Points({"a": math.log(2.0)}, {"b": math.log(3.0)})
    ids = torch.tensor([WORDS.encode("c a b d"), [*WORDS.encode("a b"), 0, 0]])
    tensors = {
        "question": torch.full((2, 3), 5),
        "question_lengths": torch.tensor([3, 2]),
        "context": ids,
        "context_lengths": torch.tensor([4, 2]),
        "span": torch.tensor([[1, 2], [0, 0]]),
    }
    loss = task().loss(model, Batch(tensors, (0, 1), 4))
    expected = -math.log(2 / 5) - math.log(3 / 6) - math.log(2 / 3) - math.log(1 / 4)
    assert_close(loss.total, expected, tolerance=1e-5)
    assert_close(loss.nll, expected, tolerance=1e-5)
    assert loss.tokens == 4
    assert task().sizes == (WORDS.size, None)
    loss.total.backward()
    assert model.table.grad is not None
    assert model.table.grad.isfinite().all()


class Again(Points):
    """Points in three iterations: at nothing, then as it is told to; the second question stops after two."""

    def forward(self, question: Tensor, asked: Tensor, passage: Tensor, told: Tensor) -> ModelOutput:
        last = super().forward(question, asked, passage, told).logits
        path = torch.stack((last * 0.0, last, last), dim=1).nan_to_num(nan=-torch.inf)
        running = torch.tensor([[True, True, True], [True, True, False]])
        return ModelOutput(last, extras={"iterations": path, "running": running})


def test_the_loss_is_of_all_iterations_that_ran() -> None:
    model = Again({"a": math.log(2.0)}, {"b": math.log(3.0)})
    tensors = {
        "question": torch.full((2, 3), 5),
        "question_lengths": torch.tensor([3, 2]),
        "context": torch.tensor([WORDS.encode("c a b d"), [*WORDS.encode("a b"), 0, 0]]),
        "context_lengths": torch.tensor([4, 2]),
        "span": torch.tensor([[1, 2], [0, 0]]),
    }
    loss = task().loss(model, Batch(tensors, (0, 1), 4))
    first, second = -math.log(2 / 5) - math.log(3 / 6), -math.log(2 / 3) - math.log(1 / 4)
    assert_close(loss.total, 2 * math.log(4) + 2 * first + 2 * math.log(2) + second, tolerance=1e-5)
    assert_close(loss.nll, first + second, tolerance=1e-5)  # the last one, which answers
    assert loss.tokens == 4


def test_an_ensemble_averages_over_the_pieces_of_a_window() -> None:
    first, second = torch.randn(2, 3, 5, 2)
    first[1, 3:] = second[1, 3:] = -torch.inf
    assert_close(
        task().averaged([first]).nan_to_num(neginf=-9.0), first.nan_to_num(neginf=-9.0).double(), tolerance=1e-5
    )
    both = task().averaged([first, second])
    assert_close(both.softmax(1), (first.softmax(1) + second.softmax(1)).double() / 2, tolerance=1e-5)
    assert_close(both.logsumexp(1), (first.logsumexp(1) + second.logsumexp(1)).double() / 2, tolerance=1e-5)
    assert both[1, 3:].isneginf().all()


def test_the_best_span_is_valid_and_not_too_long() -> None:
    logits = torch.randn(3, 11, 2)
    logits[1, 7:] = -torch.inf
    words = torch.tensor([[0, 0, 1, 2, 2, 2, 3, 4, 5, 5, 6]]).expand(3, -1)
    for row, spans in enumerate(best_spans(logits, words, longest=2, n_best=200)):
        size = 7 if row == 1 else 11
        brute = {
            (first, last): float(logits[row, first, 0] + logits[row, last, 1])
            for first in range(size)
            for last in range(first, size)
            if words[row, last] - words[row, first] < 2
        }
        assert {(first, last): score for score, first, last in spans} == pytest.approx(brute)
        assert [score for score, _, _ in spans] == sorted(brute.values(), reverse=True)


def test_answers_are_text_of_the_passage() -> None:
    model = Points({"b": 6.0, "h": 1.0}, {"c": 5.0})
    (answers,) = task().predict(model, ["where is it\ta  b   c d"], Search(n_best=2))
    assert answers[0].text == "b   c"  # its spaces and all
    assert answers[0].tokens == ("b", "c")
    assert answers[0].score == pytest.approx(sum(answers[0].log_probs))
    assert answers[0].alignment.shape == (2, 4)
    assert_close(answers[0].alignment.sum(1), torch.ones(2), tolerance=1e-5)
    assert answers[1].text != answers[0].text
    assert [one[0].text for one in task().predict(model, ["is it\tc b", "is it\tb a a c"], Search())] == [
        "b",
        "b a a c",
    ]
    assert task(longest=2).predict(model, ["is it\tb a a c"], Search())[0][0].text in ("b", "b a", "a c", "c")


def test_the_best_of_all_windows_is_answered() -> None:
    model = Points({"a": 2.0, "f": 4.0}, {"b": 2.0, "g": 4.0})
    passage = "a b c d e f g h"
    (answers,) = task(window=3, overlap=1).predict(model, [f"where\t{passage}"], Search(n_best=3), batch=2)
    assert answers[0].text == "f g"
    assert model.widest == 3
    wide = task().predict(model, [f"where\t{passage}"], Search())[0][0]
    assert wide.text == "f g"
    assert isinstance(wide, SpanAnswer)
    ((_, weights, _, pieces),) = attention_maps(wide)
    assert weights.shape == (2, len(pieces))
    assert task().panels(model, f"where is it\t{passage}", Search())[0].rows == ("begins", "ends")


def test_what_is_asked_has_a_tab() -> None:
    fields = {"question": "where is it", "context": "a b", "answer": "a", "answers": ["a", "a b"]}
    assert task().ask(fields) == "where is it\ta b"
    assert task().references(fields) == ["a", "a b"]
    for wrong in ("where is it", "where\t ", "\ta b"):
        with pytest.raises(DataError, match="have a tab between them"):
            task().predict(Points({}, {}), [wrong], Search())


@pytest.mark.parametrize("kind", ["bert", "rnn", "transformer"])
def test_a_reader_does_not_see_padding_nor_what_stands_beside(kind: str) -> None:
    sizes = {"embedding_dim": 6, "hidden_dim": 8} if kind == "rnn" else {"dim": 8, "num_heads": 2, "num_layers": 1}
    model = build("span_reader", 13, encoder={"kind": kind, **sizes}, dropout=0.0).double().eval()
    question, passage = torch.randint(4, 13, (3, 5)), torch.randint(4, 13, (3, 7))
    asked, told = torch.tensor([5, 2, 3]), torch.tensor([7, 7, 2])
    logits = model(question, asked, passage, told).logits
    assert logits.shape == (3, 7, 2)
    for row in range(3):
        alone = model(
            question[row : row + 1, : asked[row]],
            asked[row : row + 1],
            passage[row : row + 1, : told[row]],
            told[row : row + 1],
        )
        assert_close(logits[row, : told[row]], alone.logits[0], tolerance=1e-10)
        assert logits[row, told[row] :].isneginf().all()
    other = model(question.flip(1), asked, passage, told).logits
    assert (other[0] - logits[0]).abs().max() > 1e-4


def test_a_span_of_two_windows_is_answered_once_and_scores_fall() -> None:
    model = Points({"c": 3.0, "d": 2.5, "g": 1.0}, {"d": 4.0, "e": 2.0, "h": 1.0})
    for passage in ("a b c d e f g h", "c d a c d"):
        (answers,) = task(window=4, overlap=3).predict(model, [f"where\t{passage}"], Search(n_best=8, beam_size=8))
        assert len(answers) == 8
        assert [one.score for one in answers] == sorted((one.score for one in answers), reverse=True)
        assert all(one.score == pytest.approx(sum(one.log_probs)) for one in answers)
        assert sum(one.text == "c d" for one in answers) == passage.count("c d")


def test_likelihoods_are_over_all_windows() -> None:
    model = Points({"a": 2.0}, {"b": 1.0})
    (answers,) = task(window=2, overlap=0).predict(model, ["where\ta b c d"], Search())
    begins, ends = math.exp(2) + 3, math.exp(1) + 3
    assert answers[0].log_probs == pytest.approx((2 - math.log(begins), 1 - math.log(ends)), abs=1e-5)


def test_a_question_too_long_for_the_reader_is_one_sentence() -> None:
    encoder = {"kind": "bert", "dim": 8, "num_heads": 2, "num_layers": 1, "max_length": 12}
    model = build("span_reader", WORDS.size, encoder=encoder).eval()
    assert task().predict(model, ["where is it\ta b c d e f"], Search())[0]
    sentence = (
        r"'where is it | a b c d e f g h' has 12 tokens and the model has room for 10 \(model.encoder.max_length\)"
    )
    with pytest.raises(DataError, match=sentence):
        task().predict(model, ["where is it\ta b c d e f g h"], Search())


def test_texts_that_are_read_apart_share_no_positions() -> None:
    encoder = {"kind": "bert", "dim": 8, "num_heads": 2, "num_layers": 1, "max_length": 10}
    model = build("coattention_reader", WORDS.size, encoder=encoder, hidden_dim=3).eval()
    assert task().predict(model, ["where is it\ta b c d e f g h"], Search())[0]
    with pytest.raises(DataError, match=r"has 9 tokens and the model has room for 8"):
        task().predict(model, ["where is it\ta b c d e f g h a"], Search())
