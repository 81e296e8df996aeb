"""`regard align` and `predict --align`: runs, statistics, gold links, pictures, and bad files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.command import RUN, asked, refused

SMALL = ("data.train_size=60", "data.valid_size=8", "data.test_size=8", "train.steps=2", "train.valid_every=2")
SIZE = ("train.batch.sentences=8", "decode.max_length=6")
TEXT = [("das Haus", "the house"), ("das Buch", "the book"), ("ein Buch", "a book")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("align")
    asked("train", "clauses", "--runs", folder, *SMALL, *SIZE, "run=plain", "model={kind: bahdanau, hidden_dim: 8}")
    sizes = "model={kind: transformer, dim: 8, num_heads: 2, num_layers: 2}"
    asked("train", "clauses", "--runs", folder, *SMALL, *SIZE, "run=guided", sizes, "train.guided={head: 2}")
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, side in (("a.de", 0), ("a.en", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in TEXT * 4))
    (tmp_path / "gold").write_text("1-1 2-2\n" * 12)
    return tmp_path


def test_statistics_alone(files: Path) -> None:
    pair = ("--source", files / "a.de", "--target", files / "a.en")
    assert asked("align", "--aligner", "hmm", *pair).splitlines() == ["0-0 1-1"] * 12
    shown = asked("align", "--aligner", "ibm1", *pair, "--gold", files / "gold", "--output", files / "links")
    assert "grow-diag-final-and │ 0.0000" in shown
    assert (files / "links").read_text() == "0-0 1-1\n" * 12
    assert len(asked("align", "--aligner", "diagonal", *pair, "--symmetrise", "forward").splitlines()) == 12
    more = ("--corpus", files / "a.de", files / "a.en")
    (files / "one").write_text("das Buch ||| the book\n")
    assert asked("align", "--aligner", "hmm", "--source", files / "one", *more).splitlines() == ["0-0 1-1"]
    asked("align", "--aligner", "hmm", *pair, "--gold", files / "gold", "--picture", files / "a.png", "--line", "2")
    assert (files / "a.png").stat().st_size > 1000


def test_a_run_chooses_once_and_keeps_it(runs: Path, tmp_path: Path) -> None:
    done = asked("align", runs / "plain", "--choose")
    assert "best choices" in done
    kept = json.loads((runs / "plain" / "alignment.json").read_text())
    assert kept["layer"] == 1
    shown = asked("align", runs / "plain", "--split", "test", "--offsets", "--output", tmp_path / "links")
    assert "keeps" not in shown
    assert len((tmp_path / "links").read_text().splitlines()) == 8
    assert "match" in shown
    other = asked("align", runs / "plain", "--split", "test", "--no-shift" if kept["shift"] else "--shift")
    assert other.splitlines()[4] != shown.splitlines()[4]


def test_a_guided_head_needs_no_choice(runs: Path, tmp_path: Path) -> None:
    shown = asked("align", runs / "guided", "--split", "test")
    assert "layer 1, head 2, at the step of the word" in shown
    assert not (runs / "guided" / "alignment.json").exists()
    assert "layer 2, head 1" in asked("align", runs / "guided", "--split", "test", "--layer", "2", "--head", "1")
    asked("align", runs / "guided", "--split", "test", "--picture", tmp_path / "a.html", "--line", "1", "--line", "3")
    outlined = re.findall(r'"outlined":(\[\[.+?\]\])', (tmp_path / "a.html").read_text())
    assert sum(len(json.loads(cells)) for cells in outlined) > 4
    assert "layer 3" in refused("align", runs / "guided", "--split", "test", "--layer", "3")


def test_two_directions(runs: Path, files: Path) -> None:
    pair = ("--source", files / "a.de", "--target", files / "a.en", "--gold", files / "gold")
    shown = asked("align", runs / "guided", *pair, "--reverse", runs / "guided", "--symmetrise", "union")
    assert [line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│")] == [
        "forward",
        "backward",
        "union",
    ]


def test_predictions_with_links(runs: Path, tmp_path: Path) -> None:
    text = "pobube ka ganebe wo tiseba"
    answer = asked("predict", runs / "guided", text).rstrip("\n")
    linked = asked("predict", runs / "guided", text, "--align", "pharaoh").rstrip("\n")
    said, _, links = linked.partition(" ||| ")
    assert said == answer
    assert [link.split("-")[1] for link in links.split()] == [str(place) for place in range(len(said.split()))]
    row = json.loads(asked("predict", runs / "guided", text, "--align", "pharaoh", "--json"))
    assert row["links"] == links
    (tmp_path / "asked").write_text(f"{text}\n\n{text}\n")
    lines = asked("predict", runs / "guided", "--file", tmp_path / "asked", "--align", "pharaoh").splitlines()
    assert lines == [linked, " |||", linked]
    (tmp_path / "pair").write_text(f"{text} ||| {answer}\n")
    assert asked("align", runs / "guided", "--source", tmp_path / "pair").rstrip("\n") == links


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.en", "the house\n", "has 12 lines and"),
        ("gold", "1-1\n", "gold has 1 lines of links, and there are 12 pairs"),
        ("gold", "1-1 2-2\n" * 11 + "1-3\n", "gold:12: the link 0-2"),
        ("gold", "1-1 2-2\n" * 3 + "1=3\n" * 9, "gold:4: '1=3'"),
    ],
)
def test_files_that_do_not_fit(files: Path, name: str, text: str, said: str) -> None:
    (files / name).write_text(text)
    pair = ("--source", files / "a.de", "--target", files / "a.en", "--gold", files / "gold")
    assert said in refused("align", "--aligner", "ibm1", *pair)


def test_empty_files(files: Path) -> None:
    (files / "none").write_text("")
    assert "none: the file is empty" in refused("align", "--aligner", "hmm", "--source", files / "none")


def test_options_that_do_not_fit(runs: Path, files: Path) -> None:
    source = ("--source", files / "a.de")
    assert "|||" in refused("align", "--aligner", "hmm", *source)
    assert "--aligner hmm" in refused("align", *source)
    assert "one of them" in refused("align", runs / "plain", "--aligner", "hmm", *source)
    assert "no texts" in refused("align", "--aligner", "hmm")
    assert "no texts" in refused("align", runs / "plain")
    assert "--shift" in refused("align", "--aligner", "hmm", *source, "--shift")
    assert "--corpus" in refused("align", runs / "plain", *source, "--corpus", files / "a.de", files / "a.en")
    assert "a.dd" in refused("align", "--aligner", "hmm", "--source", files / "a.dd")
    assert ".bmp" in refused("align", runs / "plain", "--split", "test", "--picture", files / "a.bmp")
    assert "--line 9" in refused(
        "align", runs / "guided", "--split", "test", "--picture", files / "a.png", "--line", "9"
    ).replace("\n", " ")


def test_a_task_without_words_to_link_says_so(runs: Path, tmp_path: Path) -> None:
    small = ("data.train_size=40", "data.valid_size=8", "data.test_size=8", "train.steps=2", "train.valid_every=2")
    asked("train", "opinions", "--runs", tmp_path, *small)
    done = RUN.invoke(
        __import__("regard.cli", fromlist=["app"]).app, ["predict", f"{tmp_path}/opinions", "a", "--align", "pharaoh"]
    )
    assert done.exit_code == 2
    assert "--align" in done.output
