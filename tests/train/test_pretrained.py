"""A run that begins with another knows what that one has learned."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from rich.table import Table

from regard.runs.folder import RunError
from regard.runs.run import Run
from regard.train.dry_run import plan
from regard.train.screen import Screen
from tests.train.tiny import metrics, recipe, train

OTHER = ("data.seed=5", "train.steps=1", "train.valid_every=1", "train.optimizer.rate=1.0e-9")


class Listening(Screen):
    """Keeps what it was told."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.said: list[str] = []

    def notice(self, sentence: str) -> None:
        self.said.append(sentence)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "tiny"
    train(folder)
    return folder


def test_it_begins_with_weights_and_tokenizers(base: Path, tmp_path: Path) -> None:
    train(tmp_path, *OTHER, "data.seed=0", f"init={base}")
    best = min(json.loads(row)["loss"] for row in metrics(base).splitlines() if '"valid"' in row)
    first = json.loads(next(row for row in metrics(tmp_path).splitlines() if '"valid"' in row))["loss"]
    assert first == pytest.approx(best, rel=1e-4)
    train(tmp_path / "other", *OTHER, f"init={base}")
    assert Run(tmp_path / "other").encoders() == Run(base).encoders()


def test_what_the_first_run_has_not_begins_anew_and_is_named(base: Path, tmp_path: Path) -> None:
    screen = Listening()
    train(tmp_path, *OTHER, f"init={base}", "model.fertility=3", screen=screen)
    assert any("parameters it does not have begin anew: fertility" in said for said in screen.said)


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (("model.hidden_dim=17",), r"is \[.*\], and \[.*\] is needed; give the model the widths of that run"),
        (
            ("model={kind: seq2seq, embedding_dim: 16, hidden_dim: 16}",),
            "which this model lacks; set init to a run of",
        ),
    ],
)
def test_a_run_that_does_not_fit_is_one_sentence(
    base: Path, overrides: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match=sentence):
        train(tmp_path, *OTHER, f"init={base}", *overrides)


def test_nothing_to_begin_with_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"nowhere is not a run: it has no recipe.yaml"):
        train(tmp_path / "run", f"init={tmp_path / 'nowhere'}")


def test_a_run_of_another_task_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("task: classify\n")
    with pytest.raises(RunError, match="was trained for the task 'classify'; the task of this recipe is 'translate'"):
        train(tmp_path / "run", f"init={tmp_path}")


def test_going_on_does_not_need_the_first_run_any_more(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "first")
    train(tmp_path / "run", *OTHER, f"init={tmp_path / 'first'}")
    shutil.rmtree(tmp_path / "first")
    assert train(tmp_path / "run", *OTHER, f"init={tmp_path / 'first'}", "train.steps=2").progress.step == 2


def test_a_dry_run_has_the_vocabulary_of_the_first_run(base: Path) -> None:
    def sizes(*overrides: str) -> list[str]:
        table = list(plan(recipe("data.longest=4", "data.train_size=2", *overrides)))[1]
        assert isinstance(table, Table)
        return list(table.columns[1].cells)[:2]

    first = Run(base).needed_encoders()
    assert sizes(f"init={base}") == [str(first[name].size) for name in ("source", "target")] != sizes()
