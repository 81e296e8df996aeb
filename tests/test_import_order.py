"""Import order: each import of the package goes down a floor, those for type checking too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import regard

PACKAGE = Path(regard.__file__).parent

FLOORS = """
lazy deferred specials nearest checksum registry
arguments cuda_capture memo
constraints parts tensor_mismatch cpu_settings
masks
ops
protocol
nn
models
data
decode
evaluate
alignment
recipes
explain
view
engines
tasks
runs
predictor
systems
report
train
compare bench
cli
""".strip().splitlines()
"""Bottom to top. A module imports from floors below its own; names on one floor know nothing of each other."""

HEIGHT = {name: height for height, floor in enumerate(FLOORS) for name in floor.split()}
INDEPENDENT = {"data": {"ops", "nn", "models"}, "evaluate": {"ops", "nn", "models", "data", "decode"}}
"""Floors that know nothing of some floors below them either."""


def floor_of(path: Path) -> str | None:
    """Return the floor of a module; None of the package itself, which only re-exports.

    The commands of a system belong to the command line, which alone imports them.
    """
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts[0] == "systems" and parts[-1] == "commands":
        return "cli"
    return None if parts[0] in ("__init__", "__main__") else parts[0]


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and floor of each import of the package, wherever in a module it stands."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import; name the module in full"
            names = [f"regard.{alias.name}" for alias in node.names] if node.module == "regard" else [str(node.module)]
        for name in names:
            package, _, rest = f"{name}.".partition(".")
            if package == "regard" and (floor := rest.partition(".")[0]) in HEIGHT:
                yield node.lineno, floor


def upward(path: Path, text: str) -> list[str]:
    """Return the imports of a module that do not go down, each with its place."""
    floor = floor_of(path)
    if floor is None:
        return []
    forbidden = INDEPENDENT.get(floor, set())
    return [
        f"{path}:{line}: {floor} imports {imported}"
        for line, imported in imports(ast.parse(text))
        if imported != floor and (HEIGHT[imported] >= HEIGHT[floor] or imported in forbidden)
    ]


def test_every_import_goes_down_a_floor() -> None:
    modules = sorted(PACKAGE.rglob("*.py"))
    assert len(modules) > 100
    assert [line for path in modules for line in upward(path, path.read_text(encoding="utf-8"))] == []


def test_every_module_has_a_floor() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert packages | modules == set(HEIGHT)


def test_no_module_below_names_a_system() -> None:
    """Systems are discovered: nothing imports one by name but other systems."""
    for path in sorted(PACKAGE.rglob("*.py")):
        named = [line for line, floor in imports(ast.parse(path.read_text(encoding="utf-8"))) if floor == "systems"]
        assert not named or floor_of(path) == "systems" or path.name == "commands.py", f"{path}:{named}"


@pytest.mark.parametrize(
    ("module", "text", "found"),
    [
        ("ops/dot.py", "from regard.nn import Attention", ["1: ops imports nn"]),
        ("ops/dot.py", "from regard.masks import Mask", []),
        ("ops/dot.py", "if TYPE_CHECKING:\n    import regard.models.build", ["2: ops imports models"]),
        ("nn/dot.py", "def f():\n    from regard import train, ops", ["2: nn imports train"]),
        ("data/text.py", "from regard.ops import dot", ["1: data imports ops"]),
        ("compare/pool.py", "import regard.bench.case", ["1: compare imports bench"]),
        ("systems/recall/commands.py", "from regard.cli.screen import fail", []),
        ("systems/recall/task.py", "from regard.cli.screen import fail", ["1: systems imports cli"]),
        ("__init__.py", "from regard.predictor import load", []),
    ],
)
def test_an_import_that_goes_up_is_found(module: str, text: str, found: list[str]) -> None:
    path = PACKAGE / module
    assert upward(path, text) == [f"{path}:{one}" for one in found]
