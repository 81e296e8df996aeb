"""YAML documents with the line number of each key."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regard.data.formats.encodings import lone_surrogate
from regard.data.formats.lines import check_regular
from regard.data.problems import DataError, shortened
from regard.recipes.errors import RecipeError
from regard.recipes.yaml_values import Where, read_values

__all__ = ["RecipeDocument", "Where"]

LARGEST = 2**17
"""Maximum size of a recipe in bytes."""
_MARKS = frozenset(",|#-?:&*!>%@` \t")
"""Values that are YAML syntax when they occur alone, but literal on the command line, as in `data.comment=#`."""


@dataclass(frozen=True)
class RecipeDocument:
    """Content of a recipe, with the origin of each key.

    Attributes:
        name: file name, or "the command line".
        content: plain dicts, lists, strings and numbers.
        lines: line number of each key.
        assigned: keys that were set on the command line.

    >>> document = RecipeDocument.parse("train:\\n  steps: 100\\n", "mine.yaml")
    >>> document.content, document.lines["train", "steps"]
    ({'train': {'steps': 100}}, 2)
    """

    name: str
    content: dict[str, Any]
    lines: dict[Where, int] = field(default_factory=dict)
    assigned: frozenset[Where] = frozenset()

    @staticmethod
    def read(path: Path) -> RecipeDocument:
        """Read a file; raise a RecipeError if it is not YAML or not a mapping."""
        try:
            check_regular(path)
            with path.open("rb") as file:
                raw = file.read(LARGEST + 1)
            text = raw.decode("utf-8")
        except DataError as problem:
            raise RecipeError(str(problem)) from None
        except UnicodeDecodeError as problem:
            raise RecipeError(f"{path}: not UTF-8 text (byte {problem.start}); save it as UTF-8") from None
        except OSError as problem:
            raise RecipeError(f"{path}: cannot be read ({problem.strerror})") from None
        if len(raw) > LARGEST:
            raise RecipeError(f"{path}: a recipe has at most {LARGEST:,} bytes; this file is larger")
        return RecipeDocument.parse(text, str(path))

    @staticmethod
    def parse(text: str, name: str) -> RecipeDocument:
        """Parse YAML text."""
        lines: dict[Where, int] = {}
        content = read_values(text, name, lines)
        if not isinstance(content, dict):
            raise RecipeError(f"{name}: a recipe is a mapping of keys to values, not a {type(content).__name__}")
        return RecipeDocument(name, content, lines)

    def overridden(self, assignments: list[str]) -> RecipeDocument:
        """Return the document with `a.b=value` assignments of the command line; values are parsed as YAML.

        >>> RecipeDocument.parse("train: {steps: 100}", "mine.yaml").overridden(["train.steps=7", "run=x"]).content
        {'train': {'steps': 7}, 'run': 'x'}
        """
        content, assigned = _copy(self.content), set(self.assigned)
        for assignment in assignments:
            key, equals, text = assignment.partition("=")
            if not equals or not key.strip():
                raise RecipeError(f"{shortened(assignment)!r} is not an override; write key.subkey=value")
            keys = key.strip().split(".")
            _assign(content, keys, _literal(text, assignment), assignment)
            assigned.add(tuple(keys))
        return RecipeDocument(self.name, content, self.lines, frozenset(assigned))

    def without(self, where: Where) -> RecipeDocument:
        """Return the document without one key.

        >>> RecipeDocument.parse("train: {steps: 100, seed: 1}", "mine.yaml").without(("train", "steps")).content
        {'train': {'seed': 1}}
        """
        content = _copy(self.content)
        inner = content
        for key in where[:-1]:
            inner = inner[key]
        del inner[where[-1]]
        return replace(self, content=content)

    def with_section(self, name: str, keys: dict[str, Any]) -> RecipeDocument:
        """Return the document with a section replaced.

        >>> RecipeDocument.parse("run: mine", "mine.yaml").with_section("train", {"steps": 7}).content
        {'run': 'mine', 'train': {'steps': 7}}
        """
        return replace(self, content={**_copy(self.content), name: keys})

    def moved(self, old: Where, new: Where, value: Any) -> RecipeDocument:
        """Return the document with a key renamed within its section, keeping its line number.

        >>> document = RecipeDocument.parse("data: {file: a.tsv}", "my.yaml")
        >>> document = document.moved(("data", "file"), ("data", "train"), "b")
        >>> document.content, document.place(("data", "train"))
        ({'data': {'train': 'b'}}, 'my.yaml, line 1')
        """
        made = self.without(old)
        inner: dict[Any, Any] = made.content
        for key in new[:-1]:
            inner = inner[key]
        inner[new[-1]] = value
        lines = {**self.lines, new: self.lines[old]} if old in self.lines else self.lines
        return replace(made, lines=lines, assigned=self.assigned | ({new} if old in self.assigned else set()))

    def place(self, where: Where) -> str:
        """Return the location of a key for people: "mine.yaml, line 3", or "the command line"."""
        lengths = range(len(where), 0, -1)
        new = bool(where) and where not in self.lines and any(key[: len(where)] == where for key in self.assigned)
        if new or any(where[:length] in self.assigned for length in lengths):
            return "the command line"
        for length in lengths:
            if where[:length] in self.lines:
                return f"{self.name}, line {self.lines[where[:length]]}"
        return self.name


def _literal(text: str, assignment: str) -> Any:
    if text in _MARKS:
        return text
    if lone_surrogate(assignment) is not None:
        raise RecipeError(f"{shortened(assignment)!r} has a byte that is not UTF-8; write it in UTF-8")
    try:
        return RecipeDocument.parse(f"value: {text}", "").content["value"]
    except RecipeError as problem:
        why = str(problem).partition(": ")[2]
        said = why if "; " in why else f"the value is not YAML ({why}); put it in quotes"
        raise RecipeError(f"{shortened(assignment)!r}: {said}") from None


def _assign(content: dict[str, Any], keys: list[str], value: Any, assignment: str) -> None:
    *parents, last = keys
    for key in parents:
        content[key] = {} if content.get(key) is None else content[key]
        content = content[key]
        if not isinstance(content, dict):
            raise RecipeError(f"{shortened(assignment)!r}: {key!r} holds a value, not keys")
    content[last] = value


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
