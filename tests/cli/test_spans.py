"""Answers in passages from the commands: trained, begun with a pretrained BERT, asked, measured and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.systems.spans.diaries import Diaries
from tests.cli.command import asked, refused

ENCODER = "{kind: bert, dim: 16, num_heads: 2, num_layers: 1, max_length: 80}"
TINY = (f"model.encoder={ENCODER}", "train.steps=4", "train.valid_every=2", "train.batch.sentences=8")
SMALL = ("data.train_size=60", "data.valid_size=12", "data.test_size=12", "data.window=32", "data.overlap=12")
PASSAGE = "Ada sold a map in Turin at noon. Carl hid a letter at home in May."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spans")
    assert "diaries: finished" in asked("train", "diaries", "--runs", folder, *SMALL, *TINY)
    return folder / "diaries"


def test_an_answer_is_a_span_of_the_passage(run: Path, tmp_path: Path) -> None:
    question = f"Where did Ada sell it?\t{PASSAGE}"
    row = json.loads(asked("predict", run, question, "--json", "--alignment"))
    assert row["text"] in PASSAGE
    assert [len(weights) for weights in row["alignment"]] == [len(row["source_tokens"])] * 2
    assert "begins" in asked("predict", run, question, "--alignment")
    assert len(asked("predict", run, question, "--n-best", "3").splitlines()) == 3
    asked("view", run, question, "--output", tmp_path / "span.png")
    assert (tmp_path / "span.png").stat().st_size > 1000


def test_it_is_measured(run: Path) -> None:
    measured = json.loads(asked("evaluate", run, "--json"))
    assert 0 <= measured["squad_exact"] <= measured["squad_f1"] <= 1
    assert "nats a boundary" in asked("evaluate", run, "--split", "valid")


def squad(path: Path, split: str) -> None:
    paragraphs = [
        {
            "context": one.fields["context"],
            "qas": [
                {
                    "id": str(number),
                    "question": one.fields["question"],
                    "answers": [{"text": one.fields["answer"], "answer_start": int(str(one.fields["start"]))}],
                }
            ],
        }
        for number, one in enumerate(Diaries(split, size=24))  # type: ignore[arg-type]
    ]
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))


def test_the_recipe_of_squad_begins_with_a_pretrained_bert(tmp_path: Path) -> None:
    squad(tmp_path / "train-v1.1.json", "train")
    squad(tmp_path / "dev-v1.1.json", "valid")
    (tmp_path / "text.txt").write_text("\n".join(str(one.fields["context"]) for one in Diaries(size=40)))
    plain = ENCODER.replace("kind: bert, ", "")
    pretrain = tmp_path / "pretrain.yaml"
    pretrain.write_text(
        "run: read\ntask: masked_language_model\n"
        f"data: {{format: text, train: {tmp_path}/text.txt, split: {{valid: 0.2}}}}\n"
        f"tokenizer: {{kind: wordpiece, size: 200}}\nmodel: {{kind: bert, encoder: {plain}}}\n"
        "train: {steps: 2, batch: {sentences: 8}, valid_every: 2}\n"
    )
    asked("train", pretrain, "--runs", tmp_path)
    where = (f"data.root={tmp_path}", "data.window=40", "data.overlap=12", "--runs", tmp_path)
    begun = asked("train", "bert_squad", *where, *TINY, f"init={tmp_path}/read")
    assert "2 parameters it does not have begin anew: output_map.weight, output_map.bias" in begun
    tokenizers = [
        (tmp_path / name).read_text() for name in ("read/tokenizer.text.json", "bert_squad/tokenizer.context.json")
    ]
    assert tokenizers[0] == tokenizers[1]
    parted = ("data.valid=null", "data.split={valid: 0.2, test: 0.2}", "run=parted")
    asked("train", "bert_squad", *where, *TINY, *parted)
    assert json.loads(asked("evaluate", tmp_path / "parted", "--json"))["split"] == "test"


def test_own_lines(tmp_path: Path) -> None:
    for name, split in (("train.tsv", "train"), ("valid.tsv", "valid")):
        rows = [one.fields for one in Diaries(split, size=24)]  # type: ignore[arg-type]
        lines = ["\t".join(str(row[key]) for key in ("question", "context", "answer", "start")) for row in rows]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = f"data={{format: spans, root: {tmp_path}, train: train.tsv, valid: valid.tsv, window: 40, overlap: 12}}"
    asked("train", "diaries", data, "--runs", tmp_path, *TINY)
    (tmp_path / "valid.tsv").write_text("Who?\tAda left.\tCarl\n")
    assert f"{tmp_path}/valid.tsv:1: the answer 'Carl' does not stand" in refused(
        "train", "diaries", data, "--runs", tmp_path, *TINY, "run=other"
    )


def test_what_is_wrong_is_one_sentence(run: Path, tmp_path: Path) -> None:
    assert "have a tab between them; got 'Where did Ada" in refused("predict", run, "Where did Ada sell it?")
    assert "windows of 8 that overlap by 9 do not go on" in refused(
        "train", "diaries", "data.window=8", "data.overlap=9"
    )
    assert "train: label_smoothing is for the task" in refused("train", "diaries", "train.label_smoothing=0.1")
    assert "metric 'accuracy' compares labels" in refused("train", "diaries", "evaluate.metrics=[accuracy]")
    assert "a search is for the task '" in refused("train", "diaries", "decode.beam_size=3")
    short = f"model.encoder={ENCODER.replace('80', '20')}"
    problem = refused("train", "diaries", "--runs", tmp_path, *SMALL, *TINY, short)
    assert "model.encoder.max_length is 20, too short for the longest question" in problem
    assert "it can be diaries, squad, spans" in refused("train", "diaries", "data={format: digits}")


def test_windows_that_are_only_asked_fit_too(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("who?\tAda and Carl left .\tCarl\n" * 8)
    (tmp_path / "valid.tsv").write_text(f"who?\tCarl {'.' * 100} left\tCarl\n")
    data = f"data={{format: spans, root: {tmp_path}, train: train.tsv, valid: valid.tsv, window: 20, overlap: 5}}"
    where = (data, "tokenizer={kind: characters}", "--runs", tmp_path)
    encoder = ENCODER.replace("80", "MOST")
    few = ("train.steps=2", "train.valid_every=1", "train.batch.sentences=8")
    problem = refused("train", "diaries", *where, *few, f"model.encoder={encoder.replace('MOST', '26')}")
    assert "too short for the longest question of the split valid with its window, 25 tokens" in problem
    asked("train", "diaries", *where, *few, f"model.encoder={encoder.replace('MOST', '27')}")


COATTENTION = (
    "model.hidden_dim=6",
    "model.encoder={kind: rnn, cells: lstm, bidirectional: false, embedding_dim: 5, hidden_dim: 6}",
    *TINY[1:],
)


@pytest.fixture(scope="module")
def coattended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coattention")
    options = ("train", "diaries_coattention", "--runs", folder, *SMALL, *COATTENTION)
    assert "finished" in asked(*options, "run=whole")
    asked(*options, "run=parts", "train.steps=3")
    assert "finished" in asked(*options, "run=parts")
    return folder


def test_a_stopped_run_of_coattention_resumes_to_the_same_numbers(coattended: Path) -> None:
    whole, parts = (
        [json.loads(line) for line in (coattended / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("whole", "parts")
    )
    assert whole[-1]["step"] == parts[-1]["step"] == 4
    assert whole[-1]["loss"] == parts[-1]["loss"]


def test_coattention_answers_with_the_span_and_both_maps(coattended: Path, tmp_path: Path) -> None:
    run, question = coattended / "whole", f"Where did Ada sell it?\t{PASSAGE}"
    drawn = asked("predict", run, question, "--alignment")
    assert [name for name in ("begins 2", "ends 1", "A^D", "A^Q", "∅") if name not in drawn] == []
    row = json.loads(asked("predict", run, question, "--json", "--alignment"))
    pieces, words = len(row["source_tokens"]), len(row["question_tokens"])
    assert row["question_tokens"][-1] == "?"
    assert [len(weights) for weights in row["passage_attention"]] == [words + 1] * pieces
    assert [len(weights) for weights in row["question_attention"]] == [pieces + 1] * words
    assert sum(row["question_attention"][0]) == pytest.approx(1, abs=1e-2)
    assert all(len(ends) == 2 and len(ends[0]) == pieces for ends in row["iterations"])
    asked("view", run, question, "--output", tmp_path / "maps.png")
    asked("view", run, question, "--output", tmp_path / "maps.html")
    assert "A^Q" in (tmp_path / "maps.html").read_text()
    measured = json.loads(asked("evaluate", run, "--json"))
    assert 0 <= measured["squad_exact"] <= measured["squad_f1"] <= 1
    assert "squad_f1" in asked("evaluate", run, "--ensemble", coattended / "parts", "--json")


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("model.interaction=coatention", "did you mean coattention"),
        ("model.decoder={kind: dynamic, pol: 4}", "pool"),
        ("model.decoder={kind: bilinear, iterations: 2}", "iterations"),
        ("model.decoder.iterations=0", "iterations"),
        ("data.people=13", "people"),
        ("data={format: diaries, longest: 7, people: 1}", "longest"),
    ],
)
def test_a_slip_in_a_recipe_of_coattention_is_one_sentence(override: str, named: str, tmp_path: Path) -> None:
    assert named in refused("train", "diaries_coattention", "--runs", tmp_path, *SMALL, *COATTENTION, override)


def test_squad_is_divided_by_article(tmp_path: Path) -> None:
    articles = [
        {
            "title": f"Day {number}",
            "paragraphs": [
                {
                    "context": f"{one.fields['context']}",
                    "qas": [
                        {
                            "question": one.fields["question"],
                            "answers": [{"text": one.fields["answer"], "answer_start": int(str(one.fields["start"]))}],
                        }
                    ],
                }
                for one in list(Diaries("train", size=60))[4 * number : 4 * number + 4]
            ],
        }
        for number in range(15)
    ]
    (tmp_path / "all.json").write_text(json.dumps({"data": articles}))
    data = "{format: squad, train: all.json, split: {by: article, valid: 0.3, test: 0.3}, window: 60, overlap: 12}"
    where = (f"data={data}", f"data.root={tmp_path}", "--runs", tmp_path, *COATTENTION)
    asked("train", "squad_articles", *where)
    assert json.loads(asked("evaluate", tmp_path / "squad_articles", "--json"))["split"] == "test"
    assert "it can be source, target, order, article" in refused(
        "train", "squad_articles", *where, "data.split.by=articles"
    )
