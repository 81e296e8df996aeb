"""Conversion of YAML text to plain values, with line numbers and size limits; durations such as `5m`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from regard.data.formats.encodings import lone_surrogate
from regard.data.problems import shortened
from regard.recipes.errors import RecipeError

Where = tuple[str | int, ...]
"""Path of keys to a value: `("train", "steps")`."""

MOST_VALUES = 100_000
"""Maximum number of values in a document; values behind an alias count once per use."""
DEEPEST = 100
"""Maximum nesting depth of a document."""

_BITS = 1024  # maximum size of an integer; Python does not print integers of more than 4,300 digits
_MERGE = "tag:yaml.org,2002:merge"
_KINDS = {"timestamp": "a date", "int": "a whole number", "float": "a number", "bool": "true or false"}
UNBUILDABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of PyYAML's constructors for invalid scalars in the form of a date or number."""


def read_values(text: str, name: str, lines: dict[Where, int]) -> Any:
    """Return the plain value of YAML text.

    Args:
        text: the document.
        name: origin of the text, for messages.
        lines: receives the line number of each key and list item.

    Raises:
        RecipeError: the text is not YAML, or exceeds a limit.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError:
        raise RecipeError(f"{name}: it is nested more than {DEEPEST} levels deep; write it flatter") from None
    except yaml.reader.ReaderError as problem:
        character = f"U+{problem.character:04X}"
        line = text.count("\n", 0, problem.position) + 1
        raise RecipeError(f"{name}, line {line}: the character {character} is not allowed; remove it") from None
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line_of = f", line {mark.line + 1}" if mark is not None else ""
        raise RecipeError(f"{name}{line_of}: {getattr(problem, 'problem', None) or 'not YAML'}") from None
    return {} if root is None else _Builder(name, lines).value(root, ())


class _Builder:
    """Converter of composed nodes to plain values.

    An alias is composed as a reference to the same node, so a document of 1 KB can expand to more values than fit into
    memory. The limits are therefore checked while the values are built.
    """

    def __init__(self, name: str, lines: dict[Where, int]) -> None:
        self._name, self._lines = name, lines
        self._count = 0
        self._open: set[int] = set()

    def value(self, node: yaml.Node, where: Where) -> Any:
        """Return the plain value of a node, and record the lines of its keys."""
        self._counted(node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if len(where) >= DEEPEST:
            raise self._wrong(node, f"this is nested more than {DEEPEST} levels deep; write it flatter")
        self._enter(node)
        if isinstance(node, yaml.MappingNode):
            built: Any = self._mapping(node, where)
        else:
            built = []
            for index, item in enumerate(node.value):
                # PyYAML counts lines from 0.
                self._lines[(*where, index)] = item.start_mark.line + 1
                built.append(self.value(item, (*where, index)))
        self._open.remove(id(node))
        return built

    def _mapping(self, node: yaml.MappingNode, where: Where) -> dict[str, Any]:
        self._check_once(node)
        mapping: dict[str, Any] = {}
        for key, key_node, value_node in self._entries(node):
            self._lines[(*where, key)] = key_node.start_mark.line + 1
            mapping[key] = self.value(value_node, (*where, key))
        return mapping

    def _entries(self, node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        """Yield the entries of a mapping, those behind `<<` first; a later entry replaces an earlier one."""
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                yield from self._merged(value_node)
        for key_node, value_node in node.value:
            if key_node.tag != _MERGE:
                yield self._key(key_node), key_node, value_node

    def _merged(self, node: yaml.Node) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        """Yield the entries that `<<` merges, from one mapping or several; the first mapping takes precedence."""
        self._counted(node)
        mappings = list(reversed(node.value)) if isinstance(node, yaml.SequenceNode) else [node]
        for mapping in mappings:
            if not isinstance(mapping, yaml.MappingNode):
                raise self._wrong(mapping, "'<<' takes a mapping, or a list of mappings")
            self._enter(mapping)
            for entry in self._entries(mapping):
                self._counted(node)
                yield entry
            self._open.remove(id(mapping))

    def _check_once(self, node: yaml.MappingNode) -> None:
        """Reject duplicate keys."""
        first: dict[str, int] = {}
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key, line = self._key(key_node), key_node.start_mark.line + 1
            if key in first:
                raise self._wrong(key_node, f"{shortened(key)!r} stands twice (first on line {first[key]})")
            first[key] = line

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong(node, "a key is a word, not a list or a mapping")
        return str(node.value)

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        try:
            value = _number(yaml.constructor.SafeConstructor().construct_object(node))
        except yaml.YAMLError as problem:
            raise self._wrong(node, str(getattr(problem, "problem", None) or problem)) from None
        except UNBUILDABLE:
            kind = _KINDS.get(node.tag.rpartition(":")[2], "something else")
            if len(node.value) > _BITS:
                raise self._wrong(node, f"{shortened(node.value)} is too long for {kind}") from None
            raise self._wrong(
                node, f"{shortened(node.value)!r} reads as {kind} and is none; put it in quotes"
            ) from None
        if isinstance(value, int) and value.bit_length() > _BITS:
            raise self._wrong(node, f"{shortened(node.value)} has more than {_BITS:,} bits; use a smaller number")
        if isinstance(value, str) and lone_surrogate(value) is not None:
            raise self._wrong(
                node, f"{shortened(node.value)!r} has half of a surrogate pair, which is not a character; remove it"
            )
        return value

    def _counted(self, node: yaml.Node) -> None:
        self._count += 1
        if self._count > MOST_VALUES:
            raise self._wrong(
                node, f"with all aliases written out there are more than {MOST_VALUES:,} values; use fewer aliases"
            )

    def _enter(self, node: yaml.Node) -> None:
        if id(node) in self._open:
            raise self._wrong(node, "something in it holds itself; write it out")
        self._open.add(id(node))

    def _wrong(self, node: yaml.Node, why: str) -> RecipeError:
        return RecipeError(f"{self._name}, line {node.start_mark.line + 1}: {why}")


def _number(value: Any) -> Any:
    """Convert text such as `1e-3`, which YAML 1.1 does not treat as a number, to a number."""
    if not isinstance(value, str) or "e" not in value.lower() or value.strip()[:1] not in tuple("+-.0123456789"):
        return value
    try:
        return float(value)
    except ValueError:
        return value


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Return the seconds of a duration such as `90s`, `5m` or `1.5h`.

    Raises:
        ValueError: the text is not a duration, or the duration is 0.

    >>> seconds("90s"), seconds("5m"), seconds("1.5h")
    (90.0, 300.0, 5400.0)
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smh])", text, re.ASCII)
    if found is None or float(found[1]) == 0:
        raise ValueError(f"{text[:40]!r} is not a time; write 90s, 5m or 1h")
    return float(found[1]) * _UNITS[found[2]]
