"""Scores, aligners, metrics and readers of one's own, by name in a recipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import regard
from regard import registry
from regard.data.problems import DataError
from regard.recipes.errors import RecipeError
from regard.recipes.load import load
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.folder import RunError
from regard.runs.run import Run
from regard.train.report import report
from regard.train.screen import Screen
from regard.train.trainer import Outcome, Trainer

MODULE = '''\
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

import regard
from regard.data import DataReader
from regard.data.example import BadLine, Example, good_lines
from regard.evaluate.tally import Tally
from regard.nn import Aligner, Score, Softmax


@regard.register("distance")
class Distance(Score):
    """Near vectors match."""

    def __init__(
        self, query_dim=None, key_dim=None, hidden_dim=None, *, num_heads=1, power: float = 2.0,
        of: Literal["keys", "both"] = "both",
    ):
        super().__init__(query_dim, key_dim, hidden_dim, num_heads=num_heads)
        self.power = power

    def energy(self, query, memory, state):
        return -torch.cdist(query, memory.key).pow(self.power) / math.sqrt(query.shape[-1])


@regard.register("sharp")
class Sharp(Aligner):
    """A softmax with a temperature."""

    def __init__(self, temperature: float):
        super().__init__()
        self.temperature = temperature

    def forward(self, energy, query, memory, state):
        return Softmax()(energy * self.temperature, query, memory, state)


@regard.register("length_ratio", higher_is_better=False)
def length_ratio(hypotheses, references, *, longest: int = 100):
    """How long answers are beside their references."""
    rows = [[min(len(one), longest), len(right[0])] for one, right in zip(hypotheses, references)]
    return Tally.of("length ratio", rows, lambda total: abs(math.log(max(total[0], 1) / max(total[1], 1))), "")


@regard.register("arrows")
@dataclass(frozen=True)
class Arrows(DataReader):
    """source => target"""

    path: str | Path
    arrow: str = "=>"
    says: str = "target"

    def read(self) -> Iterator[Example | BadLine]:
        for line in good_lines(Path(self.path), self.encoding, self.max_line):
            if isinstance(line, BadLine):
                yield line
                continue
            source, arrow, target = line.text.partition(self.arrow)
            where = f"{self.path}:{line.number}"
            if arrow:
                yield Example({"source": source.strip(), self.says: target.strip()}, where)
            else:
                yield BadLine(where, f"there is no {self.arrow}")
'''
RECIPE = """\
run: own
plugins: [NAME]
data:
  format: arrows
  root: FOLDER
  train: pairs.txt
  split: {valid: 0.2, test: 0.2}
tokenizer: {kind: words}
model:
  kind: luong
  embedding_dim: 8
  hidden_dim: 8
  attention:
    score: {name: distance, power: 1.5}
    align: {name: sharp, temperature: 2.0}
train: {steps: 4, batch: {sentences: 8}, valid_every: 4, log_every: 2}
decode: {max_length: 6}
evaluate: {metrics: [exact_match, length_ratio]}
"""


@pytest.fixture(autouse=True)
def _on_cpu(_on_device: None) -> None:
    torch.set_default_device(None)


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test imports and registers is gone after it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(registry, "_REGISTERED", {})
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("own_"):
            del sys.modules[name]


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A recipe with its module beside it, and data in another folder."""
    home = tmp_path / "recipes"
    home.mkdir()
    pairs = [f"{number % 7} {number % 5} {number % 3} => {number % 3} {number % 7}\n" for number in range(60)]
    (tmp_path / "pairs.txt").write_text("".join(pairs))
    (home / "own_parts.py").write_text(MODULE)
    path = home / "own.yaml"
    path.write_text(RECIPE.replace("FOLDER", str(tmp_path)).replace("NAME", "own_parts"))
    return path


def trained(recipe: Path, folder: Path, *overrides: str) -> Outcome:
    loaded = load(str(recipe), list(overrides)).recipe
    outcome = Trainer(loaded, Run(folder), screen=Screen(quiet=True)).fit()
    report(Run(folder), loaded, outcome)
    return outcome


def forget(module: str) -> None:
    """As in another process."""
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        del sys.modules[name]
    for key in [key for key, one in registry._REGISTERED.items() if one.module.partition(".")[0] == module]:
        del registry._REGISTERED[key]


def test_a_score_an_aligner_a_metric_and_a_reader_have_names(recipe: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    outcome = trained(recipe, folder)
    assert outcome.test is not None
    assert {"exact_match", "length_ratio"} <= outcome.test.values().keys()
    assert "| test | length ratio |" in (folder / "report.md").read_text()
    forget("own_parts")
    translator = regard.load(folder)  # found where it was
    assert type(translator.model.attention.score).__name__ == "Distance"
    assert (translator.model.attention.score.power, translator.model.attention.align.temperature) == (1.5, 2.0)
    assert translator.predict("1 2 3")[0].alignment is not None
    assert Run(folder).recipe() == load(str(recipe)).recipe
    said = Run(folder).recipe().model_dump(mode="json")["model"]["attention"]["score"]
    assert said == {"name": "distance", "hidden_dim": None, "power": 1.5, "of": "both"}
    assert trained(folder / "recipe.yaml", folder, "train.steps=6").progress.step == 6  # goes on from its own recipe


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("model.attention.score.powr=1", ("'model.attention.score.powr'", "did you mean power?")),
        ("model.attention.score.power=x", ("model.attention.score.power is 'x'", "a number")),
        ("model.attention.score.of=key", ("model.attention.score.of is 'key'", "did you mean keys?")),
        ("model.attention.score=distnce", ("model.attention.score is 'distnce'", "did you mean distance?")),
        ("model.attention.score.query_dim=3", ("'model.attention.score.query_dim'",)),
        ("model.attention.align=sharp", ("'model.attention.align.temperature' is missing",)),
        ("data.arow='->'", ("'data.arow'", "did you mean arrow?")),
        ("data.format=arows", ("data.format is 'arows'", "did you mean arrows?")),
        ("evaluate.metrics=[length_ratoi]", ("'length_ratoi'", "did you mean 'length_ratio'?")),
        ("evaluate.metrics=[{length_ratio: {longst: 3}}]", ("'longst'", "longest")),
        ("plugins=[own_part]", ("own_part", "did you mean own_parts?")),
        ("plugins=[os]", ("os is a module of Python itself",)),
        ("plugins=[own_parts.more]", ("own_parts.more",)),
        ("plugins=['../own_parts']", ("'../own_parts'",)),
        ("plugins=[]", ("data.format is 'arrows'",)),
        ("plugins=own_parts", ("plugins", "list")),
        ("task=bits", ("model.kind",)),
    ],
)
def test_what_is_wrong_is_one_sentence(override: str, parts: tuple[str, ...], recipe: Path) -> None:
    with pytest.raises(RecipeError) as problem:
        load(str(recipe), [override])
    for part in parts:
        assert part in str(problem.value)


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("import no_such_package", ("own_parts cannot be imported", "no_such_package")),
        ("x = 1 / 0", ("ZeroDivisionError", "own_parts.py:1")),
        ("def (", ("SyntaxError", "own_parts.py")),
        ("import regard\nregard.register('three')(3)", ("three", "no subclass")),
        ("import regard\n@regard.register('bleu')\ndef bleu(a, b): pass", ("metric 'bleu'", "already")),
        (
            "import regard\nfrom regard.nn import Score\n@regard.register('dot')\nclass Mine(Score):\n"
            "    def energy(self, query, memory, state): pass",
            ("score 'dot'", "already"),
        ),
    ],
)
def test_a_module_that_does_not_work_is_one_sentence(source: str, parts: tuple[str, ...], recipe: Path) -> None:
    (recipe.parent / "own_parts.py").write_text(source)
    with pytest.raises(RecipeError, match=r"own.yaml, line 2: plugins: ") as problem:
        load(str(recipe))
    for part in parts:
        assert part in str(problem.value)


def test_two_modules_cannot_have_one_name(recipe: Path) -> None:
    (recipe.parent / "own_others.py").write_text(MODULE)
    with pytest.raises(RecipeError, match=r"own_parts.* already"):
        load(str(recipe), ["plugins=[own_parts, own_others]"])


def test_a_package_has_dotted_modules(recipe: Path, tmp_path: Path) -> None:
    package = recipe.parent / "own_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (recipe.parent / "own_parts.py").rename(package / "parts.py")
    (package / "parts.py").write_text(MODULE.replace("import math", "import math\nimport own_package.helper"))
    (package / "helper.py").write_text("")
    trained(recipe, tmp_path / "run", "plugins=[own_package.parts]")
    forget("own_package")
    assert regard.load(tmp_path / "run").recipe.plugins == ("own_package.parts",)


def test_a_plugin_that_changed_or_is_gone_is_one_sentence(recipe: Path, tmp_path: Path) -> None:
    module, folder = recipe.parent / "own_parts.py", tmp_path / "run"
    trained(recipe, folder)
    recorded = json.loads((folder / "plugins.json").read_text())
    assert recorded["own_parts"]["file"] == str(module)
    forget("own_parts")
    module.write_text(MODULE.replace("2.0,", "3.0,"))
    with pytest.raises(RunError, match=r"own_parts.*own_parts.py has changed.*plugins.json"):
        regard.load(folder)
    with pytest.raises(RunError, match="has changed"):
        trained(recipe, folder, "train.steps=9")
    (folder / "plugins.json").unlink()
    sys.path.append(str(recipe.parent))
    assert regard.load(folder).recipe.plugins == ("own_parts",)
    sys.path.remove(str(recipe.parent))
    forget("own_parts")
    module.unlink()
    sys.path_importer_cache.clear()
    with pytest.raises(RecipeError, match="there is no module own_parts"):
        regard.load(folder)


def test_loading_a_run_executes_nothing_that_lies_in_it(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    trained(recipe, folder)
    forget("own_parts")
    (recipe.parent / "own_parts.py").unlink()
    evil, done = folder / "own_parts.py", folder / "done"
    evil.write_text(f"open({str(done)!r}, 'w')")
    (folder / "plugins.json").write_text(json.dumps({"own_parts": {"file": str(evil), "hash": "0"}}))
    inner = folder / "checkpoints" / "own_parts.py"
    inner.write_text(evil.read_text())
    monkeypatch.chdir(folder)  # where Python itself would look first
    for path in ("", str(folder), str(inner.parent)):
        sys.path.insert(0, path)
    for loading in (
        lambda: regard.load(folder),
        lambda: regard.load("."),
        lambda: load(str(folder / "recipe.yaml")),
        lambda: Run(folder).recipe(),
    ):
        with pytest.raises(RecipeError, match="own_parts"):
            loading()
    assert not done.exists()


def test_a_reader_is_held_to_the_fields_of_the_task(recipe: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"pairs.txt:1: the reader arrows gives the fields source, reply; .*target"):
        trained(recipe, tmp_path / "run", "data.says=reply")
    with pytest.raises(DataError, match=r"pairs.txt:1: there is no ->"):
        trained(recipe, tmp_path / "other", "data.arrow='->'")


def test_a_cache_knows_the_source_of_a_reader(recipe: Path, tmp_path: Path) -> None:
    trained(recipe, tmp_path / "one")
    entries = {path.name for path in (tmp_path / ".cache").iterdir()}
    forget("own_parts")
    module = recipe.parent / "own_parts.py"
    module.write_text(module.read_text().replace("target.strip()", "target.strip() + ' !'"))
    sys.path_importer_cache.clear()
    trained(recipe, tmp_path / "two")
    assert len(list((tmp_path / ".cache").iterdir())) == 2 * len(entries)


def test_a_name_is_known_where_its_module_is_named_alone(recipe: Path, tmp_path: Path) -> None:
    load(str(recipe))
    other = RecipeDocument.read(recipe).overridden(["plugins=[]", "data={format: digits}"])
    (tmp_path / "other.yaml").write_text(json.dumps(other.content))
    with pytest.raises(RecipeError, match=r"model.attention.score.name is 'distance'"):
        load(str(tmp_path / "other.yaml"))
