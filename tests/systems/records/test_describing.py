"""The task from end to end, small: training, answers to records in any form, measurement, drawings, errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from tests.cli.command import asked, refused

SMALL = (
    *("data.train_size=200", "data.valid_size=20", "data.test_size=20", "tokenizer.min_frequency=5"),
    *("model.embedding_dim=8", "model.hidden_dim=16", "train.steps=20", "train.valid_every=20", "decode.max_length=12"),
    "train.schedule.warmup=5",
)
RECORD = {"name": "Zorro", "town": "Batman", "food": "Thai"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inns")


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_it_trains_answers_measures_and_draws() -> None:
    assert "record" in asked("train", "inns", "--dry-run", *SMALL)
    asked("train", "inns", *SMALL)
    last = json.loads(Path("runs/inns/metrics.jsonl").read_text().splitlines()[-1])
    assert {"slot_error", "bleu", "loss"} <= set(last)
    model = regard.load("runs/inns")
    Path("one.json").write_text(json.dumps(RECORD, indent=1))
    text = json.dumps(RECORD)
    forms = [RECORD, {"record": RECORD}, text, "name[Zorro], town[Batman], food[Thai]", Path("one.json"), "one.json"]
    answers = model.predict([*forms, text.encode()])
    assert len({one.text for one in answers}) == 1
    assert answers[0].source_tokens == ("name: Zorro", "town: Batman", "food: Thai")
    assert answers[0].alignment is not None
    assert answers[0].alignment.shape == (len(answers[0].tokens), 3)
    assert answers[0].alignment.sum(1).tolist() == pytest.approx([1.0] * len(answers[0].tokens), abs=1e-5)
    assert asked("predict", "runs/inns", text) == f"{answers[0].text}\n"
    several = model.predict([text, {"name": "Ann", "town": "Oslo", "price": "cheap", "rooms": 7, "dogs": True}, text])
    assert [several[0].text, several[2].text] == [answers[0].text] * 2
    measured = json.loads(asked("evaluate", "runs/inns", "--split", "test", "--json"))
    assert measured["slot_error"] == last["slot_error"]
    asked("view", "runs/inns", text, "--output", "view.png")
    assert Path("view.png").stat().st_size > 1000


def test_bad_records_are_one_sentence() -> None:
    def why(record: str) -> str:
        return refused("predict", "runs/inns", record)

    assert "did you mean 'town'?" in why('{"name": "A", "towm": "B"}')
    assert "nested" in why('{"name": {"first": "A"}, "town": "B"}')
    assert "blank" in why('{"name": "", "town": "B"}')
    assert "is no record" in why("The Eagle in Oslo")
    Path("two.jsonl").write_text(f"{json.dumps(RECORD)}\n" + '{"name": "A", "stars": "B"}\n')
    assert "two.jsonl:2" in refused("predict", "runs/inns", "--file", "two.jsonl", "--format", "lines").splitlines()[-1]
    assert "no 'town', which every training record has" in asked("predict", "runs/inns", '{"name": "A"}')


def test_own_files_and_delexicalised_records() -> None:
    rows = [
        {"record": {"city": city, "sky": sky}, "text": f"It is {sky} in {city}."}
        for city in ("Rome", "Oslo", "Bern")
        for sky in ("clear", "grey")
    ]
    Path("own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = "data={format: records, train: own.jsonl, valid: own.jsonl}"
    small = ("train.steps=60", "train.valid_every=60", "model.hidden_dim=16", "model.embedding_dim=8")
    options = ("tokenizer.min_frequency=1", "model.copy=false", "train.delexicalise=[city]", "train.schedule.warmup=5")
    asked("train", "inns", "run=own", data, *small, *options, "train.optimizer.rate=0.02", "model.scale=1.0")
    (answer,) = regard.load("runs/own").predict(["city[New York], sky[grey]"])
    assert answer.text == "It is grey in New York."
    Path("bad.jsonl").write_text('{"record": {"city": ["Rome"]}, "text": "x"}\n')
    assert "bad.jsonl:1" in refused("train", "inns", "run=bad", data.replace("own", "bad"))
    assert "delexicalise" in refused("train", "inns", "run=bad", "tokenizer={kind: bpe}", *options[1:3])
