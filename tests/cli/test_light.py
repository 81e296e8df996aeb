"""What commands import: answering needs no compiler, and a run that ended or is another's needs no PyTorch."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import regard.train
from tests.cli.command import asked
from tests.train.tiny import TEXT

PROBE = """
import json, sys
from typer.testing import CliRunner
from regard.cli import app
done = CliRunner(env={"COLUMNS": "160"}).invoke(app, json.loads(sys.argv[1]))
print(json.dumps([done.exit_code, done.output, [name for name in json.loads(sys.argv[2]) if name in sys.modules]]))
"""
COMPILER = ["torch._dynamo", "torch._inductor", "torch.distributed.tensor", "torch.distributed.fsdp", "sympy"]
TRAINING = ["regard.train", *(f"regard.train.{one.name}" for one in pkgutil.iter_modules(regard.train.__path__))]
UNUSED = [*COMPILER, "accelerate", "matplotlib", "sacrebleu", "babel", "tensorboard"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], str]:
    """The command that trained a run, and what it printed; the run is `a` in the folder of the recipe."""
    folder = tmp_path_factory.mktemp("light")
    (folder / "mine.yaml").write_text(TEXT)
    command = ["train", str(folder / "mine.yaml"), "--runs", str(folder), "train.steps=3", "run=a"]
    return command, asked(*command)


def said(arguments: list[str], modules: list[str]) -> tuple[int, str, list[str]]:
    command = [sys.executable, "-c", PROBE, json.dumps(arguments), json.dumps(modules)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, output, imported = json.loads(done.stdout)
    return status, output, imported


def test_an_answer_needs_no_compiler(trained: tuple[list[str], str]) -> None:
    status, output, imported = said(["predict", str(Path(trained[0][3]) / "a"), "1 2 3"], UNUSED)
    assert (status, imported) == (0, []), output


def test_a_run_that_ended_says_its_summary_without_torch(trained: tuple[list[str], str]) -> None:
    command, printed = trained
    status, output, imported = said(command, ["torch", "numpy"])
    assert (status, "torch" in imported) == (0, False)
    summary = printed[printed.index("a: finished after step 3") :]
    assert output.endswith(summary)
    assert "regard evaluate" in output


@pytest.mark.parametrize(
    ("change", "part"), [("model.hidden_dim=77", "model.hidden_dim"), ("train.seed=9", "train.seed")]
)
def test_another_recipe_is_refused_without_torch(trained: tuple[list[str], str], change: str, part: str) -> None:
    status, output, imported = said([*trained[0], change], ["torch"])
    assert (status, imported) == (2, [])
    assert "holds a run of another recipe" in output
    assert part in output


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["predict", "RUN", "--file", "no/where.txt"], "no/where.txt"),
        (["predict", "RUN", "x", "--only", "no/where.txt"], "no/where.txt"),
        (["predict", "RUN", "x", "--output", "no/where.txt"], "no/where.txt"),
        (["predict", "RUN", "x", "--ensemble", "no/where"], "no/where"),
        (["predict", "RUN", "x", "--decode", "beam_sise=2"], "beam_size"),
        (["predict", "EMPTY", "x"], "model.safetensors"),
        (["evaluate", "RUN", "--against", "no/where"], "no/where"),
        (["evaluate", "RUN", "--decode", "beam_sise=2"], "beam_size"),
        (["evaluate", "EMPTY"], "model.safetensors"),
        (["view", "no/where", "x"], "no/where"),
        (["view", "RUN", "x", "--decode", "beam_sise=2"], "beam_size"),
        (["view", "RUN", "x", "--output", "a.gif"], "a.gif"),
        (["remember", "no/where", "x"], "no/where"),
        (["remember", "RUN", "x"], "recall"),
        (["export", "no/where", "x"], "no/where"),
        (["export", "RUN", "x"], "masked_language_model"),
        (["import", "no/where", "x"], "no/where"),
        (["compare", "datse", "train.seed=1,2"], "dates"),
        (["compare", "dates", "train.sed=1,2"], "seed"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_wrong_arguments_are_told_without_torch(
    trained: tuple[list[str], str], tmp_path: Path, arguments: list[str], part: str
) -> None:
    run = Path(trained[0][3]) / "a"
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/recipe.yaml").write_bytes((run / "recipe.yaml").read_bytes())
    given = [{"RUN": str(run), "EMPTY": str(tmp_path / "empty")}.get(one, one) for one in arguments]
    status, output, imported = said(given, ["torch"])
    assert status == 2
    assert part in output
    assert imported == []


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "RUN", "1 2 3"],
        ["evaluate", "RUN", "--split", "valid"],
        ["evaluate", "RUN", "--predictions", "FOLDER/predictions.jsonl", "--against", "RUN"],
        ["view", "RUN", "1 2 3", "--output", "FOLDER/view.html"],
    ],
    ids=lambda command: command[0],
)
def test_inference_imports_nothing_of_training(
    trained: tuple[list[str], str], tmp_path: Path, command: list[str]
) -> None:
    places = {"RUN": str(Path(trained[0][3]) / "a"), "FOLDER": str(tmp_path)}
    arguments = [places.get(one, one.replace("FOLDER", str(tmp_path))) for one in command]
    status, output, imported = said(arguments, ["regard.predictor", *TRAINING])
    assert (status, imported) == (0, ["regard.predictor"]), output
