"""Bits from vectors: the loss, the answers, the pictures."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batching.feed import BatchPosition
from regard.decode.search import Search
from regard.models.model_output import ModelOutput
from regard.systems.bits.episodes import Copy, Drawn, Ngrams
from regard.systems.bits.feed import DrawnFeed
from regard.systems.bits.ntm import NTM
from regard.systems.bits.task import Bits
from regard.systems.bits.vector_rnn import VectorRNN
from tests.mechanism import assert_close

COPY = Copy(bits=3, longest=5)


class Knowing(nn.Module):
    """Says what a copy is, with some doubt."""

    def __init__(self, doubt: float) -> None:
        super().__init__()
        self.doubt = nn.Parameter(torch.tensor(doubt))

    def forward(self, inputs: Tensor) -> ModelOutput:
        length = inputs.shape[1] // 2
        bits = F.pad(inputs[:, :length, :-1], (0, 0, length + 1, 0))
        return ModelOutput((2 * bits - 1) * ((1 - self.doubt) / self.doubt).log())


def test_the_loss_is_that_of_the_bits_that_are_asked_for() -> None:
    """Each bit is said with probability 3/4, so it costs -log 3/4, whatever is said where nothing is asked."""
    batch = COPY.draw(7, 1).batch(first=0).to(torch.get_default_device())
    loss = Bits(COPY).loss(Knowing(0.25), batch)
    assert loss.tokens == int(batch["asked"].sum()) * 3
    assert loss.total.item() == pytest.approx(-loss.tokens * math.log(0.75), rel=1e-5)
    assert loss.total.requires_grad
    assert not loss.nll.requires_grad
    by_hand = sum(
        F.binary_cross_entropy_with_logits(Knowing(0.25)(batch["inputs"]).logits[b, t], batch["targets"][b, t]).item()
        * 3
        for b in range(7)
        for t in range(batch["inputs"].shape[1])
        if batch["asked"][b, t]
    )
    assert loss.total.item() == pytest.approx(by_hand, rel=1e-5)


def test_gradients_come_from_nothing_else() -> None:
    batch = COPY.draw(2, 3).batch(first=0).to(torch.get_default_device())
    logits = torch.randn(*batch["targets"].shape, requires_grad=True)
    model: Any = lambda inputs: ModelOutput(logits)  # noqa: E731
    Bits(COPY).loss(model, batch).total.backward()
    assert logits.grad is not None
    assert (logits.grad[~batch["asked"]] == 0).all()
    assert (logits.grad[batch["asked"]] != 0).all()


def test_answers_are_the_likelier_bits_in_the_order_of_the_questions() -> None:
    questions = ["010 111", "101", "000 001 010 011 100", "110"]
    answers = Bits(COPY).predict(Knowing(0.25), questions, Search(), batch=2)
    assert [[one.text for one in found] for found in answers] == [[question] for question in questions]
    first = answers[0][0]
    assert first.score == pytest.approx(6 * math.log(0.75), rel=1e-5)
    assert first.log_probs == pytest.approx([3 * math.log(0.75)] * 2, rel=1e-5)
    assert (first.source_tokens, first.tokens, first.alignment) == (("010", "111", "copy"), ("010", "111"), None)


def test_where_a_machine_looked_is_where_it_had_written() -> None:
    model = NTM(4, 3, hidden_dim=5, rows=7, row_dim=2, read_heads=2, write_heads=3)
    (answer,) = Bits(COPY).predict(model, ["010 111"], Search())[0]
    assert answer.alignment is not None
    assert answer.alignment.shape == (2, 3)
    with torch.no_grad():
        trace = model.trace(torch.tensor(COPY.lay("010 111").inputs).unsqueeze(0))
    expected = sum(
        0.5 * trace.read_weights[0, reader, 4] @ trace.write_weights[0, writer, 1]
        for reader in range(2)
        for writer in range(3)
    )
    assert answer.alignment[1, 1].item() == pytest.approx(float(expected), abs=1e-5)


def test_one_answer_only() -> None:
    with pytest.raises(ValueError, match="bits are the likelier value of each, one answer; got n_best=2"):
        Bits(COPY).predict(Knowing(0.1), ["010"], replace(Search(), n_best=2, beam_size=2))


def test_a_tape_with_too_few_rows_is_one_sentence() -> None:
    small, large, lstm = NTM(4, 3, rows=4), NTM(4, 3, rows=5), VectorRNN(4, 3, hidden_dim=5)
    for model in (large, lstm):
        Bits(COPY).check(model)
    with pytest.raises(
        ValueError, match=r"the tape has 4 rows, and 5 things are to be kept: .* make model\.rows larger"
    ):
        Bits(COPY).check(small)
    Bits(COPY).predict(small, ["010 " * 4], Search())
    with pytest.raises(ValueError, match="the tape has 4 rows, and 6 things"):
        Bits(COPY).predict(small, ["010 " * 6], Search())
    Bits(Ngrams()).check(small)  # counts may share rows


def test_panels_of_a_machine_and_of_an_lstm() -> None:
    task = Bits(COPY)
    machine = NTM(4, 3, hidden_dim=5, rows=7, row_dim=2, read_heads=2)
    panels = {panel.title: panel for panel in task.panels(machine, "010 111", Search())}
    assert list(panels) == [
        "inputs",
        "answers: p(1)",
        "write head 1: weights",
        "read head 1: weights",
        "read head 2: weights",
        "what is read",
        "the tape at the end",
    ]
    assert panels["inputs"].values.tolist() == COPY.lay("010 111").inputs.T.tolist()
    assert panels["inputs"].columns == ("010", "111", "copy", "", "")
    assert (panels["answers: p(1)"].values[:, :3] == 0).all()
    assert (panels["answers: p(1)"].values[:, 3:] > 0).all()
    weights = panels["write head 1: weights"]
    trace = machine.trace(torch.tensor(COPY.lay("010 111").inputs).unsqueeze(0))
    rows = [int(row) for row in weights.rows]
    assert_close(weights.values, trace.write_weights[0, 0][:, rows].T)
    assert_close(panels["the tape at the end"].values, trace.tape.matrix[0, rows].T)
    assert len(task.panels(VectorRNN(4, 3, hidden_dim=5), "010", Search())) == 2


def test_the_feed_draws_without_end_and_divides_among_processes() -> None:
    feed = DrawnFeed(Drawn(COPY, "train"), 6)
    places = feed.after(0, 3)
    assert [next(places) for _ in range(2)] == [BatchPosition(0, 3), BatchPosition(0, 4)]
    whole = feed.batch(BatchPosition(0, 3))
    assert whole.indices == tuple(range(18, 24))
    assert feed.tokens(BatchPosition(0, 3)) == whole.tokens
    parts = [feed.batch(BatchPosition(0, 3), rank, 4) for rank in range(4)]
    assert [part.size for part in parts] == [2, 2, 1, 1]
    assert sum(part.tokens for part in parts) == whole.tokens
    assert torch.equal(parts[1]["inputs"], whole["inputs"][1::4])
    assert str(feed) == "batches of 6 sequences, drawn without end"


def test_a_split_is_gone_through_once() -> None:
    drawn = Drawn(COPY, "valid", size=37)
    feed = DrawnFeed(drawn, 16)
    assert feed.per_epoch == 3
    found = [feed.batch(BatchPosition(0, number)) for number in range(3)]
    assert [batch.size for batch in found] == [16, 16, 5]
    texts = [COPY.question(row.numpy()) for batch in found for row in batch["inputs"]]
    assert texts == [example.fields["source"] for example in drawn]  # what is measured is what is asked
