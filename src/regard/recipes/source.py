"""Static analysis of Python source files: classes, constructors, argument types and docstrings, without imports."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.machinery import PathFinder
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar, NamedTuple, TypeGuard, get_origin

_LIGHT = frozenset(sys.stdlib_module_names) | {"regard.arguments", "regard.constraints", "annotated_types", "pydantic"}
"""Modules that annotations, defaults and rules may refer to; they are imported, and do not need PyTorch."""
_ENTRY = re.compile(r"^    (\*{0,2}\w[\w*, ]*): *(\S.*(?:\n(?: {5,}.*)?)*)", re.MULTILINE)


class Argument(NamedTuple):
    """Argument of a constructor, or field of a dataclass.

    Attributes:
        name: name of the argument.
        annotation: type of the argument; classes that were not imported are subclasses of `Unimported`. `Unknown`
            without an annotation, or with one of an unknown package.
        default: default value; `...` if it has none.
        positional: True if it can be passed by position.
        sentence: description in the docstring; empty if it has none.
    """

    name: str
    annotation: Any
    default: Any
    positional: bool
    sentence: str


class _Meta(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unknown


class Unknown(metaclass=_Meta):
    """Placeholder for an object that is unknown without an import."""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


class Unimported(Unknown):
    """Base of placeholders for classes of source files in annotations."""

    source: ClassSource


class ClassSource:
    """Class definition in a source file.

    Attributes:
        module: module that defines it.
        name: name of the class.
    """

    def __init__(self, module: ModuleSource, node: ast.ClassDef) -> None:
        self.module = module
        self.name = node.name
        self._node = node

    @property
    def place(self) -> str:
        """The class as "module:Class"."""
        return f"{self.module.name}:{self.name}"

    @property
    def label(self) -> str:
        """The first line of its docstring."""
        return (ast.get_docstring(self._node) or self.name).partition("\n")[0]

    @property
    def is_record(self) -> bool:
        """True if it is a dataclass."""
        return any(self._decorator(one) == "dataclass" for one in self._node.decorator_list)

    def ancestry(self) -> Iterator[ClassSource]:
        """Yield the class and its base classes, as far as their sources are known."""
        yield self
        for base in self._node.bases:
            found = self.module.evaluate(base)
            if isinstance(found, type) and issubclass(found, Unimported):
                yield from found.source.ancestry()

    def arguments(self) -> list[Argument]:
        """Return the arguments of its constructor, or the fields of a dataclass."""
        sentences = self.sentences()
        if self.is_record:
            return [one._replace(sentence=sentences.get(one.name, "")) for one in self._fields()]
        for owner in self.ancestry():
            if (made := owner._constructor()) is not None:
                return [one._replace(sentence=sentences.get(one.name, "")) for one in owner._parameters(made)]
        return []

    def sentences(self) -> dict[str, str]:
        """Return the descriptions of its arguments and attributes: entries of docstrings, and strings below fields."""
        found: dict[str, str] = {}
        for owner in reversed(list(self.ancestry())):
            found |= entries(ast.get_docstring(owner._node) or "")
            for one, below in pairwise(owner._node.body):
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and _is_text(below):
                    found[one.target.id] = " ".join(ast.literal_eval(below.value).split())
        return found

    def rules(self) -> tuple[Any, ...]:
        """Return the rules between its arguments, from `@checked(...)` above the constructor or the dataclass."""
        for owner in self.ancestry():
            made = owner._constructor()
            decorated = made.decorator_list if made is not None else owner._node.decorator_list
            own = [one for one in decorated if isinstance(one, ast.Call) and self._decorator(one) == "checked"]
            if own or made is not None:
                found = [owner.module.evaluate(rule) for one in own for rule in one.args]
                return tuple(rule for rule in found if callable(rule) and not isinstance(rule, type))
        return ()

    def _constructor(self) -> ast.FunctionDef | None:
        made = [one for one in self._node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        return made[0] if made else None

    def _parameters(self, made: ast.FunctionDef) -> Iterator[Argument]:
        placed = [*made.args.posonlyargs, *made.args.args][1:]
        defaults = [*([None] * (len(placed) - len(made.args.defaults))), *made.args.defaults[-len(placed) or None :]]
        for one, default in zip(placed, defaults, strict=True):
            yield self._argument(one.arg, one.annotation, default, positional=True)
        for one, default in zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True):
            yield self._argument(one.arg, one.annotation, default, positional=False)

    def _fields(self) -> list[Argument]:
        found: dict[str, Argument] = {}
        for owner in reversed([one for one in self.ancestry() if one.is_record]):
            for one in owner._node.body:
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                    name = one.target.id
                    field = owner._argument(name, one.annotation, one.value, positional=False)
                    if ClassVar not in (field.annotation, get_origin(field.annotation)):
                        found[name] = _with_default(field)
        return [one for one in found.values() if not isinstance(one.default, dataclasses.Field)]

    def _argument(
        self, name: str, annotation: ast.expr | None, default: ast.expr | None, *, positional: bool
    ) -> Argument:
        hint = Any if annotation is None else self.module.evaluate(annotation)
        return Argument(name, hint, ... if default is None else self.module.evaluate(default), positional, "")

    @staticmethod
    def _decorator(node: ast.expr) -> str:
        called = node.func if isinstance(node, ast.Call) else node
        return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


class ModuleSource:
    """Source file of a module.

    Attributes:
        name: name of the module.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self._definitions: dict[str, ast.ClassDef | ast.expr] = {}
        self._functions: dict[str, ast.FunctionDef] = {}
        self._imports: dict[str, tuple[str, str | None]] = {}
        self._known: dict[str, Any] = {}
        self._collect(ast.parse(path.read_bytes(), str(path)).body)

    def class_source(self, name: str) -> ClassSource | None:
        """Return a class that the module defines or imports; None if there is none of this name."""
        found = self.resolve(name)
        return found.source if isinstance(found, type) and issubclass(found, Unimported) else None

    def label(self, function: str) -> str:
        """Return the first line of a function's docstring; empty if it has none."""
        found = self._functions.get(function)
        return (ast.get_docstring(found) or "").partition("\n")[0] if found is not None else ""

    def keyword(self, name: str, key: str) -> Any:
        """Return a keyword argument of the call that is assigned to a name; None if the call does not have it."""
        made = self._definitions.get(name)
        given = made.keywords if isinstance(made, ast.Call) else ()
        return next((self.evaluate(one.value) for one in given if one.arg == key), None)

    def evaluate(self, node: ast.expr) -> Any:
        """Return the value of an annotation, a default or a rule; `Unknown` if it depends on unknown packages."""
        code: CodeType = compile(ast.Expression(node), self.name, "eval")
        try:
            return eval(code, {}, _Names(self))  # only expressions of names, types and literals
        except (NameError, TypeError, AttributeError):
            return Unknown

    def resolve(self, name: str) -> Any:
        """Return the object that a name refers to.

        Raises:
            KeyError: the module does not define it.
        """
        if name not in self._known:
            self._known[name] = Unknown  # breaks cycles, because a definition may refer to itself
            self._known[name] = self._resolved(name)
        return self._known[name]

    def _resolved(self, name: str) -> Any:
        if name in self._definitions:
            node = self._definitions[name]
            if isinstance(node, ast.ClassDef):
                return type(name, (Unimported,), {"source": ClassSource(self, node)})
            return self.evaluate(node)
        if name not in self._imports:
            del self._known[name]
            raise KeyError(name)
        module, inner = self._imports[name]
        if module in _LIGHT or module.partition(".")[0] in sys.stdlib_module_names:
            found = importlib.import_module(module)
            return found if inner is None else getattr(found, inner)
        if inner is None or module.partition(".")[0] not in ("regard", self.name.partition(".")[0]):
            return Unknown
        other = module_source(module)
        try:
            return Unknown if other is None else other.resolve(inner)
        except KeyError:
            return Unknown

    def _collect(self, body: list[ast.stmt]) -> None:
        for one in body:
            if isinstance(one, ast.ClassDef):
                self._definitions[one.name] = one
            elif isinstance(one, ast.FunctionDef):
                self._functions[one.name] = one
            elif isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
                self._definitions[one.targets[0].id] = one.value
            elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and one.value is not None:
                self._definitions[one.target.id] = one.value
            elif isinstance(one, ast.Import):
                self._imports |= {
                    alias.asname or alias.name.partition(".")[0]: (alias.name, None) for alias in one.names
                }
            elif isinstance(one, ast.ImportFrom):
                parents = self._package.split(".")
                above = parents[: len(parents) - one.level + 1] if one.level else []
                module = ".".join([*above, *([one.module] if one.module else [])])
                self._imports |= {alias.asname or alias.name: (module, alias.name) for alias in one.names}
            elif isinstance(one, ast.If):
                self._collect(one.body)


class _Names(dict[str, Any]):
    """Namespace of a module, whose names are resolved on access."""

    def __init__(self, module: ModuleSource) -> None:
        super().__init__()
        self._module = module

    def __missing__(self, name: str) -> Any:
        return self._module.resolve(name)


def class_source(place: str) -> ClassSource:
    """Return the source of a class, "module:Class".

    Raises:
        ValueError: the file or the class in it does not exist.
    """
    name, _, inner = place.partition(":")
    module = module_source(name)
    try:
        found = None if module is None else module.class_source(inner)
    except KeyError:
        found = None
    if found is None:
        raise ValueError(f"there is no class {inner} in the source of {name}")
    return found


def module_source(name: str) -> ModuleSource | None:
    """Return the source of a module; None if it has no source file."""
    loaded = getattr(sys.modules.get(name), "__file__", None)
    path = Path(loaded) if loaded else _located(name)
    if path is None or path.suffix != ".py" or not path.is_file():
        return None
    state = path.stat()
    return _parsed(name, path, (state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=512)
def _parsed(name: str, path: Path, stamp: tuple[int, int]) -> ModuleSource:
    return ModuleSource(name, path)


def _located(name: str) -> Path | None:
    """Return the file of a module, without importing its packages."""
    places: list[str] | None = None
    top, *inner = name.split(".")
    loaded = getattr(sys.modules.get(top), "__path__", None)
    if loaded is not None and inner:
        file = Path(next(iter(loaded)), *inner)
        ways = (file.with_suffix(".py"), file / "__init__.py")
        return next((way for way in ways if way.is_file()), None)
    spec = None
    for part in (top, *inner):
        spec = PathFinder.find_spec(part, places)
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ())
    return Path(spec.origin) if spec is not None and spec.origin else None


def _with_default(argument: Argument) -> Argument:
    """Return a dataclass field with the default of `field(...)`; a field with `init=False` keeps its `Field`."""
    given = argument.default
    if not isinstance(given, dataclasses.Field) or not given.init:
        return argument
    if given.default_factory is not dataclasses.MISSING:
        return argument._replace(default=given.default_factory())
    return argument._replace(default=... if given.default is dataclasses.MISSING else given.default)


def _is_text(node: ast.stmt) -> TypeGuard[ast.Expr]:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def entries(docstring: str) -> dict[str, str]:
    """Return the description of each argument and attribute in a docstring, by name.

    >>> entries("A window.\\n\\nArgs:\\n    size, reach: number of keys,\\n        at least one.\\n")
    {'size': 'Number of keys, at least one.', 'reach': 'Number of keys, at least one.'}
    """
    found: dict[str, str] = {}
    for listed in re.findall(r"^(?:Args|Attributes):\n(.*?)(?:\n\n|\Z)", docstring, re.MULTILINE | re.DOTALL):
        for names, sentence in _ENTRY.findall(listed):
            words = " ".join(sentence.split())
            found |= dict.fromkeys(names.split(", "), f"{words[:1].upper()}{words[1:]}")
    return found
