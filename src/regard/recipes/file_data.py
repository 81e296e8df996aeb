"""Input and evaluation files of trained models as sections `data`: format detection by suffix, and columns."""

from __future__ import annotations

import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from regard.recipes.data_sections import FolderData, JsonlData, PairsData, SplitFiles, TableData
from regard.recipes.errors import RecipeError
from regard.recipes.plugin_sections import PluginUnion
from regard.recipes.system import System

LINES = "lines"
"""Format of a file with one input text per line."""
_ENDINGS = {
    "table": (".csv", ".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "columns": (".conll", ".bio", ".iob", ".iob2"),
    "conllu": (".conllu",),
    "spans": (".csv", ".tsv", ".jsonl"),
    "squad": (".json",),
    "cmudict": (".dict",),
}
_NONE = "\0"  # a suffix that no file name has
_TABULAR = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson")  # suffixes of files whose lines are rarely plain texts


@dataclass(frozen=True)
class FileLayout:
    """Command-line options for a file; None for the setting of the recipe.

    Attributes:
        format: format of the file, as in `data.format`, or `lines`.
        source: input columns or keys, in the order of the model's input texts.
        target: column or key of the target.
        header: True if the first line contains the names of the columns.
        encoding: character encoding of the file.
        bad_lines: `refuse` to stop at a bad line, `skip` to skip it.
    """

    format: str | None = None
    source: tuple[str, ...] = ()
    target: str | None = None
    header: bool | None = None
    encoding: str | None = None
    bad_lines: str | None = None

    def reading(self) -> dict[str, Any]:
        """Return the options about encoding and lines that are set, as keys of the section `data`."""
        said = {"encoding": self.encoding, "bad_lines": self.bad_lines}
        return {key: value for key, value in said.items() if value is not None}

    @property
    def columns(self) -> bool:
        """True if a column is specified."""
        return bool(self.source) or self.target is not None or self.header is not None


def format_of(own: BaseModel, path: Path, layout: FileLayout, allowed: Collection[str]) -> str | None:
    """Return the format of a file, by the option or by the suffix; None if neither determines it.

    Args:
        own: section `data` of the recipe.
        path: the file.
        layout: what the command line says.
        allowed: allowed formats.

    Raises:
        RecipeError: the requested format is not allowed.
    """
    if layout.format is not None:
        if layout.format not in allowed:
            raise RecipeError(f"--format is {layout.format!r}; it can be {', '.join(allowed)}")
        return layout.format
    mine = str(getattr(own, "format", ""))
    if mine in allowed and path.name.removesuffix(".gz").endswith((*_ENDINGS.get(mine, ()), *_own_endings(own))):
        return mine
    if layout.columns:  # naming columns implies a format with columns
        return _by_ending(path, allowed) or (mine if mine in allowed and hasattr(own, "source") else None)
    return None


def tabular(path: Path) -> bool:
    """Return True if the suffix of a file is that of a format with columns."""
    return path.name.removesuffix(".gz").endswith(_TABULAR)


def file_formats(system: System) -> dict[str, type[SplitFiles]]:
    """Return the formats of a system with one file per split, including those of plug-ins."""
    ours = {form: one for form, one in system.formats.items() if issubclass(one, SplitFiles)}
    plugged = PluginUnion().sections() if ours else {}
    return ours | {form: one for form, one in plugged.items() if issubclass(one, SplitFiles)}


def input_formats(system: System) -> dict[str, type[SplitFiles]]:
    """Return the formats of input files: those with columns and keys for any system, and the system's own."""
    return {"table": TableData, "jsonl": JsonlData, **file_formats(system)}


def file_section(
    own: BaseModel, system: System, form: str, path: Path, layout: FileLayout, fields: Sequence[str], answer: str | None
) -> dict[str, Any]:
    """Return a section `data` with one file as every split, keeping the recipe's keys that the format has.

    Args:
        own: section `data` of the recipe.
        system: system of the recipe.
        form: format of the file.
        path: the file.
        layout: what the command line says.
        fields: input fields of the model, which are the default keys in JSON.
        answer: target field; None if no targets are read.

    Raises:
        RecipeError: the numbers of columns and fields differ.
    """
    known, mine = input_formats(system)[form].model_fields, own.model_dump(mode="json")
    file = str(path.resolve())
    section = {key: value for key, value in mine.items() if key in known}
    section |= {"format": form, "root": None, "train": file, "valid": file, "test": file, "split": None}
    if "source" in known and mine["format"] != form:
        section |= _default_columns(form, known, mine, fields, answer)
    if layout.source:
        if len(layout.source) != len(fields):
            wanted = f"{len(fields)} column{'s' if len(fields) > 1 else ''}, {' and '.join(fields)}"
            raise RecipeError(f"--source names {len(layout.source)}; the model reads {wanted}")
        columns = [_column(name, form) for name in layout.source]
        section["source"] = columns if len(columns) > 1 else columns[0]
    if layout.target is not None:
        section["target"] = _column(layout.target, form)
    if answer is None:
        section.pop("target", None)
    if "header" in known:
        section["header"] = _headed(section) if layout.header is None else layout.header
    return section | layout.reading()


def measured_section(
    own: BaseModel, system: System, paths: Sequence[Path], layout: FileLayout, fields: Sequence[str], answer: str | None
) -> dict[str, Any]:
    """Return the section `data` for an evaluation on a file, a folder, or a pair of source and target files.

    Raises:
        RecipeError: the format of the files is unknown.
    """
    if len(paths) == 2 and isinstance(own, PairsData) and layout.format in (None, "pairs"):
        both = {"source": str(paths[0].resolve()), "target": str(paths[1].resolve())}
        every = {"root": None, "train": both, "valid": both, "test": both, "split": None}
        return own.model_dump(mode="json") | every | layout.reading()
    path, *more = paths
    if more:
        raise RecipeError(f"{len(paths)} files are the source and the target of data in pairs; others are one file")
    if isinstance(own, FolderData) and path.is_dir():
        folder = {"root": None, "train": str(path.resolve()), "test": str(path.resolve())}
        return own.model_dump(mode="json") | folder | layout.reading()
    allowed = file_formats(system)
    if not allowed:
        raise RecipeError(
            f"{path}: the task {system.name!r} is not measured on a file; change its data with --data KEY=VALUE"
        )
    mine = str(getattr(own, "format", ""))
    form = format_of(own, path, layout, allowed) or _by_ending(path, allowed) or (mine if mine in allowed else None)
    if form is None:
        pairs = "; or give two files, SOURCE TARGET" if isinstance(own, PairsData) else ""
        raise RecipeError(f"{path}: say how it is read with --format {', '.join(allowed)}{pairs}")
    return file_section(own, system, form, path, layout, fields, answer)


def _by_ending(path: Path, allowed: Collection[str]) -> str | None:
    """Return the first allowed format with the suffix of a file."""
    name = path.name.removesuffix(".gz")
    return next((form for form in allowed if name.endswith(_ENDINGS.get(form, (_NONE,)))), None)


def _own_endings(own: BaseModel) -> tuple[str, ...]:
    """Return the suffixes of the recipe's data files, except `.txt`."""
    names = [getattr(own, split, None) for split in ("train", "valid", "test")]
    found = {Path(name.removesuffix(".gz")).suffix for name in names if isinstance(name, str)}
    return tuple(sorted(found - {"", ".txt"}))


def _default_columns(
    form: str, known: Mapping[str, Any], mine: Mapping[str, Any], fields: Sequence[str], answer: str | None
) -> dict[str, Any]:
    """Return the columns of a format other than the recipe's: those with the recipe's names, or the first ones."""
    if typing.get_origin(known["source"].annotation) is typing.Literal:  # the format has fixed columns
        return {key: known[key].default for key in ("source", "target")}
    source, target = mine.get("source"), mine.get("target")
    sources = source if isinstance(source, list) else [source]
    if isinstance(target, str) and len(sources) == len(fields) and all(isinstance(one, str) for one in sources):
        return {"source": source, "target": target}
    columns: list[Any] = list(fields) if form == "jsonl" else list(range(len(fields)))
    right = answer if form == "jsonl" else len(fields)
    return {"source": columns if len(columns) > 1 else columns[0]} | ({} if right is None else {"target": right})


def _column(name: str, form: str) -> str | int:
    """Return a column as a name or an index."""
    return int(name) if form != "jsonl" and name.removeprefix("-").isdecimal() else name


def _headed(section: Mapping[str, Any]) -> bool:
    """Return True if the first line is a header: by the recipe, or because a column is given by name."""
    source = section.get("source")
    columns = [*(source if isinstance(source, list) else [source]), section.get("target")]
    return bool(section.get("header")) or any(isinstance(column, str) for column in columns)
