"""Trackers, with one of accelerate's kind that notes what it is told: their packages are extras, not needed to test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import accelerate.tracking
import pytest
from accelerate.tracking import GeneralTracker

from regard.recipes.errors import RecipeError
from regard.recipes.load import check
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.run import Run
from regard.train.log import Trackers
from tests.train.tiny import TEXT, metrics, recipe, train

NAMES = ("wandb", "mlflow", "trackio", "tensorboard")


class Noting(GeneralTracker):
    """Has what a tracker of accelerate has, and an id as Weights & Biases and MLflow have one."""

    name = "noting"
    requires_logging_directory = False
    made: ClassVar[list[Noting]] = []
    broken: ClassVar[frozenset[str]] = frozenset()
    id = "abc"

    def __init__(self, **arguments: Any) -> None:
        super().__init__()
        self.arguments = arguments
        self.told: list[Any] = []
        self.config: dict[str, Any] | None = None
        Noting.made.append(self)

    def _called(self, method: str) -> None:
        if method in self.broken:
            raise ConnectionError(f"{method}: no route\nto host")

    @property
    def tracker(self) -> Noting:
        return self

    @property
    def info(self) -> Noting:
        return self

    run_id = "abc"

    def start(self) -> None:
        self._called("start")

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        self.config = values

    def log(self, values: dict[str, Any], step: int | None = None, **_: Any) -> None:
        self._called("log")
        self.told.append((step, values))

    def finish(self) -> None:
        self._called("finish")
        self.told.append("finished")


@pytest.fixture(autouse=True)
def _noting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerate.tracking, "LOGGER_TYPE_TO_CLASS", dict.fromkeys(NAMES, Noting))
    monkeypatch.setattr(Noting, "made", [])
    monkeypatch.setattr(Noting, "broken", frozenset())


def test_they_are_told_every_row_and_the_recipe(tmp_path: Path) -> None:
    train(tmp_path / "run", "train.steps=10", "train.trackers=[wandb]")
    (one,) = Noting.made
    rows = [json.loads(line) for line in metrics(tmp_path / "run").splitlines()]
    wanted = []
    for row in rows:
        step, split = row.pop("step"), row.pop("split")
        wanted.append((step, {f"{name}/{split}": value for name, value in row.items()}))
    assert one.told == [*wanted, "finished"]
    assert one.config is not None
    assert (one.config["run"], one.config["train.steps"]) == ("tiny", 10)
    assert one.arguments["dir"] == str(tmp_path / "run")


@pytest.mark.parametrize(("name", "found_by"), [("wandb", "id"), ("mlflow", "run_id")])
def test_a_run_that_goes_on_goes_on_in_the_same_run(name: str, found_by: str, tmp_path: Path) -> None:
    train(tmp_path, "train.steps=10", f"train.trackers={name}")
    train(tmp_path, "train.steps=20", f"train.trackers={name}")
    first, second = Noting.made
    assert first.arguments[found_by] is None
    assert second.arguments[found_by] == "abc"
    assert [entry[0] for entry in second.told[:-1]] == [15, 20, 20, 20]
    assert second.config is None  # it has it already


def test_events_of_tensorboard_are_in_the_folder_of_the_run(tmp_path: Path) -> None:
    train(tmp_path / "run", "train.steps=10", "train.trackers=[tensorboard]")
    train(tmp_path / "run", "train.steps=20", "train.trackers=[tensorboard]")
    places = [{"run_name": "run", "logging_dir": str(tmp_path), "purge_step": step} for step in (1, 11)]
    assert [one.arguments for one in Noting.made] == places
    assert all(one.config is None for one in Noting.made)


@pytest.mark.parametrize("method", ["start", "log", "finish"])
def test_a_tracker_that_fails_ends_no_run(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Noting, "broken", frozenset({method}))
    said: list[str] = []
    trackers = Trackers(recipe("train.trackers=[trackio]"), tmp_path, notice=said.append)
    for step in range(9):
        trackers.add(step, "train", {"loss": 0.5})
    trackers.close()
    (sentence,) = said
    assert f"trackio failed ({method}: no route)" in sentence
    assert train(tmp_path / "run", "train.steps=5", "train.trackers=[trackio]").reason == "finished"


def test_what_fails_again_and_again_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(Noting, "broken", frozenset({"log"}))
    monkeypatch.setattr(Noting, "_called", lambda self, method: calls.append(1) if method == "start" else 1 / 0)
    trackers = Trackers(recipe("train.trackers=[trackio]"), tmp_path, notice=lambda sentence: calls.append(2))
    for step in range(9):
        trackers.add(step, "train", {"loss": 0.5})
    assert calls == [1, 2]
    assert trackers._failures == {"trackio": 3}


def test_a_package_that_is_missing_is_said_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.recipes.load.find_spec", lambda name: None)
    document = RecipeDocument.parse(TEXT, "tiny.yaml").overridden(["train.trackers=[mlflow]"])
    with pytest.raises(RecipeError) as problem:
        check(document, files=True)
    assert str(problem.value) == (
        "the command line: train: trackers names 'mlflow', but the package mlflow is not installed; "
        "pip install 'regard[mlflow]', or leave it out"
    )
    assert check(document).recipe.train.trackers == ("mlflow",)  # a run may have outlived it


def test_the_old_key_of_tensorboard_is_read_with_a_note(tmp_path: Path) -> None:
    document = RecipeDocument.parse(TEXT, "tiny.yaml").overridden(["train.tensorboard=true"])
    loaded = check(document)
    assert loaded.recipe.train.trackers == ("tensorboard",)
    (note,) = loaded.notes
    assert note.startswith("the command line: train.tensorboard is now train.trackers")
    assert check(RecipeDocument.parse(TEXT, "tiny.yaml").overridden(["train.tensorboard=false"])).notes == ()
    both = check(document.overridden(["train.trackers=wandb"])).recipe
    assert both.train.trackers == ("wandb", "tensorboard")
    with pytest.raises(RecipeError, match=r"train.tensorboard|train.trackers"):
        check(RecipeDocument.parse(TEXT, "tiny.yaml").overridden(["train.tensorboard=maybe"]))
    train(tmp_path, "train.steps=5")
    (tmp_path / "checksums.json").unlink()  # of a run from before there were trackers or checksums
    path = tmp_path / "recipe.yaml"
    path.write_text(path.read_text().replace("trackers: []", "tensorboard: false"))
    assert Run(tmp_path).recipe().train.trackers == ()


@pytest.mark.parametrize("name", NAMES)
def test_the_trackers_of_accelerate_take_what_they_are_given(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Trackers(recipe(f"train.trackers=[{name}]"), tmp_path / "run", notice=print)
    given = Noting.made[0].arguments
    monkeypatch.undo()
    real = accelerate.tracking.LOGGER_TYPE_TO_CLASS[name](**given)
    assert {"start", "store_init_configuration", "log", "finish"} <= set(dir(real))
