"""The inventory of a folder of runs reads what is there, and leaves gaps where it cannot."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest
import yaml

from regard.runs.inventory import inventory, summarise_run

RECIPE = {
    "task": "translate",
    "data": {"format": "pairs", "train": {"source": "corpus/train.de", "target": "corpus/train.en"}},
    "model": {"kind": "luong"},
    "train": {"steps": 20, "patience": 3},
    "evaluate": {"select": "loss"},
}


def make(folder: Path, *rows: dict[str, object], step: int = 20, waited: int = 0, **changed: object) -> Path:
    checkpoint = folder / "checkpoints" / f"{step:08d}"
    checkpoint.mkdir(parents=True)
    (checkpoint / "progress.json").write_text(json.dumps({"step": step, "waited": waited}))
    (folder / "recipe.yaml").write_text(yaml.safe_dump({**RECIPE, **changed}))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def row(step: int, split: str, **values: float | None) -> dict[str, object]:
    return {"step": step, "split": split, **values}


def test_a_finished_run(tmp_path: Path) -> None:
    test = row(20, "test", loss=1.0, perplexity=2.7, bleu=31.5)
    found = summarise_run(make(tmp_path / "a", row(10, "valid", loss=2.0, bleu=10.0), row(20, "train", loss=1.5), test))
    assert (found.state, found.task, found.model) == ("finished", "translate", "luong")
    assert found.data == "pairs train.de, train.en"
    assert (found.step, found.steps, found.split) == (20, 20, "test")
    assert found.metrics == {"loss": 1.0, "perplexity": 2.7, "bleu": 31.5}
    assert found.chosen == "bleu"  # although the loss selects the model
    assert found.size == sum(path.stat().st_size for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert json.dumps(found.as_json())


@pytest.mark.parametrize(
    ("step", "waited", "train", "state"),
    [
        (10, 0, {"steps": 20, "patience": 3}, "stopped"),
        (10, 3, {"steps": 20, "patience": 3}, "finished"),
        (10, 9, {"steps": 20, "patience": None}, "stopped"),
        (20, 0, {"steps": 20}, "finished"),
        (20, 0, {"minutes": 5, "steps": None}, "stopped"),
    ],
)
def test_the_state(tmp_path: Path, step: int, waited: int, train: dict[str, object], state: str) -> None:
    folder = make(tmp_path / "a", row(step, "valid", loss=2.0), step=step, waited=waited, train=train)
    assert summarise_run(folder).state == state


def test_a_run_is_under_way_while_its_lock_is_held(tmp_path: Path) -> None:
    folder = make(tmp_path / "a", step=10)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert summarise_run(folder).state == "under way"
    assert summarise_run(folder).state == "stopped"  # a killed process leaves the file, and no lock


def test_what_is_broken_leaves_gaps(tmp_path: Path) -> None:
    folder = make(tmp_path / "a", row(10, "valid", accuracy=0.5, loss=None), step=10)
    with (folder / "metrics.jsonl").open("a") as log:
        log.write('[]\n{"split": "test"}\n{"step": 20, "split": "test", "accu')
    (folder / "checkpoints/00000010/progress.json").write_text("[[")
    found = summarise_run(folder)
    assert (found.split, found.metrics, found.chosen) == ("valid", {"accuracy": 0.5, "loss": None}, "accuracy")
    (folder / "recipe.yaml").write_text("a: b: c")
    assert summarise_run(folder).state == "unreadable"
    for hostile in (
        "a: " + "[" * 200_000,
        "a: " + "[" * 5000 + "]" * 5000,
        "- " * 5000,
        "a: 2021-13-45",
        "a: 0x_",
        "\0",
    ):
        (folder / "recipe.yaml").write_text(hostile)
        assert summarise_run(folder).state == "unreadable"
    (folder / "recipe.yaml").write_text("data: [1]\ntrain: 3\nmodel: x\n")
    assert (summarise_run(folder).data, summarise_run(folder).model, summarise_run(folder).steps) == ("", "", None)


def test_the_newest_comes_first_and_comparisons_are_looked_into(tmp_path: Path) -> None:
    import os

    for age, name in enumerate(("new", "compared/one", "old")):
        folder = make(tmp_path / name)
        for path in folder.rglob("*"):
            os.utime(path, (10**9 - age, 10**9 - age))
    (tmp_path / "nothing").mkdir()
    assert [one.folder.name for one in inventory(tmp_path)] == ["new", "one", "old"]
    assert inventory(tmp_path / "no/where") == []
