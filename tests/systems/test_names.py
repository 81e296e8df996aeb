"""No module outside `regard/systems` names a system: neither its package, nor its task, nor one of its classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import regard
from regard.parts import imported
from regard.recipes.library import shipped
from regard.recipes.system import default_task, systems

PACKAGE = Path(regard.__file__).parent
OUTSIDE = sorted(path for path in PACKAGE.rglob("*.py") if "systems" not in path.relative_to(PACKAGE).parts)
OWN = {name: system for name, system in systems().items() if system.task.startswith("regard.systems.")}
"""Without those of plug-ins that other tests import."""
ORDINARY = {"answer", "caption", "glimpse", "language_model", "nodes", "recall", "spans", "tag"}
"""Names of tasks that are also those of a field, a metric, a model, a mechanism, a term, a format or an argument."""


def constants(path: Path) -> Iterator[tuple[int, object]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant):
            yield node.lineno, node.value


def imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)


def test_there_are_files_and_systems_to_look_at() -> None:
    assert len(OUTSIDE) > 200
    assert len(OWN) >= 10
    assert set(OWN) > ORDINARY


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_system_is_named(path: Path) -> None:
    tasks = set(OWN) - ORDINARY
    classes = {system.task.rpartition(":")[2] for system in OWN.values()}
    named = [(line, value) for line, value in constants(path) if value in tasks]
    used = [(line, module) for line, module in imports(path) if module.startswith("regard.systems")]
    text = path.read_text(encoding="utf-8")
    assert not named
    assert not used
    assert not [name for name in classes if f"isinstance({name}" in text or f", {name})" in text]


def test_no_module_compares_the_name_of_a_task() -> None:
    compared = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in OUTSIDE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare)
        and any(isinstance(one, ast.Constant) and one.value in OWN for one in ast.walk(node))
        and any(isinstance(one, ast.Attribute) and one.attr == "task" for one in ast.walk(node))
    ]
    assert not compared


@pytest.mark.parametrize("name", sorted(OWN))
def test_a_system_is_whole(name: str) -> None:
    system = OWN[name]
    assert imported(system.task).question
    assert system.formats
    assert system.models
    for place in system.models.values():
        assert isinstance(imported(place), type)


def test_each_system_ships_a_recipe() -> None:
    folders = {path.parent for path in shipped().values()}
    assert len(folders) == len(OWN)


def test_one_system_is_that_of_recipes_without_a_task() -> None:
    assert [name for name, system in OWN.items() if system.default] == [default_task()]
