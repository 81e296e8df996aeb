"""The reader and its task: both attentions by hand, the loss, padding, unknown words, files, resumed runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.data import Batch, Tokenizer
from regard.data.problems import TextError
from regard.decode.search import Search
from regard.models import RecurrentEncoder, build
from regard.systems.cloze.cloze_reader import ClozeReader, make_orthogonal
from regard.systems.cloze.question import BLANK, Cloze
from regard.systems.cloze.task import ClozeAnswering, shuffle_unknown_slots
from tests.cli.command import asked, refused
from tests.mechanism import assert_close

WORDS = Tokenizer.train(["ann saw bo ran .", BLANK], kind="words", split="whitespace")
SMALL = (
    *("data.train_size=120", "data.valid_size=30", "data.test_size=30", "model.encoder.embedding_dim=6"),
    *("model.encoder.hidden_dim=8", "train.steps=8", "train.valid_every=4", "train.schedule.warmup=2"),
)
ATTENTIONS = pytest.mark.parametrize("attention", ["sum", "over"])


def reader(attention: Any = "over", size: int = 17) -> ClozeReader:
    torch.manual_seed(1)
    return ClozeReader(
        RecurrentEncoder(size, embedding_dim=3, hidden_dim=10, bidirectional=True, scale=1.0), attention=attention
    )


def task(**options: Any) -> ClozeAnswering:
    return ClozeAnswering({"passage": WORDS}, **options)


@ATTENTIONS
def test_s_is_that_of_the_paper(attention: str) -> None:
    model = reader(attention).eval()
    passage, question = torch.randint(4, 17, (1, 7)), torch.randint(4, 17, (1, 5))
    read, said = model.encoder(passage), model.question_encoder(question)
    matching = (read.states @ said.states.mT)[0]  # M [S, T]
    expected = (
        (read.states[0] @ said.summary[0]).softmax(0)
        if attention == "sum"
        else matching.softmax(0) @ matching.softmax(1).mean(0)
    )
    out = model(passage, torch.tensor([7]), question, torch.tensor([5]))
    assert_close(out.attended.weights()[0, 0], expected, tolerance=1e-5)
    assert_close(out.logits[0].exp(), expected, tolerance=1e-5)


@ATTENTIONS
def test_padding_changes_nothing(attention: str) -> None:
    model = reader(attention).eval()
    passage, question = torch.randint(4, 17, (3, 11)), torch.randint(4, 17, (3, 5))
    lengths, asked_lengths = torch.tensor([11, 7, 0]), torch.tensor([2, 5, 3])
    together = model(passage, lengths, question, asked_lengths).attended.weights()
    for row, (size, count) in enumerate(zip([11, 7], [2, 5], strict=False)):
        alone = model(passage[row : row + 1, :size], lengths[row : row + 1], question[row : row + 1, :count], None)
        assert_close(together[row, 0, :size], alone.attended.weights()[0, 0], tolerance=1e-5)
        assert together[row, 0, size:].eq(0).all()
    assert together[2].eq(0).all()  # an empty passage has no word to point at


def test_two_encoders_share_their_words_alone() -> None:
    model: Any = reader()
    assert model.question_encoder.words is model.encoder.words
    mine, its = (one.layers.layers.weight_hh_l0 for one in (model.encoder, model.question_encoder))
    assert not torch.equal(mine, its)
    assert_close(its[:5] @ its[:5].T, torch.eye(5), tolerance=1e-5)
    shared: Any = build("cloze_reader", 17, share_encoder=True, encoder={"hidden_dim": 10}, orthogonal=False)
    assert shared.question_encoder is shared.encoder
    layer: Any = torch.nn.LSTM(3, 5)
    make_orthogonal(layer)
    assert_close(layer.weight_hh_l0[15:].T @ layer.weight_hh_l0[15:], torch.eye(5), tolerance=1e-5)


def batch() -> Batch:
    tensors = {
        "passage": torch.tensor([[4, 5, 4, 6], [7, 5, 0, 0], [4, 5, 0, 0]]),
        "passage_lengths": torch.tensor([4, 2, 2]),
        "passage_words": torch.tensor([[0, 1, 0, 2], [0, 1, 0, 0], [0, 1, 0, 0]]),
        "passage_question": torch.tensor([[8, 5], [8, 6], [8, 6]]),
        "passage_question_lengths": torch.tensor([2, 2, 2]),
        "passage_answer": torch.tensor([0, 1, -1]),
    }
    return Batch(tensors, (0, 1, 2), 3)


def test_the_loss_sums_equal_words_and_leaves_absent_answers_out() -> None:
    model, given = reader().eval(), batch()
    loss = task().loss(model, given)
    s = model(*(given[name] for name in ("passage", "passage_lengths", "passage_question", "passage_question_lengths")))
    weights = s.attended.weights()[:, 0].detach()
    expected = -math.log(weights[0, 0] + weights[0, 2]) - math.log(weights[1, 1])
    assert_close(loss.total, expected, tolerance=1e-5)
    assert loss.tokens == 2
    loss.total.backward()
    assert all(one.grad is not None and one.grad.isfinite().all() for one in model.parameters())


def test_slots_are_dealt_to_each_example_alone() -> None:
    passage, question = torch.tensor([[5, 11, 12, 11, 0], [11, 13, 5, 6, 7]]), torch.tensor([[12, 8], [8, 8]])
    seen = set()
    for _ in range(40):
        told, said = shuffle_unknown_slots(passage, question, first=10, slots=4)
        assert torch.equal(told < 10, passage < 10)
        assert torch.equal(told[told < 10], passage[passage < 10])
        assert told[0, 1] == told[0, 3] != told[0, 2] == said[0, 0]
        assert told.max() < 14
        seen.add(int(told[0, 1]))
    assert seen == {10, 11, 12, 13}


def test_candidates_of_several_words_absent_ones_and_none() -> None:
    model, answering = reader(size=WORDS.size + 8).eval(), task(slots=8)
    passage = ("the old king saw Rex .", "Rex ran .")
    names = ("Rex", "old king", "Bo")
    (found,) = answering.predict(model, [Cloze(passage, "XXXXX ran", names)], Search(n_best=9, beam_size=9))
    assert {one.text for one in found} == set(names)
    assert found[-1].text == "Bo"  # it does not stand in the passage
    assert found[0].scores is not None
    assert sum(found[0].scores.values()) == pytest.approx(1.0, abs=1e-5)
    assert found[0].scores["Bo"] == 0
    assert [one.score for one in found[:2]] == pytest.approx([math.log(found[0].scores[one.text]) for one in found[:2]])
    (every,) = answering.predict(
        model, ["the old king saw Rex . Rex ran .\tXXXXX ran"], Search(n_best=99, beam_size=99)
    )
    assert {one.text for one in every} == {"the", "old", "king", "saw", "Rex", ".", "ran"}
    (none,) = answering.predict(model, [Cloze(passage, "XXXXX ran", ("Bo", "Cy"))], Search(n_best=1))
    assert none[0].text == "Bo"
    warned = answering.input_warnings(model, ["Rex ran .\tXXXXX ran\tRex|Bo", "Zed hid\tXXXXX hid", "nonsense"])
    assert len(warned) == 2
    assert "'Bo'" in warned[0]
    assert "says nothing" in warned[1]
    with pytest.raises(TextError, match="no placeholder"):
        answering.parse({"passage": "Rex ran .", "question": "who ran"})


def test_alone_and_in_a_batch_answers_are_the_same() -> None:
    model, answering = reader(size=WORDS.size + 4).eval(), task(slots=4, hide=True)
    texts = ["ann saw bo . bo ran .\tXXXXX ran\tann|bo", "bo saw ann .\tXXXXX saw ann\tann|bo"]
    together = answering.predict(model, texts, Search(n_best=2))
    for text, found in zip(texts, together, strict=True):
        (alone,) = answering.predict(model, [text], Search(n_best=2))
        assert [one.text for one in alone] == [one.text for one in found]
        assert [one.score for one in alone] == pytest.approx([one.score for one in found], abs=1e-5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whodunit")


@pytest.fixture
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.mark.usefixtures("_here")
def test_it_trains_ranks_anew_measures_and_draws() -> None:
    asked("train", "whodunit", *SMALL, "train.rerank={n_best: 3, classes: 5}")
    last = json.loads(Path("runs/whodunit/metrics.jsonl").read_text().splitlines()[-1])
    assert json.loads(asked("evaluate", "runs/whodunit", "--split", "test", "--json"))["accuracy"] == last["accuracy"]
    model = regard.load("runs/whodunit")
    assert model.task.encoders["reranking"].weights is not None  # type: ignore[attr-defined]
    parts = {"passage": "Tise bought a lamp . Moba sold the map .", "question": "it was XXXXX who sold the map"}
    text = "\t".join((*parts.values(), "Tise|Moba"))
    given = {**parts, "candidates": ["Tise", "Moba"]}
    Path("one.json").write_text(json.dumps(given))
    answers = model.predict([text, given, json.dumps(given), Path("one.json"), text.encode()])
    assert len({(one.text, one.score) for one in answers}) == 1
    assert asked("predict", "runs/whodunit", text) == f"{answers[0].text}\n"
    drawn = asked("predict", "runs/whodunit", text, "--alignment")
    assert "Moba" in drawn
    assert "█" in drawn
    Path("own.tsv").write_text("\t".join((*parts.values(), "Tise|Moba", "Moba")) + "\n")
    for options in (("--decode", "rerank=false"), ()):
        assert asked("predict", "runs/whodunit", "--file", "own.tsv", "--format", "cloze", *options).strip()
    asked("view", "runs/whodunit", text, "--output", "view.png")
    assert Path("view.png").stat().st_size > 1000
    plain = regard.load("runs/whodunit", overrides=["decode.rerank=false"]).predict([text])[0]
    assert plain.scores != answers[0].scores


@pytest.mark.usefixtures("_here")
def test_a_killed_run_goes_on_as_if_it_had_not_been() -> None:
    options = (*SMALL, "train.schedule={name: constant}", "train.checkpoint_every=4", "model.encoder.dropout=0.3")
    asked("train", "whodunit", "run=whole", *options)
    asked("train", "whodunit", "run=parts", *options, "train.steps=4")
    asked("train", "whodunit", "run=parts", *options)
    whole, parts = (regard.load(f"runs/{run}").model.state_dict() for run in ("whole", "parts"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    text = "Tise bought a lamp . Moba sold the map .\tit was XXXXX who sold the map\tTise|Moba"
    both, one = (regard.load(*runs).predict([text])[0] for runs in (("runs/whole", "runs/parts"), ("runs/whole",)))
    assert both.scores == pytest.approx(one.scores, abs=1e-6)


@pytest.mark.usefixtures("_here")
def test_own_data_and_bad_recipes() -> None:
    rows = [
        {"article": f"{name} saw {other} .", "question": f"@x saw {other}", "answer": name}
        for name in ("ann", "bo", "cy")
        for other in ("dee", "eve", "fay")
    ]
    Path("own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = "data={format: cloze, train: own.jsonl, valid: own.jsonl, passage: article, placeholder: '@x', slots: 4}"
    asked("train", "whodunit", "run=own", data, *SMALL[3:])
    (answer,) = regard.load("runs/own").predict([{"article": "ann saw eve .", "question": "@x saw eve"}])
    assert answer.text in ("ann", "saw", "eve", ".")
    assert "placeholder" in refused("train", "whodunit", "run=bad", data.replace("'@x'", "'@y'"), *SMALL[3:])
    assert "own.jsonl:1" in refused("train", "whodunit", "run=bad", data.replace("article", "context"), *SMALL[3:])
    assert "kind is 'words'" in refused("train", "whodunit", "run=bad", "tokenizer={kind: bpe}")
    vectors = "tokenizer.vectors={file: glove.txt, tuned: false}"
    assert "data.slots: 0" in refused("train", "whodunit", "run=bad", vectors)
    assert "attention" in refused("train", "whodunit", "run=bad", "model.attention=both")
