"""A run that was stopped, in whatever way, and went on is the run that was not."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from regard.runs.folder import RunError
from regard.runs.run import Run
from regard.train.screen import Screen
from regard.train.trainer import Trainer
from tests.train.tiny import TEXT, metrics, recipe, train, without_checksums

SAMPLING = "train.exposure={sampling: {decay: linear, k: 0.01}, word_dropout: 0.1, corruption: 0.1}"
PLATEAU = "train.schedule={name: plateau, patience: 0}"


class Interrupting(Screen):
    """Presses Ctrl-C after a step."""

    def __init__(self, step: int) -> None:
        super().__init__(quiet=True)
        self.step = step

    def stepped(self, step: int, nll: float, tokens: int, left: float | None = None) -> None:
        if step == self.step:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run from beginning to end."""
    import torch

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("whole") / "tiny"
    train(folder)
    return folder


def test_the_same_seed_is_the_same_run_and_another_is_another(whole: Path, tmp_path: Path) -> None:
    train(tmp_path / "again")
    assert metrics(tmp_path / "again") == metrics(whole)
    train(tmp_path / "other", "train.seed=1")
    assert metrics(tmp_path / "other") != metrics(whole)


@pytest.mark.parametrize("overrides", [(SAMPLING,), (PLATEAU, "train.average=3", "train.batch.accumulate=2")])
def test_everything_random_or_remembered_is_resumed(overrides: tuple[str, ...], tmp_path: Path) -> None:
    train(tmp_path / "whole", *overrides, "train.log_every=1")
    for step in (7, 24, 38):  # each is interrupted in the step after, between two checkpoints
        outcome = train(tmp_path / "parts", *overrides, "train.log_every=1", screen=Interrupting(step))
        assert (outcome.reason, outcome.progress.step) == ("interrupted", step + 1)
    train(tmp_path / "parts", *overrides, "train.log_every=1")
    assert metrics(tmp_path / "parts") == metrics(tmp_path / "whole")
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert models[0] == models[1]


def test_an_interrupt_between_two_rows_of_the_log_is_not_seen_in_it(whole: Path, tmp_path: Path) -> None:
    first = train(tmp_path / "run", screen=Interrupting(15))
    assert (first.reason, first.progress.step, first.valid) == ("interrupted", 16, None)
    train(tmp_path / "run")
    assert metrics(tmp_path / "run") == metrics(whole)


def test_a_finished_run_measured_again_is_unchanged(whole: Path) -> None:
    before = metrics(whole)
    again = train(whole)
    assert (again.reason, again.begun) == ("finished", 40)
    assert metrics(whole) == before


def started(folder: Path) -> subprocess.Popen[str]:
    """`regard train` in a process of its own, once it has logged something."""
    (folder / "tiny.yaml").write_text(TEXT)
    command = [sys.executable, "-m", "regard", "train", str(folder / "tiny.yaml"), "--runs", str(folder)]
    process = subprocess.Popen(
        [*command, "train.steps=2000", "train.valid_every=20"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
    )
    begin = time.monotonic()
    while not (folder / "tiny/metrics.jsonl").exists() and time.monotonic() - begin < 60 and process.poll() is None:
        time.sleep(0.01)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_process_that_is_interrupted_or_killed_loses_nothing(number: signal.Signals, tmp_path: Path) -> None:
    process = started(tmp_path)
    time.sleep(random.random())
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    if number == signal.SIGINT:
        assert process.returncode == 130, said
        assert "interrupted after step" in said
    paths = Run(tmp_path / "tiny").checkpoints().paths()
    assert paths or number == signal.SIGKILL
    steps = (int(paths[-1].name) if paths else 0) + 15
    assert steps < 2000
    settings = (f"train.steps={steps}", "train.valid_every=20")
    train(tmp_path / "tiny", *settings)
    train(tmp_path / "whole", *settings)
    assert metrics(tmp_path / "tiny") == metrics(tmp_path / "whole")


def test_another_recipe_in_the_same_folder_is_refused(whole: Path) -> None:
    with pytest.raises(RunError, match=r"different: model.hidden_dim, train.seed\); give this one another name"):
        train(whole, "model.hidden_dim=17", "train.seed=3")


def test_a_run_that_was_never_trained_may_be_begun_by_another_recipe(tmp_path: Path) -> None:
    Run(tmp_path).begin(recipe())
    train(tmp_path, "model.hidden_dim=12", "train.steps=10")
    assert Run(tmp_path).recipe().model.arguments()["hidden_dim"] == 12


def test_a_run_goes_on_with_another_search_and_other_metrics(tmp_path: Path) -> None:
    train(tmp_path, "train.steps=10")
    train(tmp_path, "train.steps=20", "decode.strategy=beam", "evaluate.metrics=[exact_match, chrf]")
    assert Run(tmp_path).recipe().search().strategy == "beam"
    assert "chrf" in metrics(tmp_path).splitlines()[-1]


def test_a_run_that_stopped_before_its_first_checkpoint_begins_anew(whole: Path, tmp_path: Path) -> None:
    """What it had made of the data is made again, by the recipe that it is begun with now."""
    first = Trainer(recipe("tokenizer.size=6"), Run(tmp_path), screen=Screen(quiet=True))
    assert first.setup.task.encoders["source"].size == 6
    assert (tmp_path / "tokenizer.source.json").exists()
    train(tmp_path)
    assert metrics(tmp_path) == metrics(whole)
    for name in ("tokenizer.source.json", "tokenizer.target.json", "model.safetensors"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


def test_a_run_of_a_recipe_that_said_less_goes_on(tmp_path: Path) -> None:
    """Keys that were added since, or left out, have their defaults."""
    train(tmp_path, "train.steps=5")
    stored = yaml.safe_load((tmp_path / "recipe.yaml").read_text())
    stored["model"] = {
        "kind": "bahdanau",
        "embedding_dim": 16,
        "hidden_dim": 16,
        "attention": "additive",
        "dropout": 0.1,
    }
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(stored))
    without_checksums(tmp_path)
    assert train(tmp_path, "train.steps=6").progress.step == 6


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "carried.safetensors", "progress.json"])
def test_a_damaged_checkpoint_is_one_sentence(name: str, tmp_path: Path) -> None:
    train(tmp_path, "train.steps=10")
    damaged = tmp_path / "checkpoints/00000010" / name
    os.truncate(damaged, 20)
    with pytest.raises(RunError, match=rf"{damaged} is damaged \(.*\); put a whole one there, or remove"):
        train(tmp_path, "train.steps=20")
    damaged.unlink()
    with pytest.raises(RunError, match=f"{damaged} is missing; put it back, or remove"):
        train(tmp_path, "train.steps=20")
