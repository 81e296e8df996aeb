"""Language models from a recipe: state carried on, resumed in mid-text, divided among processes, measured, asked."""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import regard
from regard.cli import app
from regard.data import DataError
from regard.predictor import Predictor
from regard.recipes.errors import RecipeError
from regard.runs.files import read_tensors, write_tensors
from regard.runs.run import Run
from regard.specials import BOS, EOS
from regard.tasks.measurement import Measurement, measure
from regard.tasks.setup import prepare
from regard.tasks.splits import Split
from tests.train.test_resuming import Interrupting
from tests.train.tiny import TEXT, metrics, recipe, train, without_checksums

RUN = CliRunner(env={"COLUMNS": "200"})
WORDS = [f"w{number}" for number in range(12)]
MODEL = {
    "elman": "{kind: language_model, embedding_dim: 8, hidden_dim: 8, cells: elman}",
    "variational": "{kind: language_model, embedding_dim: 8, hidden_dim: 8, dropout: 0.3, tied: true, cells: "
    "{kind: lstm, num_layers: 2, dropout: 0.3, recurrent_dropout: 0.3, variational: true}}",
    "awd": "{kind: language_model, embedding_dim: 8, hidden_dim: 8, dropout: 0.3, embedding_dropout: 0.3, tied: true, "
    "cells: {kind: lstm, num_layers: 2, dropout: 0.3, variational: true, weight_dropout: 0.3}}",
    "zaremba": "{kind: language_model, embedding_dim: 6, hidden_dim: 8, dropout: 0.3, cells: "
    "{kind: lstm, num_layers: 2, dropout: 0.3}}",
    "attention": "{kind: char_rnn, embedding_dim: 6, hidden_dim: 8, dropout: 0.3, attention: dot, window: 7}",
    "pointer": "{kind: pointer_lm, embedding_dim: 6, hidden_dim: 8, dropout: 0.3, window: 7}",
    "tape": "{kind: lstmn_lm, embedding_dim: 6, hidden_dim: 8, num_layers: 2, dropout: 0.3, window: 7}",
    "transformer": "{kind: transformer_lm, dim: 8, num_heads: 2, num_layers: 1, hidden_dim: 8}",
}
PLAIN = f"model={MODEL['elman']}"
WINDOWS = "train.batch={sentences: 6, window: 5}"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts in which a word and the one before it have to do with each other; valid is longer than a window."""
    folder, chance = tmp_path_factory.mktemp("text"), random.Random(5)
    for name, lines in (("train", 90), ("valid", 160), ("test", 20)):
        with (folder / f"{name}.txt").open("w") as file:
            for _ in range(lines):
                first = chance.randrange(12)
                print(*(WORDS[(first + place * place) % 12] for place in range(chance.randrange(1, 8))), file=file)
    return folder


def stream(root: Path, *overrides: str) -> tuple[str, ...]:
    """The tiny recipe made one of a language model in windows; an epoch has some 15."""
    return (
        "task=language_model",
        f"data={{format: text, root: {root}, train: train.txt, valid: valid.txt, test: test.txt}}",
        "evaluate={examples: 2}",
        "decode={strategy: greedy, max_length: 6}",
        "train.valid_every=20",
        WINDOWS,
        PLAIN,
        *overrides,
    )


@pytest.fixture(scope="module")
def run(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A word model that has learned something."""
    folder = tmp_path_factory.mktemp("stream") / "words"
    train(folder, *stream(root))
    return folder


@pytest.mark.parametrize("name", MODEL)
def test_a_run_stopped_inside_an_epoch_is_the_run_that_was_not(name: str, root: Path, tmp_path: Path) -> None:
    overrides = stream(root, f"model={MODEL[name]}", "train.log_every=1", "train.steps=24")
    train(tmp_path / "whole", *overrides)
    for step in (3, 17):
        outcome = train(tmp_path / "parts", *overrides, screen=Interrupting(step))
        assert (outcome.reason, outcome.progress.step) == ("interrupted", step + 1)
        assert outcome.progress.position > 0
    train(tmp_path / "parts", *overrides)
    assert metrics(tmp_path / "parts") == metrics(tmp_path / "whole")
    models = [(tmp_path / part / "model.safetensors").read_bytes() for part in ("whole", "parts")]
    assert models[0] == models[1]


def test_averaging_is_resumed_and_the_mean_is_what_is_kept(root: Path, tmp_path: Path) -> None:
    descent = "train.optimizer={name: nt_asgd, rate: 3, interval: 1}"
    lengths = ("train.valid_every=2", "train.steps=24", "train.checkpoint_every=100")
    overrides = stream(root, f"model={MODEL['zaremba']}", descent, *lengths)
    train(tmp_path / "whole", *overrides)
    for step in (7, 21):
        train(tmp_path / "parts", *overrides, screen=Interrupting(step))
    train(tmp_path / "parts", *overrides)
    models = [(tmp_path / part / "model.safetensors").read_bytes() for part in ("whole", "parts")]
    assert models[0] == models[1]
    path = Run(tmp_path / "whole").checkpoints().paths()[-1]
    (group,) = Run(tmp_path / "whole").checkpoints().progress(path)[1]
    assert group["triggered"]
    assert 0 < group["averaged_updates"] < 24
    rows = [row for row in map(json.loads, metrics(tmp_path / "whole").splitlines()) if row["split"] == "valid"]
    assert min(rows, key=lambda row: row["loss"])["step"] == 24
    kept, last = read_tensors(tmp_path / "whole" / "model.safetensors"), read_tensors(path / "model.safetensors")
    means = read_tensors(path / "optimizer.safetensors")
    assert not torch.equal(kept["words.table.weight"], last["words.table.weight"])
    assert torch.equal(means["0.average"], kept["words.table.weight"])


def carried(folder: Path) -> dict[str, torch.Tensor]:
    return Run(folder).checkpoints().carried()


def test_the_state_in_mid_text_is_what_tells_a_resumed_run(root: Path, tmp_path: Path) -> None:
    """Without the file of the state the losses would differ: the tests above can fail."""
    overrides = stream(root, "train.log_every=1")
    train(tmp_path / "whole", *overrides, "train.steps=8")
    train(tmp_path / "parts", *overrides, "train.steps=4")
    (path,) = Run(tmp_path / "parts").checkpoints().paths()
    state = read_tensors(path / "carried.safetensors")
    assert state["hidden"].shape == (6, 1, 8)
    assert float(state["hidden"].abs().sum()) > 0
    write_tensors(path / "carried.safetensors", {"hidden": torch.zeros(6, 1, 8)})
    without_checksums(tmp_path / "parts")
    train(tmp_path / "parts", *overrides, "train.steps=8")
    assert metrics(tmp_path / "parts") != metrics(tmp_path / "whole")


def test_a_memory_is_carried_as_far_as_its_window_and_a_transformer_carries_nothing(root: Path, tmp_path: Path) -> None:
    train(tmp_path / "attention", *stream(root, f"model={MODEL['attention']}", "train.steps=3"))
    shapes = {name: list(tensor.shape) for name, tensor in carried(tmp_path / "attention").items()}
    assert shapes == {
        "layers.hidden": [6, 1, 8],
        "layers.cell": [6, 1, 8],
        "memory.key": [6, 1, 7, 8],
        "memory.value": [6, 1, 7, 8],
    }
    train(tmp_path / "tape", *stream(root, f"model={MODEL['tape']}", "train.steps=3"))
    shapes = {name: list(tensor.shape) for name, tensor in carried(tmp_path / "tape").items()}
    layer = {"memory.key": [6, 1, 7, 8], "memory.value": [6, 1, 7, 16], "summary": [6, 8]}
    assert shapes == {f"layers.{number}.{name}": shape for number in (0, 1) for name, shape in layer.items()}
    train(tmp_path / "transformer", *stream(root, f"model={MODEL['transformer']}", "train.steps=3"))
    assert carried(tmp_path / "transformer") == {}


def losses(folder: Path) -> list[float]:
    return [row["loss"] for row in map(json.loads, metrics(folder).splitlines()) if row["split"] == "train"]


def test_two_processes_read_the_rows_of_one_and_one_goes_on(root: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TEXT)
    overrides = stream(root, "train.log_every=1", "train.batch={sentences: 5, window: 5}")
    environment = {name: value for name, value in os.environ.items() if name != "ACCELERATE_USE_CPU"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "regard"]
    done = subprocess.run(
        [*command, "train", str(tmp_path / "tiny.yaml"), "--runs", str(tmp_path), *overrides, "train.steps=7"],
        capture_output=True,
        text=True,
        env={**environment, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr
    train(tmp_path / "one", *overrides, "train.steps=7")
    two, one = carried(tmp_path / "tiny")["hidden"], carried(tmp_path / "one")["hidden"]
    assert len(one) == 5
    torch.testing.assert_close(two, one, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(one[0], one[1], atol=1e-2)  # rows can be told apart
    for name in ("tiny", "one"):
        train(tmp_path / name, *overrides, "train.steps=12")
    assert len(losses(tmp_path / "one")) == 12
    assert losses(tmp_path / "tiny") == pytest.approx(losses(tmp_path / "one"), rel=1e-5)


def valid(folder: Path, *overrides: str) -> tuple[Measurement, Predictor, Split]:
    """The validation split of a run, by another recipe."""
    loaded = regard.load(folder, device="cpu", overrides=list(overrides))
    split = prepare(loaded.recipe, folder.parent / ".cache", loaded.task.encoders).valid
    return measure(loaded.model, loaded.task, split, loaded.recipe), loaded, split


def text_of(split: Split) -> torch.Tensor:
    """The whole text [1, N], an end behind every line."""
    ids, offsets = split.corpus.ids("text").tolist(), split.corpus.offsets("text").tolist()
    return torch.tensor([[token for begin, end in pairwise(offsets) for token in (*ids[begin:end], EOS)]])


def test_perplexity_is_that_of_the_whole_text_whatever_it_was_trained_in(run: Path) -> None:
    measured, loaded, split = valid(run)
    text = text_of(split)
    assert text.numel() > 600  # more than one window
    with torch.no_grad():
        log_probs = loaded.model(text[:, :-1]).logits.log_softmax(-1)
    nll = -log_probs.gather(2, text[:, 1:, None]).double().sum().item()
    perplexity = measured.scores["perplexity"]
    assert perplexity.value == pytest.approx(math.exp(nll / (text.numel() - 1)), rel=1e-6)
    assert perplexity.count == text.numel() - 1
    assert perplexity.signature.startswith("unit:word")
    for batch in ("{sentences: 1, window: 3}", "{sentences: 9, window: 700}"):
        other, _, _ = valid(run, f"train.batch={batch}")
        assert other.loss == pytest.approx(measured.loss, rel=1e-6)
    rows, _, _ = valid(run, "evaluate.rows=20")
    assert rows.scores["perplexity"].count < perplexity.count
    assert rows.loss != pytest.approx(measured.loss, rel=1e-4)


def test_training_evaluating_and_asking_agree(run: Path, root: Path) -> None:
    last = json.loads(metrics(run).splitlines()[-1])
    assert (last["split"], last["step"]) == ("test", 40)
    done = RUN.invoke(app, ["evaluate", str(run), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.output)
    assert said["perplexity"] == pytest.approx(last["perplexity"], rel=1e-9)
    assert said["perplexity"] == pytest.approx(math.exp(said["loss"]), rel=1e-9)
    assert said["perplexity"] < 11  # of 12 words and an end
    shown = RUN.invoke(app, ["evaluate", str(run), "--split", "valid"])
    assert "valid, 160 examples" in " ".join(shown.output.split())
    assert "perplexity" in shown.output
    answers = RUN.invoke(app, ["predict", str(run), "w3 w4", "w0"]).output.splitlines()
    predictor = regard.load(run, device="cpu")
    assert answers == [one.text for one in predictor.predict(["w3 w4", "w0"])]
    assert answers[0].startswith("w3 w4")
    row = json.loads(RUN.invoke(app, ["predict", str(run), "w3 w4", "--json"]).output)
    assert row["source"] == "w3 w4"
    assert len(row["tokens"]) == len(row["log_probs"]) <= 6
    drawn = ["predict", str(run), "w3", "--n-best", "3", "--decode", "strategy=sample", "--decode", "seed=4"]
    first, again = (RUN.invoke(app, drawn).output for _ in range(2))
    assert first == again
    assert len(first.splitlines()) == 3


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (("train.activation_penalty=1", f"model={MODEL['attention']}"), "activation_penalty is for the model"),
        (("evaluate.dynamic={}", "train.batch={sentences: 3}"), "set train.batch.window, or leave it out"),
        (("train.optimizer.name=nt_asgd", "train.average=2"), "the optimizer nt_asgd averages updates"),
    ],
)
def test_settings_that_do_not_fit_together(overrides: tuple[str, ...], sentence: str, root: Path) -> None:
    with pytest.raises(RecipeError, match=sentence):
        recipe(*stream(root, *overrides))


def test_dynamic_evaluation_is_beside_the_static_one(run: Path) -> None:
    (static, *_), (dynamic, *_) = valid(run), valid(run, "evaluate.dynamic={rule: sgd, rate: 0.2, decay: 0}")
    assert "dynamic_perplexity" not in static.scores
    assert dynamic.loss == pytest.approx(static.loss, rel=1e-9)
    score = dynamic.scores["dynamic_perplexity"]
    assert score.value != pytest.approx(static.scores["perplexity"].value, rel=1e-3)
    assert score.count == static.scores["perplexity"].count
    assert "dynamic:sgd|rate:0.2|decay:0|window:20" in score.signature
    done = RUN.invoke(app, ["evaluate", str(run), "--evaluate", "dynamic={statistics: 200}", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["dynamic_perplexity"] > 1


def test_sentences_by_themselves(root: Path, tmp_path: Path) -> None:
    overrides = stream(root, "train.batch={sentences: 8}", "train.steps=20")
    train(tmp_path / "sentences", *overrides)
    measured, loaded, split = valid(tmp_path / "sentences")
    nll, count = 0.0, 0
    with torch.no_grad():
        for line in split.texts("text"):
            ids = torch.tensor([[BOS, *loaded.task.encoders["text"].encode(line), EOS]])
            log_probs = loaded.model(ids[:, :-1]).logits.log_softmax(-1)
            nll -= log_probs.gather(2, ids[:, 1:, None]).double().sum().item()
            count += ids.numel() - 1
    assert measured.scores["perplexity"].count == count
    assert measured.loss == pytest.approx(nll / count, rel=1e-6)
    assert carried(tmp_path / "sentences") == {}


def test_characters_have_bits_and_keep_their_lines(root: Path, tmp_path: Path) -> None:
    data = f"{{format: text, root: {root}, train: train.txt, ends: true, split: {{by: order, valid: 0.2}}}}"
    overrides = stream(root, f"data={data}", "tokenizer.kind=characters", f"model={MODEL['attention']}")
    outcome = train(tmp_path / "characters", *overrides, "train.steps=20")
    assert outcome.test is None
    assert outcome.valid is not None
    scores = outcome.valid.scores
    assert scores["bits_per_character"].value == pytest.approx(outcome.valid.loss / math.log(2))
    assert scores["perplexity"].value == pytest.approx(math.exp(outcome.valid.loss))
    assert scores["perplexity"].signature.startswith("unit:character")
    lines = (root / "train.txt").read_text().splitlines(keepends=True)
    assert scores["perplexity"].count in range(len("".join(lines[73:])) - 1, len("".join(lines[71:])))
    (answer,) = regard.load(tmp_path / "characters", device="cpu").predict("w1 w", max_length=30)
    assert answer.text.startswith("w1 w")
    assert len(answer.text) == 34


WRONG = [
    ("train.batch={window: 5}", "train.batch: a window needs sentences, the number of rows"),
    (
        "train.batch={window: 5, tokens: 90, sentences: 3}",
        "a window needs sentences, the number of rows, and no tokens",
    ),
    ("evaluate.metrics=[bleu]", "evaluate: metrics compare answers with references; a language model has perplexity"),
    ("model={kind: bahdanau}", "model.kind is 'bahdanau': of the task language_model it can be char_rnn, "),
    ("data={format: dates}", "data.format is 'dates': did you mean tales? it can be text, "),
    ("train.exposure={sampling: {}}", "train: sampling is for the task 'translate'; the task is 'language_model'"),
    ("train.r_drop=1", "train: r_drop is for the task 'classify', "),
    ("tokenizer.joint=true", "tokenizer: joint is for the task "),
]


@pytest.mark.parametrize(("override", "sentence"), WRONG, ids=[override for override, _ in WRONG])
def test_a_recipe_that_is_wrong_is_one_sentence(root: Path, override: str, sentence: str) -> None:
    with pytest.raises(RecipeError, match=f"^the command line: .*{re.escape(sentence)}"):
        recipe(*stream(root, override))


def test_windows_are_of_language_models(root: Path) -> None:
    with pytest.raises(RecipeError, match=r"window is for the task 'language_model' or .*; the task is 'translate'"):
        recipe(WINDOWS)


def test_a_text_that_is_too_short_for_its_rows(root: Path) -> None:
    with pytest.raises(DataError, match="is too short for 900 rows"):
        train(root / "never", *stream(root, "train.batch={sentences: 900, window: 5}"))
