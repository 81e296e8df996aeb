"""A YAML file that remembers on which line each key stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from regard.recipes.problem import RecipeError

Where = tuple[str | int, ...]
"""The path of keys to a value: `("train", "steps")`."""

_MERGE = "tag:yaml.org,2002:merge"
_MARKS = frozenset(",|#-?:&*!>%@` \t")
"""What means something else to YAML when it stands alone, and itself on the command line: `data.comment=#`."""


@dataclass(frozen=True)
class Document:
    """The content of a recipe and where it came from.

    Attributes:
        name: the file, or "the command line".
        content: plain dicts, lists, strings and numbers.
        lines: the line of each key.
        assigned: the keys that came from the command line.

    >>> document = Document.parse("train:\\n  steps: 100\\n", "mine.yaml")
    >>> document.content, document.lines["train", "steps"]
    ({'train': {'steps': 100}}, 2)
    """

    name: str
    content: dict[str, Any]
    lines: dict[Where, int] = field(default_factory=dict)
    assigned: frozenset[Where] = frozenset()

    @staticmethod
    def read(path: Path) -> Document:
        """Read a file; what is not YAML, or not a mapping, is one sentence."""
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as problem:
            raise RecipeError(f"{path}: not UTF-8 text (byte {problem.start}); save it as UTF-8") from None
        except OSError as problem:
            raise RecipeError(f"{path}: cannot be read ({problem.strerror})") from None
        return Document.parse(text, str(path))

    @staticmethod
    def parse(text: str, name: str) -> Document:
        """From YAML text."""
        lines: dict[Where, int] = {}
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
            content = {} if root is None else _value(root, (), lines, name)
        except RecursionError:
            raise RecipeError(f"{name}: something in it holds itself; write it out") from None
        except yaml.YAMLError as problem:
            mark = getattr(problem, "problem_mark", None)
            line = f", line {mark.line + 1}" if mark is not None else ""
            what = getattr(problem, "problem", None) or "not YAML"
            raise RecipeError(f"{name}{line}: {what}") from None
        if not isinstance(content, dict):
            raise RecipeError(f"{name}: a recipe is a mapping of keys to values, not a {type(content).__name__}")
        return Document(name, content, lines)

    def overridden(self, assignments: list[str]) -> Document:
        """With `a.b=value` assignments from the command line; values are read as YAML.

        >>> Document.parse("train: {steps: 100}", "mine.yaml").overridden(["train.steps=7", "run=x"]).content
        {'train': {'steps': 7}, 'run': 'x'}
        """
        content, assigned = _copy(self.content), set(self.assigned)
        for assignment in assignments:
            key, equals, text = assignment.partition("=")
            if not equals or not key.strip():
                raise RecipeError(f"{assignment!r} is not an override; write key.subkey=value")
            keys = key.strip().split(".")
            _assign(content, keys, _literal(text, assignment), assignment)
            assigned.add(tuple(keys))
        return Document(self.name, content, self.lines, frozenset(assigned))

    def place(self, where: Where) -> str:
        """Where a key stands, for people: "mine.yaml, line 3", or "the command line"."""
        lengths = range(len(where), 0, -1)
        new = bool(where) and where not in self.lines and any(key[: len(where)] == where for key in self.assigned)
        if new or any(where[:length] in self.assigned for length in lengths):
            return "the command line"
        for length in lengths:
            if where[:length] in self.lines:
                return f"{self.name}, line {self.lines[where[:length]]}"
        return self.name


def _value(node: yaml.Node, where: Where, lines: dict[Where, int], name: str) -> Any:
    """The plain value of a YAML node; notes the line of every key on the way."""
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in (*_merged(node), *_own(node)):
            key = str(key_node.value)
            lines[(*where, key)] = key_node.start_mark.line + 1
            mapping[key] = _value(value_node, (*where, key), lines, name)
        _check_once(node, name)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[(*where, index)] = item.start_mark.line + 1
        return [_value(item, (*where, index), lines, name) for index, item in enumerate(node.value)]
    return _scalar(node)


def _own(node: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
    return [entry for entry in node.value if entry[0].tag != _MERGE]


def _merged(node: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
    """What `<<` puts there, to be overwritten by what stands there itself."""
    found = yaml.MappingNode(node.tag, [entry for entry in node.value if entry[0].tag == _MERGE])
    yaml.SafeLoader("").flatten_mapping(found)
    return list(found.value)


def _check_once(node: yaml.MappingNode, name: str) -> None:
    """No key stands twice."""
    first: dict[str, int] = {}
    for key_node, _ in _own(node):
        key, line = str(key_node.value), key_node.start_mark.line + 1
        if key in first:
            raise RecipeError(f"{name}, line {line}: {key!r} stands twice (first on line {first[key]})")
        first[key] = line


def _scalar(node: yaml.Node) -> Any:
    constructor = yaml.SafeLoader("")
    try:
        value = constructor.construct_object(node)
    finally:
        constructor.dispose()
    return _number(value)


def _number(value: Any) -> Any:
    """YAML 1.1 reads 1e-3 as text; people mean a number."""
    if isinstance(value, str):
        try:
            return (
                float(value)
                if value.strip() and value.strip()[0] in "+-.0123456789" and "e" in value.lower()
                else value
            )
        except ValueError:
            return value
    return value


def _literal(text: str, assignment: str) -> Any:
    if text in _MARKS:
        return text
    try:
        return Document.parse(f"value: {text}", "the command line").content["value"]
    except RecipeError:
        raise RecipeError(f"{assignment!r}: the value is not YAML; put it in quotes") from None


def _assign(content: dict[str, Any], keys: list[str], value: Any, assignment: str) -> None:
    *parents, last = keys
    for key in parents:
        content[key] = {} if content.get(key) is None else content[key]
        content = content[key]
        if not isinstance(content, dict):
            raise RecipeError(f"{assignment!r}: {key!r} holds a value, not keys")
    content[last] = value


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
