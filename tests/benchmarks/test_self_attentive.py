"""The comparison of penalties: every set is read, a table comes out, and what is done is not done again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import self_attentive
from regard.compare.trial import Trial
from regard.recipes.load import load
from regard.runs.run import Run
from regard.train.screen import Screen
from regard.train.trainer import Trainer

FILES = {
    "sst2": ("stsa.binary.train", "stsa.binary.dev", "stsa.binary.test"),
    "sst5": ("stsa.fine.train", "stsa.fine.dev", "stsa.fine.test"),
    "mr": ("rt-polarity.all",),
    "subj": ("subj.all",),
    "trec": ("TREC.train.all", "TREC.test.all"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sentiment")
    for files in FILES.values():
        for name in files:
            lines = [f"{number % 2} {'a gem' if number % 2 else 'far too long'} {number}\n" for number in range(60)]
            (made / name).write_text("".join(lines), encoding="utf-8")
    return made


@pytest.mark.parametrize(("data", "size"), [("sst2", 60), ("sst5", 60), ("mr", 48), ("subj", 48), ("trec", 54)])
def test_every_set_is_one_that_the_recipe_reads(data: str, size: int, folder: Path) -> None:
    load("sentence_sst2", [f"data.root={folder}", *self_attentive.SETS[data]])
    assert self_attentive.learned_from(data, folder) == size


def test_the_validation_split_chooses_the_penalty() -> None:
    accuracies = {"max": (0.5, 0.9), "0": (0.5, 0.5), "0.01": (0.7, 0.6), "0.1": (0.6, 0.9)}
    found = self_attentive.table(
        {
            ("mr", way): [self_attentive.Measured(*both), self_attentive.Measured(*both)]
            for way, both in accuracies.items()
        }
    )
    assert found.splitlines()[-1] == "| mr | 90.0 ± 0.0 | 50.0 ± 0.0 | 60.0 ± 0.0 | 90.0 ± 0.0 | +10.0 (0.01) |"


def test_all_ways_are_trained_and_stand_in_the_table(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train(trials: Sequence[Trial], jobs: int) -> None:
        """Here, not in processes of their own."""
        for trial in trials:
            Trainer(trial.recipe, Run(trial.folder), screen=Screen(quiet=True)).fit()

    small = ["--sets", "trec", "--penalties", "0.1", "--seeds", "1", "--epochs", "2"]
    less = ["--further", "model.encoder.hidden_dim=8", "model.encoder.embedding_dim=6", "model.hidden_dim=null"]
    monkeypatch.setattr(self_attentive, "train", train)
    monkeypatch.setattr("sys.argv", ["self_attentive", "--data", str(folder), "--runs", str(tmp_path), *small, *less])
    self_attentive.main()
    head, _, row = capsys.readouterr().out.splitlines()[-3:]
    assert head == "| data | max pooling | no penalty | penalty 0.1 | gain |"
    assert row.startswith("| trec | ")
    recipes = {way: Run(tmp_path / f"trec-{way}-1").recipe() for way in ("max", "0", "0.1")}
    assert {way: (*map(one.model.arguments().get, ("pooling", "penalty")),) for way, one in recipes.items()} == {
        "max": ("max", 0.03),
        "0": ("attention", 0),
        "0.1": ("attention", 0.1),
    }
    assert {one.train.steps for one in recipes.values()} == {2}
