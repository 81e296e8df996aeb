"""The recipes of docs/start/own_data.md are trained for three steps, and its commands do what they say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli import app

PAGE = (Path(__file__).parents[3] / "docs/start/own_data.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"```yaml\n# (\S+)\n(.+?)```", PAGE, re.DOTALL))
RUN = CliRunner(env={"COLUMNS": "200", "ACCELERATE_USE_CPU": "true"})

SHORT = "decode.max_length=6"  # what has not learned to end goes on for long
NUMBERS = range(400)
PAIRS = "".join(f"ein Haus {number}\ta house {number}\n" for number in NUMBERS)
FILES = {
    "sentences.tsv": PAIRS,
    "mine.tsv": PAIRS,
    "reviews.csv": "text,label\n" + "".join(f'"a gem, {number}",very good\ndull {number},bad\n' for number in NUMBERS),
    "tags.txt": "".join(f"the DT\ncat NN\n{number} CD\n\n" for number in NUMBERS),
    "book.txt": "It was the lark\nthe herald of the morn\n" * 200,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page speaks of."""
    made = tmp_path_factory.mktemp("own")
    for name, text in (FILES | RECIPES).items():
        (made / name).write_text(text, encoding="utf-8")
    return made


def regard(*arguments: str) -> str:
    done = RUN.invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def trained(recipe: str, *overrides: str) -> None:
    regard("train", recipe, "train.steps=3", *overrides)


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_every_task_has_a_recipe() -> None:
    tasks = [re.findall("^task: (.+)$", text, re.MULTILINE) for text in RECIPES.values()]
    assert tasks == [["translate"], ["classify"], ["tag"], ["language_model"], ["translate"]]


def test_the_commands_and_fine_tuning() -> None:
    commands = [shlex.split(line) for line in re.findall(r"^\$ regard (.+?)(?:  +#.*)?$", PAGE, re.MULTILINE)]
    assert [words[0] for words in commands] == ["train", "train", "predict", "evaluate", "evaluate"]
    dry, train, predict, evaluate, other = commands
    assert "all parameters" in regard(*dry)
    regard(*train, "train.steps=3", SHORT)
    assert len(regard(*predict).splitlines()) == 1
    assert "BLEU" in regard(*evaluate)
    Path("new.tsv").write_text("".join(Path("sentences.tsv").read_text().splitlines(keepends=True)[:3]))
    assert "new.tsv, 3 examples" in regard(*other)
    assert len(Path("answers.jsonl").read_text().splitlines()) == 3
    trained("mine.yaml", SHORT)
    vocabularies = [Path(f"runs/{run}/tokenizer.source.json").read_bytes() for run in ("sentences", "mine")]
    assert vocabularies[0] == vocabularies[1]


def test_labels() -> None:
    trained("reviews.yaml")
    assert regard("predict", "runs/reviews", "a gem").strip() in ("very good", "bad")
    command = re.search(r"`regard (compare reviews.yaml .+?)`", PAGE)
    assert command is not None
    listed = regard(*shlex.split(command[1]), "--dry-run")
    assert len(re.findall("pooling=", listed)) == 6


def test_tags() -> None:
    trained("tags.yaml")
    assert len(regard("predict", "runs/tags", "the cat 7").split()) == 3


def test_a_language_model() -> None:
    trained("book.yaml")
    prompt = re.search(r"`regard (predict runs/book .+?)`", PAGE)
    assert prompt is not None
    assert regard(*shlex.split(prompt[1])).startswith("It was")
