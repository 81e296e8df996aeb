"""Plug-ins: modules under the key `plugins`, which are imported and extend the schema of the recipe."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from regard.data.fingerprint import fingerprint
from regard.nearest import nearest
from regard.recipes.errors import RecipeError
from regard.recipes.yaml_document import RecipeDocument

RECORD = "plugins.json"
"""File in a run folder with the location of each plug-in and the hash of its source."""
_OF_A_RUN = ("metrics.jsonl", "model.safetensors", "checkpoints", RECORD)
_imported: dict[str, None] = {}
_named: ContextVar[tuple[str, ...] | None] = ContextVar("plugins that the recipe at hand names", default=None)


@contextmanager
def plugins_of(document: RecipeDocument) -> Iterator[None]:
    """Import the plug-ins of a recipe; their components are part of the schema inside this context.

    They are searched in the folder of the recipe, in the working directory, in their locations when the run started,
    and on `sys.path`. Files in a run folder are never imported, so that loading a run does not execute its code.

    Raises:
        RecipeError: a module is not found, or its import fails.
    """
    given = document.content.get("plugins") or []
    names = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
    home = Path(document.name).parent if Path(document.name).is_file() else None
    for index, name in enumerate(names):
        try:
            _import(name, _places(home, name))
        except _PluginError as problem:
            raise RecipeError(f"{document.place(('plugins', index))}: plugins: {problem}") from None
    _imported.update(dict.fromkeys(names))
    token = _named.set(tuple(names))
    try:
        yield
    finally:
        _named.reset(token)


def is_in_scope(module: str) -> bool:
    """Return True if the components of this module are available in the current recipe."""
    names = _named.get()
    return names is None or any(module == name or module.startswith(f"{name}.") for name in names)


def plugin_attributes(attribute: str) -> Iterator[tuple[str, Any]]:
    """Yield module name and value of an attribute, for all plug-ins that have it.

    While a recipe is being checked, these are its plug-ins; otherwise, all imported ones.
    """
    named = _named.get()
    for name in _imported if named is None else named:
        found = getattr(sys.modules.get(name), attribute, None)
        if found is not None:
            yield name, found


def plugin_sources(names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Return the location of each plug-in and the hash of its source."""
    found = {}
    for name in names:
        files = _sources(name)
        found[name] = {"file": str(files[0]), "hash": fingerprint([path.name for path in files], files)}
    return found


def recorded_plugins(folder: Path) -> dict[str, dict[str, str]]:
    """Return locations and hashes recorded at the start of a run; empty if it had no plug-ins."""
    try:
        content = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    entries = content.items() if isinstance(content, dict) else ()
    return {name: one for name, one in entries if isinstance(one, dict) and isinstance(one.get("file"), str)}


class _PluginError(Exception):
    """Failure to find or import a plug-in; its text completes a message."""


def _places(home: Path | None, name: str) -> list[Path]:
    """Return the folders that are searched for a plug-in before `sys.path`."""
    places = [Path.cwd()] if home is None else [home.resolve(), Path.cwd()]
    if home is not None and name in (before := recorded_plugins(home)):
        file = Path(before[name]["file"])
        up = name.count(".") + (file.name == "__init__.py")
        places += [file.parents[up]] if len(file.parents) > up else []
    return places


def _import(name: str, places: list[Path]) -> None:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name):
        raise _PluginError(f"{name!r} is no name of a module; write my_module, or package.my_module")
    top = name.partition(".")[0]
    folder, spec = _found(top, places)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # for the module's own imports from its folder
    importlib.invalidate_caches()
    there = sys.modules[top].__spec__ if top in sys.modules else importlib.util.find_spec(top)
    if there is not None and not there.has_location:
        raise _PluginError(f"{top} is a module of Python itself; give yours another name")
    if there is None or _origin(there) != _origin(spec):
        other = None if there is None else _origin(there)
        raise _PluginError(f"{top} is at {_origin(spec)}, and {other} has the same name; rename one of them")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name is not None and f"{name}.".startswith(f"{problem.name}."):
            raise _PluginError(f"there is no module {problem.name} in {folder}") from None
        raise _PluginError(f"{name} cannot be imported: {problem}") from None
    except Exception as problem:  # foreign code may raise anything
        raise _PluginError(f"{name} cannot be imported: {type(problem).__name__}: {_said(problem)}") from None


def _said(problem: Exception) -> str:
    """Return the first line of an error, and its location."""
    trace, line = problem.__traceback__, ""
    while trace is not None:
        line = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
        trace = trace.tb_next
    return str(problem).partition("\n")[0] + ("" if isinstance(problem, SyntaxError) else line)


def _found(top: str, places: list[Path]) -> tuple[Path, ModuleSpec]:
    """Return the first folder with a module or package of this name, and its spec; run folders are skipped."""
    refused: Path | None = None
    folders = dict.fromkeys([*places, *(Path(entry or ".").resolve() for entry in sys.path)])
    for folder in folders:
        spec = PathFinder.find_spec(top, [str(folder)])
        if spec is None:
            continue
        if (run := _run_around(_origin(spec))) is None:
            return folder, spec
        refused = refused or run
    if refused is not None:
        raise _PluginError(f"{top} lies in the run {refused}, from which nothing is imported; put it beside the recipe")
    known = {path.stem: path.stem for folder in places if folder.is_dir() for path in folder.glob("*.py")}
    near = nearest(top, known)
    hint = f"; did you mean {near}?" if near else "; put it beside the recipe"
    raise _PluginError(f"there is no module {top} in {' or '.join(map(str, dict.fromkeys(places)))}{hint}")


def _origin(spec: ModuleSpec) -> Path:
    """Return the file of a module, or the folder of a namespace package."""
    locations = list(spec.submodule_search_locations or ())
    return Path(spec.origin if spec.has_location and spec.origin else locations[0] if locations else ".").resolve()


def _run_around(path: Path) -> Path | None:
    """Return the run folder that contains a file; None if there is none."""
    for folder in path.parents:
        if (folder / "recipe.yaml").is_file() and any((folder / name).exists() for name in _OF_A_RUN):
            return folder
    return None


def _sources(name: str) -> list[Path]:
    """Return the files of a module or package, its main file first."""
    module: Any = sys.modules[name]
    folders = [Path(folder) for folder in getattr(module, "__path__", ())]
    inside = sorted(path for folder in folders for path in folder.rglob("*.py"))
    own = [Path(module.__file__)] if module.__file__ else []
    return [*own, *(path for path in inside if path not in own)]
