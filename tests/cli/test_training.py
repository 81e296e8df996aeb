"""`regard train`, `predict`, `evaluate` and `recipes`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli import app
from regard.recipes.library import shipped
from tests.train.tiny import TEXT, train

RUN = CliRunner(env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("cli") / "tiny"
    train(folder, "train.steps=20")
    return str(folder)


def test_train_shows_scores_and_attention(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(TEXT)
    done = RUN.invoke(app, ["train", str(tmp_path / "mine.yaml"), "--runs", str(tmp_path), "train.steps=10", "run=a"])
    assert done.exit_code == 0, done.output
    assert "a: finished after step 10" in done.output
    assert "exact match" in done.output
    assert "→" in done.output
    assert (tmp_path / "a/report.md").exists()


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = RUN.invoke(app, ["train", "dates", "--dry-run", "--runs", str(tmp_path / "runs"), "data.train_size=100"])
    assert done.exit_code == 0, done.output
    assert "all parameters" in done.output
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "date"], "error: there is no recipe 'date', and no such file; did you mean dates?"),
        (
            ["train", "dates", "train.stepz=1"],
            "error: the command line: there is no key 'train.stepz'; did you mean steps?",
        ),
        (["recipes", "date"], "error: no recipe is called 'date'; did you mean dates?"),
        (["predict", "no/where", "x"], "error: no/where is not a run: it has no recipe.yaml; `regard train` makes one"),
        (["evaluate", "no/where"], "error: no/where is not a run: it has no recipe.yaml; `regard train` makes one"),
    ],
)
def test_what_is_wrong_is_one_sentence(arguments: list[str], sentence: str) -> None:
    done = RUN.invoke(app, arguments)
    assert done.exit_code == 2
    assert done.output.strip() == sentence


def test_recipes_are_listed_and_printed() -> None:
    done = RUN.invoke(app, ["recipes"])
    assert done.exit_code == 0
    for name in shipped():
        assert f"regard train {name}" in done.output
    assert "Gallery:" not in done.output
    assert RUN.invoke(app, ["recipes", "dates"]).output == shipped()["dates"].read_text()


def test_arguments_a_file_and_standard_input_are_answered_alike(run: str, tmp_path: Path) -> None:
    texts = ["1 2 3", "", "4 5 6 7"]
    by_argument = RUN.invoke(app, ["predict", run, *texts])
    assert by_argument.exit_code == 0, by_argument.output
    lines = by_argument.output.split("\n")
    assert len(lines) == 4
    assert (lines[1], lines[3]) == ("", "")
    assert lines[0]
    asked = tmp_path / "asked.txt"
    asked.write_text("1 2 3\n\n4 5 6 7\n")
    assert RUN.invoke(app, ["predict", run, "--file", str(asked)]).output == by_argument.output
    assert RUN.invoke(app, ["predict", run], input="1 2 3\r\n\n4 5 6 7").output == by_argument.output
    written = tmp_path / "answers.txt"
    assert RUN.invoke(app, ["predict", run, *texts, "--output", str(written)]).output == ""
    assert written.read_text() == by_argument.output


def test_json_has_scores_alignments_and_the_n_best(run: str) -> None:
    arguments = ["predict", run, "1 2 3", "", "--json", "--alignment", "--n-best", "2", "--decode", "strategy=beam"]
    first, second = map(json.loads, RUN.invoke(app, arguments).output.splitlines())
    assert first["source"] == "1 2 3"
    assert first["penalty"] == "Σ log p / n^1"
    assert len(first["alignment"]) == len(first["tokens"]) == len(first["log_probs"])
    assert first["source_tokens"] == ["1", "2", "3"]
    assert len(first["n_best"]) == 2
    assert first["n_best"][0]["score"] == first["score"] >= first["n_best"][1]["score"]
    assert (second["text"], second["tokens"]) == ("", [])
    plain = json.loads(RUN.invoke(app, ["predict", run, "1 2 3", "--json"]).output)
    assert "alignment" not in plain
    assert "n_best" not in plain


def test_alignments_are_drawn(run: str) -> None:
    done = RUN.invoke(app, ["predict", run, "1 2 3", "--alignment"])
    assert "1 2 3" in done.output.splitlines()[1]
    scored = RUN.invoke(
        app, ["predict", run, "1 2 3", "--n-best", "2", "--decode", "strategy=beam"]
    ).output.splitlines()
    assert [float(line.split("\t")[0]) < 0 for line in scored] == [True, True]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--decode", "beam_sise=3"], "the command line: there is no key 'decode.beam_sise'; did you mean beam_size?"),
        (["--decode", "n_best=3"], "--decode n_best is set by --n-best; use that option"),
        (
            ["--decode", "beam_size=0"],
            "the command line: decode: n_best and beam_size are at least 1; got 1 and 0",
        ),
        (["--n-best", "3"], 'n_best=3 with strategy "greedy", which gives one hypothesis; use "beam" or "sample"'),
        (["--file", "a.txt"], "both texts and --file are given; give one of them"),
        (["--output", "no/where.txt"], "no/where.txt: cannot be written: there is no folder no"),
    ],
)
def test_wrong_questions_are_one_sentence(run: str, arguments: list[str], sentence: str) -> None:
    done = RUN.invoke(app, ["predict", run, "1 2 3", *arguments])
    assert done.exit_code == 2
    assert done.output.strip() == f"error: {sentence}"


def test_bytes_that_are_no_text_are_named_by_line(run: str, tmp_path: Path) -> None:
    done = RUN.invoke(app, ["predict", run], input=b"1 2 3\n\xff\n")
    assert done.exit_code == 2
    assert "standard input:2: " in done.output
    assert "UTF-8" in done.output
    (tmp_path / "bad.txt").write_bytes(b"1 2 3\n\xff\n")
    told = RUN.invoke(app, ["predict", run, "--file", str(tmp_path / "bad.txt")]).output
    assert "bad.txt:2: " in told
    assert "utf-8" in told


def test_evaluate_says_whether_a_difference_is_more_than_chance(run: str, tmp_path: Path) -> None:
    same = RUN.invoke(app, ["evaluate", run, "--against", run, "--json"])
    assert same.exit_code == 0, same.output
    difference = json.loads(same.output)["against"]["exact_match"]
    assert (difference["difference"], difference["p_value"]) == (0.0, 1.0)
    train(tmp_path / "better", "train.steps=120")
    shown = RUN.invoke(app, ["evaluate", str(tmp_path / "better"), "--against", run])
    assert shown.exit_code == 0, shown.output
    said = " ".join(shown.output.split())
    assert "exact_match" in said
    assert "bootstrap:1000" in said
    refused = RUN.invoke(app, ["evaluate", run, "--against", str(tmp_path)])
    assert refused.exit_code == 2
    assert "is not a run" in refused.output


def test_evaluate_prints_signatures(run: str) -> None:
    done = RUN.invoke(app, ["evaluate", run, "--split", "valid"])
    assert done.exit_code == 0, done.output
    for part in ("valid, 16 examples", "perplexity", "exact match", "nrefs:1|case:mixed"):
        assert part in done.output


def asking(run: str, **streams: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "regard", "predict", run]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, **streams)  # type: ignore[call-overload, no-any-return]


def test_a_reader_that_has_seen_enough_and_ctrl_c_end_it_quietly(run: str) -> None:
    process = asking(run, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(b"1 2 3\n" * 256)
    process.stdin.flush()
    assert process.stdout.readline().strip()  # answered before the input ended
    process.stdout.close()
    process.stdin.write(b"1 2 3\n" * 256)
    process.stdin.close()
    process.wait(60)
    assert process.stderr.read() == b""
    process.stderr.close()

    process = asking(run, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"1 2 3\n" * 256)
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in said


def test_a_blank_line_stands_between_the_n_best_of_two_inputs(run: str, tmp_path: Path) -> None:
    (tmp_path / "asked.txt").write_bytes(b"1 2 3\n\n\xff\n4\n")
    arguments = ["predict", run, "--n-best", "2", "--decode", "strategy=beam", "--file", str(tmp_path / "asked.txt")]
    done = RUN.invoke(app, [*arguments, "--bad-lines", "skip"])
    assert done.exit_code == 0
    blocks = [block.splitlines() for block in done.stdout.removesuffix("\n").split("\n\n")]
    assert [len(block) for block in blocks] == [2, 1, 1, 2]
    assert all(len(line.split("\t")) == 2 for block in blocks for line in block)
    assert blocks[2] == ["\t"]  # a line that could not be answered
