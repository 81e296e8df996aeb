"""Existence checks of the files that a recipe names, made before training starts."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel

from regard.recipes.errors import RecipeError
from regard.recipes.yaml_document import RecipeDocument, Where


@dataclass(frozen=True)
class IsFile:
    """Marker of the type of a key whose value is a data file."""


@dataclass(frozen=True)
class IsFolder:
    """Marker of the type of a key whose value is a data folder."""


DataFile = Annotated[str, IsFile()]
"""File name; data files are relative to `data.root`."""
DataFolder = Annotated[str, IsFolder()]
"""Folder name; data folders are relative to `data.root`."""


def find_files(content: BaseModel, document: RecipeDocument, *, section: str = "data") -> None:
    """Check that every file in a section exists.

    Args:
        content: section whose keys of type `DataFile` are checked, at any depth, relative to its `root` if it has one.
        document: document of the recipe, for line numbers.
        section: name of the section.

    Raises:
        RecipeError: a file is missing; the message has the nearest name in its folder, or advice.
    """
    root: Path | None = getattr(content, "root", Path())
    for where, name in _named(content, (section,), IsFolder):
        if not ((root or Path()) / name).is_dir():
            said = f"{document.place(where)}: {_key(where)}: there is no folder {name}"
            raise RecipeError(said if root is None else f"{said} in {root}")
    for where, name in named_files(content, (section,)):
        path = (root or Path()) / name
        if path.is_dir():
            raise RecipeError(f"{document.place(where)}: {_key(where)}: {path} is a folder; name a file in it")
        if path.exists() or ("*" in path.name and any(path.parent.glob(path.name))):
            continue
        if root is not None and not root.is_dir():
            raise RecipeError(f"{document.place(('data', 'root'))}: data.root: there is no folder {root}{_home(root)}")
        said = f"{document.place(where)}: {_key(where)}: there is no file {name}"
        raise RecipeError(f"{said}{_advice(Path(name), root)}")


def named_files(section: BaseModel, where: Where = ()) -> Iterator[tuple[Where, str]]:
    """Yield the file names in a section, each with the path of its key.

    >>> class Pair(BaseModel):
    ...     source: DataFile
    ...     target: DataFile | None = None
    ...     encoding: str = "utf-8"
    >>> list(named_files(Pair(source="a.de", target="a.en"), ("data", "train")))
    [(('data', 'train', 'source'), 'a.de'), (('data', 'train', 'target'), 'a.en')]
    """
    return _named(section, where, IsFile)


def find_run(folder: Path | None, document: RecipeDocument) -> None:
    """Check that the run under `init` exists.

    Raises:
        RecipeError: it does not exist.
    """
    if folder is not None and not (folder / "recipe.yaml").exists():
        place = document.place(("init",))
        raise RecipeError(f"{place}: init: {folder} is not a run: it has no recipe.yaml; `regard train` makes one")


def _named(section: BaseModel, where: Where, mark: type) -> Iterator[tuple[Where, str]]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        marked = any(isinstance(one, mark) for one in field.metadata) or _marked(field.annotation, mark)
        yield from _inside(value, (*where, name), mark, marked=marked)


def _inside(value: Any, where: Where, mark: type, *, marked: bool) -> Iterator[tuple[Where, str]]:
    if isinstance(value, BaseModel):
        yield from _named(value, where, mark)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _inside(item, (*where, index), mark, marked=marked)
    elif marked and isinstance(value, str):
        yield where, value


def _marked(annotation: Any, mark: type) -> bool:
    """Return True if a marker is part of a type, such as `DataFile | None` or `list[DataFile]`."""
    marks = getattr(annotation, "__metadata__", ())
    inside = typing.get_args(annotation)
    return any(isinstance(one, mark) for one in marks) or any(_marked(part, mark) for part in inside)


def _key(where: Where) -> str:
    return ".".join(map(str, where))


def _advice(name: Path, root: Path | None) -> str:
    """Return advice on a missing file."""
    looked = "" if root is None or name.is_absolute() else f" in {root}"
    if near := get_close_matches(name.name, _names((root or Path()) / name.parent), n=1):
        return f"{looked}; did you mean {name.with_name(near[0])}?"
    return looked if root is not None or name.is_absolute() else "; set data.root=FOLDER to the folder it is in"


def _names(folder: Path) -> list[str]:
    """Return the names in a folder; empty if it cannot be read."""
    try:
        return [path.name for path in folder.iterdir() if path.is_file()]
    except OSError:
        return []


def _home(folder: Path) -> str:
    """Return advice if a path starts with `~`, which a shell does not expand in `data.root=~/data`."""
    return f"; write {folder.expanduser()}" if folder.parts[:1] == ("~",) else ""
