"""A system from outside the package has the same rights: pictures to captions, in a folder beside its recipe."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import regard
from tests.cli.command import asked, refused

PLUGIN = Path(__file__).parent / "foreign" / "captions"
COLOURS, PLACES = ("red", "green", "blue"), ("top left", "top right", "bottom left", "bottom right")
RECIPE = """\
run: scenes
task: scenes_toy
plugins: [captions]
data: {format: pictures, train: train.tsv, valid: valid.tsv, test: valid.tsv}
tokenizer: {kind: words}
model: {kind: captioner, hidden_dim: 32}
train:
  steps: 120
  batch: {sentences: 32}
  optimizer: {rate: 0.01}
  log_every: 10
  valid_every: 60
  checkpoint_every: 15
decode: {strategy: beam, beam_size: 3, max_length: 6}
"""


def scene(rng: np.random.Generator) -> tuple[np.ndarray, str]:
    """A picture [3, 8, 8] with a coloured square in a corner, and what it shows."""
    colour, place = int(rng.integers(3)), int(rng.integers(4))
    picture = rng.normal(0, 0.1, (3, 8, 8)).astype(np.float32)
    down, right = divmod(place, 2)
    picture[colour, 4 * down : 4 * down + 4, 4 * right : 4 * right + 4] += 1
    return picture, f"{COLOURS[colour]} square {PLACES[place]}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plug-in, its recipe and its data; one for all tests, since a process imports a module once."""
    tmp_path, rng = tmp_path_factory.mktemp("captions"), np.random.default_rng(1)
    shutil.copytree(PLUGIN, tmp_path / "captions", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "scenes.yaml").write_text(RECIPE)
    for split, size in (("train", 160), ("valid", 24)):
        lines = []
        for number in range(size):
            picture, caption = scene(rng)
            np.save(tmp_path / f"{split}{number}.npy", picture)
            lines.append(f"{split}{number}.npy\t{caption}\n")
        (tmp_path / f"{split}.tsv").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def folder(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same as the working directory."""
    monkeypatch.chdir(installed)
    return installed


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "regard", *arguments]


def rows(run: str) -> list[dict[str, float]]:
    return [json.loads(line) for line in Path("runs", run, "metrics.jsonl").read_text().splitlines()]


def test_the_plug_in_is_small_and_outside_the_package() -> None:
    assert sum(len(path.read_text().splitlines()) for path in PLUGIN.glob("*.py")) < 200
    assert not PLUGIN.is_relative_to(Path(regard.__file__).parent)


def test_it_trains_answers_measures_and_draws(folder: Path) -> None:
    assert "picture" in asked("train", "scenes.yaml", "--dry-run")
    asked("train", "scenes.yaml")
    last = rows("scenes")[-1]
    assert last["split"] == "test"
    assert last["exact_match"] > 0.9
    picture, caption = (folder / "valid.tsv").read_text().splitlines()[0].split("\t")
    assert asked("predict", "runs/scenes", picture) == f"{caption}\n"
    answer = json.loads(asked("predict", "runs/scenes", picture, "--json", "--alignment"))
    assert np.shape(answer["alignment"]) == (len(answer["tokens"]), 4)
    measured = json.loads(asked("evaluate", "runs/scenes", "--split", "test", "--json"))
    assert measured["loss"] == last["loss"]
    asked("view", "runs/scenes", picture, "--output", "view.png")
    assert (folder / "view.png").stat().st_size > 1000
    assert "no such file" in refused("predict", "runs/scenes", "nowhere.npy")
    model = regard.load("runs/scenes")
    given = (folder / picture, (folder / picture).read_bytes(), {"picture": picture})
    assert [one.text for one in model.predict(list(given))] == [caption] * 3
    assert "| exact match |" in (folder / "runs" / "scenes" / "report.md").read_text()


def test_a_killed_run_resumes_to_the_same_numbers(folder: Path) -> None:
    whole, killed = ("run=whole", "train.steps=45"), ("run=killed", "train.steps=45")
    subprocess.run(command("train", "scenes.yaml", *whole), check=True, capture_output=True)
    process = subprocess.Popen(command("train", "scenes.yaml", *killed), stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not list(Path("runs/killed/checkpoints").glob("0*")):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    process.kill()
    process.wait()
    subprocess.run(command("train", "scenes.yaml", *killed), check=True, capture_output=True)
    assert rows("killed") == rows("whole")


def test_its_values_are_compared(folder: Path) -> None:
    shown = asked("compare", "scenes.yaml", "train.seed=1,2", "train.steps=4", "train.valid_every=4")
    assert "seed" in shown
    assert "exact match" in shown


def test_a_typo_names_line_and_key_before_pytorch_is_imported(folder: Path) -> None:
    (folder / "typo.yaml").write_text(RECIPE.replace("hidden_dim: 32", "hiden_dim: 32"))
    probe = (
        "import sys\nfrom regard.cli import main\nsys.argv = ['regard', 'train', 'typo.yaml']\n"
        "try:\n    main()\nfinally:\n    print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "typo.yaml, line 6" in done.stderr
    assert "did you mean hidden_dim?" in done.stderr
    assert done.stdout == "False\n"


def test_a_bad_line_of_its_data_is_one_sentence(folder: Path) -> None:
    (folder / "bad.tsv").write_text("valid0.npy\tred square\nno tab here\n")
    (folder / "wide.tsv").write_text("wide.npy\tred square\n")
    np.save(folder / "wide.npy", np.zeros((3, 8, 9), np.float32))
    assert "bad.tsv:2" in refused("train", "scenes.yaml", "run=bad", "data.valid=bad.tsv")
    assert "wide.tsv:1" in refused("train", "scenes.yaml", "run=wide", "data.valid=wide.tsv")
