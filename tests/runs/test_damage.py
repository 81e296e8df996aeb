"""A damaged file of a run or of its cache is a sentence, or changes nothing: never other numbers."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from regard.cli import app
from regard.predictor import load
from regard.runs.folder import RunError
from regard.runs.run import Run
from regard.tasks.measurement import measure
from regard.tasks.splits import encode_split
from tests.cli.command import RUN, refused
from tests.train.tiny import TEXT, metrics, train, without_checksums

STEPS = "train.steps=20"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs with one that has two checkpoints, and the cache."""
    torch.set_num_threads(1)
    runs = tmp_path_factory.mktemp("runs")
    train(runs / "tiny", STEPS)
    return runs


@pytest.fixture
def runs(whole: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return shutil.copytree(whole, tmp_path / "runs")


def flip(path: Path, place: int, bits: int = 1) -> None:
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= bits
    path.write_bytes(content)


def answered(runs: Path) -> list[tuple[str, float]]:
    return [(one.text, one.score) for one in load(runs / "tiny").predict(["a b c", "c a"])]


def evaluated(runs: Path) -> dict[str, float]:
    loaded = load(runs / "tiny")
    split = encode_split(loaded.recipe, "valid", loaded.task.encoders, runs / ".cache")
    assert split is not None
    return measure(loaded.model, loaded.task, split, loaded.recipe).values()


def resumed(runs: Path) -> bytes:
    train(runs / "tiny", "train.steps=30")
    return (runs / "tiny/model.safetensors").read_bytes()


USES: tuple[Callable[[Path], object], ...] = (answered, evaluated, resumed)


def files(runs: Path) -> list[Path]:
    """All files whose content a use depends on; logs and pictures are for people."""
    left = ("metrics.jsonl", "curves.png", "report.md")
    return sorted(path.relative_to(runs) for path in runs.rglob("*") if path.is_file() and path.name not in left)


@pytest.fixture(scope="module")
def expected(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    copy = shutil.copytree(whole, tmp_path_factory.mktemp("copy") / "runs")
    return [use(copy) for use in USES]


def fuzz(whole: Path, folder: Path, expected: list[object], path: Path, seed: int) -> None:
    """Flip a byte, and use the run in every way."""
    for use, right in zip(USES, expected, strict=True):
        runs = shutil.copytree(whole, folder / use.__name__)
        random.seed(f"{path} {seed} {use.__name__}")
        place, bits = random.randrange((runs / path).stat().st_size), random.randrange(1, 256)
        flip(runs / path, place, bits)
        try:
            found, said = use(runs), ""
        except ValueError as problem:
            found, said = right, str(problem)
        assert found == right, (path, place, bits)
        assert not said or (str(runs) in said and "\n" not in said), (path, place, bits, said)
        shutil.rmtree(runs)


def test_a_flipped_byte_is_a_sentence_or_changes_nothing(whole: Path, expected: list[object], tmp_path: Path) -> None:
    paths = files(whole)
    assert len(paths) > 20
    for path in random.Random(7).sample(paths, 6):
        fuzz(whole, tmp_path, expected, path, 0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_no_flipped_byte_gives_other_numbers(whole: Path, expected: list[object], tmp_path: Path, seed: int) -> None:
    for path in files(whole):
        fuzz(whole, tmp_path, expected, path, seed)


@pytest.mark.parametrize("name", ["model.safetensors", "recipe.yaml", "tokenizer.source.json", "checksums.json"])
def test_predict_and_evaluate_say_which_file_is_damaged(name: str, runs: Path) -> None:
    flip(runs / "tiny" / name, (runs / "tiny" / name).stat().st_size * 2 // 3)
    assert name in refused("predict", runs / "tiny", "a b")
    assert name in refused("evaluate", runs / "tiny", "--split", "valid")


def test_a_damaged_checkpoint_falls_back_to_the_one_before(runs: Path, expected: list[object]) -> None:
    newest = runs / "tiny/checkpoints/00000020"
    flip(newest / "optimizer.safetensors", 300)
    (runs / "tiny.yaml").write_text(TEXT)
    done = RUN.invoke(app, ["train", str(runs / "tiny.yaml"), "--runs", str(runs), "train.steps=30"])
    assert done.exit_code == 0, done.output
    assert f"{newest / 'optimizer.safetensors'} is damaged" in done.output
    assert f"going on from {newest.with_name('00000010')}" in done.output
    assert newest.with_name("00000020.damaged-1").exists()
    assert (runs / "tiny/model.safetensors").read_bytes() == expected[2]


def test_no_whole_checkpoint_is_a_sentence_and_nothing_is_moved(runs: Path) -> None:
    for name in ("00000010", "00000020"):
        flip(runs / "tiny/checkpoints" / name / "model.safetensors", 300)
    with pytest.raises(RunError, match=r"00000020/model.safetensors is damaged .*; put a whole one there, or remove"):
        train(runs / "tiny", "train.steps=30")
    assert len(list((runs / "tiny/checkpoints").iterdir())) == 2


@pytest.mark.parametrize(
    "content", ["[]", "5", '{"step": "ten", "optimizer": []}', '{"step": 20}', '{"optimizer": []}', "[" * 100_000]
)
def test_progress_of_the_wrong_shape_is_a_sentence(content: str, runs: Path) -> None:
    without_checksums(runs / "tiny")
    for path in (runs / "tiny/checkpoints").glob("*/progress.json"):
        path.write_text(content)
    with pytest.raises(RunError, match=r"00000020/progress.json is damaged \(.*\); put a whole one there, or remove"):
        train(runs / "tiny", "train.steps=30")


def test_a_cache_of_the_wrong_shape_is_built_again(runs: Path, expected: list[object]) -> None:
    for path in (runs / ".cache").glob("*/corpus.json"):
        path.with_name("checksums.json").unlink()
        path.write_text('{"count": "many"}')
    assert evaluated(runs) == expected[1]


def test_a_run_without_checksums_loads_and_goes_on(runs: Path, expected: list[object]) -> None:
    without_checksums(runs / "tiny")
    assert answered(runs) == expected[0]
    assert resumed(runs) == expected[2]


def test_a_bad_line_of_the_log_is_named_and_the_rest_stays(runs: Path, whole: Path) -> None:
    path = runs / "tiny/metrics.jsonl"
    before = path.read_text().splitlines()
    path.write_text("\n".join([*before[:2], "\x00" + before[2][1:], *before[3:]]) + "\n")
    said = Run(runs / "tiny").metrics.rewind(20)
    assert said == [f"{path}:3 is damaged; the line is now in {path.with_suffix('.damaged')}"]
    kept = [line for line in metrics(whole / "tiny").splitlines() if '"test"' not in line]
    assert path.read_text().splitlines() == [*kept[:2], *kept[3:]]
    assert path.with_suffix(".damaged").read_bytes() == b"\x00" + before[2][1:].encode() + b"\n"


def test_an_edited_recipe_is_taken_once_its_checksum_is_gone(runs: Path) -> None:
    path = runs / "tiny/recipe.yaml"
    path.write_text(path.read_text().replace("max_length: 6", "max_length: 5"))
    assert "take its lines out of" in refused("predict", runs / "tiny", "a b")
    (runs / "tiny/checksums.json").unlink()
    assert load(runs / "tiny").search.max_length == 5
