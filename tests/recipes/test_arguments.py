"""Keys of models and their parts are the arguments of constructors: names, types, ranges, defaults, sentences."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ValidationError

from regard.arguments import Bounds, Choice, InRecipe, NotInRecipe, PartKind, Share, Size, alternatives, checked, marker
from regard.models import AttendingDecoder, Copying, build
from regard.models.shapes_only import shapes_only
from regard.parts import PARTS, all_models, imported
from regard.recipes import plugins
from regard.recipes.argument_sections import section_of
from regard.recipes.errors import RecipeError
from regard.recipes.load import check
from regard.recipes.section import Section
from regard.recipes.source import class_source, entries
from regard.recipes.yaml_document import RecipeDocument

BROUGHT = (
    *("acceptor", "gat", "hierarchical", "lstmn_lm", "memory_network", "memory_transformer", "ntm", "pointer_lm"),
    *("rnn", "span_reader", "transducer"),
)
"""Models of systems whose sizes are numbers of ids or widths."""
PLACES = {**PARTS, "model": {**PARTS["model"], **{name: all_models()[name] for name in BROUGHT}}}
ALL = [(kind, name) for kind, names in PLACES.items() for name in names]
everything = pytest.mark.parametrize(("kind", "name"), ALL, ids=[f"{kind}-{name}" for kind, name in ALL])
GIVEN: dict[str, set[str]] = {"score": {"query_dim", "key_dim", "num_heads", "terms"}, "aligner": {"query_dim"}}
OPEN = {"hidden_dim", "max_length"}  # of a score, which the attention gives where the recipe does not


def section(kind: PartKind, name: str) -> type[Section]:
    return section_of(PLACES[kind][name], kind, name)


def stated(kind: PartKind, made: type) -> dict[str, tuple[Any, Any]]:
    """Key -> annotation and default, as Python itself sees the constructor."""
    parameters = {} if made.__init__ is object.__init__ else dict(inspect.signature(made.__init__).parameters)
    hints = typing.get_type_hints(made.__init__, include_extras=True)
    found: dict[str, tuple[Any, Any]] = {}
    for name, parameter in list(parameters.items())[1:]:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        hint, default = hints[name], parameter.default
        if name == "blocks":
            found |= fields(next(one for one in alternatives(hint) if dataclasses.is_dataclass(one)))
            continue
        choice = marker(hint, Choice)
        size = kind not in ("score", "aligner", "term") and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        if marker(hint, NotInRecipe) or name in GIVEN.get(kind, ()) or (size and choice is None and name != "encoder"):
            continue
        if kind == "score" and name in OPEN:
            hint, default = Size | None, None
        own = marker(hint, InRecipe)
        found[choice.key if choice and choice.key else name] = (hint, default if own is None else own.default)
    if issubclass(made, AttendingDecoder):
        found |= stated(kind, Copying)
    return found


def fields(record: Any) -> dict[str, tuple[Any, Any]]:
    hints = typing.get_type_hints(record, include_extras=True)
    return {
        one.name: (hints[one.name], one.default)
        for one in dataclasses.fields(record)
        if marker(hints[one.name], NotInRecipe) is None
    }


def plain(value: Any) -> Any:
    """A default as a constructor writes it: a section by what it was given."""
    if not isinstance(value, BaseModel):
        return value
    given = value.model_dump(exclude_unset=True)
    return next(iter(given.values())) if len(given) == 1 else given


def ranges(annotation: Any, metadata: Any = ()) -> set[str]:
    own = {str(Bounds.of(tuple(metadata)))} if Bounds.of(tuple(metadata)) != Bounds() else set()
    inner = [one for one in alternatives(annotation) if typing.get_origin(one) is Annotated]
    return own | {str(Bounds.of(one.__metadata__)) for one in inner}


def choices(annotation: Any) -> set[Any]:
    return {
        word for one in alternatives(annotation) if typing.get_origin(one) is Literal for word in typing.get_args(one)
    }


@everything
def test_keys_are_the_arguments(kind: PartKind, name: str) -> None:
    keys = dict(section(kind, name).model_fields)
    assert typing.get_args(keys.pop("name" if kind in ("score", "aligner", "term") else "kind").annotation) == (name,)
    arguments = stated(kind, imported(PLACES[kind][name]))
    assert set(keys) == set(arguments)
    for key, (hint, default) in arguments.items():
        if default is not inspect.Parameter.empty:
            assert plain(keys[key].get_default(call_default_factory=True)) == default, key
        if marker(hint, Choice) is None and not any(map(dataclasses.is_dataclass, alternatives(hint))):
            assert ranges(keys[key].annotation, keys[key].metadata) == ranges(hint), key
            assert choices(keys[key].annotation) == choices(hint), key


@everything
def test_every_key_has_a_sentence(kind: PartKind, name: str) -> None:
    missing = [key for key, field in section(kind, name).model_fields.items() if not field.description]
    assert missing == []


def test_every_field_of_a_record_has_a_sentence() -> None:
    places = (
        "regard.nn.cells:Cells",
        "regard.models.characters:CharacterConfig",
        "regard.models.attention_config:AttentionConfig",
    )
    for place in places:
        assert [one.name for one in class_source(place).arguments() if not one.sentence] == [], place


SIZES: dict[str, tuple[int, ...]] = {"bert": (11,), "span_reader": (11,), "memory_network": (11, 11)}
LANGUAGE_MODELS = ("char_rnn", "language_model", "lstmn_lm", "pointer_lm", "transformer_lm")
BESIDE: dict[tuple[str, str], dict[str, Any]] = {  # what other arguments a value needs
    ("bahdanau", "fertility_weight"): {"fertility": 3},
    ("acceptor", "attention_dim"): {"pooling": "attention"},
    ("transducer", "tag_scheme"): {"crf": True},
    ("bert", "next_sentence"): {"encoder": {"pooled": True}},
    ("language_model", "tied"): {"embedding_dim": 8, "hidden_dim": 8},
    ("pointer_lm", "tied"): {"embedding_dim": 8, "hidden_dim": 8},
    ("lstmn_lm", "tied"): {"embedding_dim": 8, "hidden_dim": 8},
    ("luong", "tied"): {"embedding_dim": 8, "hidden_dim": 8},
    ("lstmn", "tied"): {"embedding_dim": 8, "hidden_dim": 8},
}
VALUES: dict[str, Any] = {
    "attention": {"score": "concat", "hidden_dim": 4},
    "cells": {"kind": "elman", "num_layers": 2},
    "encoder": {"kind": "lstmn", "num_layers": 2},
    "model": {"kind": "luong"},
    "pruned": [3, 5],
    "score": "cosine",
    "shifts": 5,
    "epsilon": 1e-3,
    "negative_slope": 0.3,
}


def other(key: str, hint: Any, default: Any) -> Any:
    """A value of a key that is not its default."""
    if key in VALUES:
        return VALUES[key]
    words = [word for word in choices(hint) if word != default]
    if words:
        return sorted(words)[0]
    kinds = [one.__origin__ if typing.get_origin(one) is Annotated else one for one in alternatives(hint)]
    if bool in kinds:
        return not default
    if int in kinds:
        return 8 if default is None else default * 2
    return 0.25


PAIRS = [(name, key) for name in PLACES["model"] for key in section("model", name).model_fields if key != "kind"]


@pytest.mark.parametrize(("name", "key"), PAIRS)
def test_each_key_reaches_the_constructor(name: str, key: str) -> None:
    hint, default = stated("model", imported(PLACES["model"][name]))[key]
    value = {"num_layers": 3, "pooled": True} if (name, key) == ("bert", "encoder") else other(key, hint, default)
    given = {**BESIDE.get((name, key), {}), key: value}
    read = section("model", name).model_validate({"kind": name, **given})
    assert read.model_fields_set == {"kind", *given}
    sizes = SIZES.get(name, (11,) if name in LANGUAGE_MODELS else (11, 13))
    if value == "all":  # one vocabulary
        sizes = (11, 11)
    with shapes_only():
        build(name, *sizes, **read.arguments())  # type: ignore[attr-defined]


NEW = '''
from typing import Literal

from regard.arguments import NotInRecipe, Share, Size, checked
from regard.constraints import two_directions
from regard.nn import Cells
import torch

Mode = Literal["fast", "exact"]

class Base(torch.nn.Module):
    """A base.

    Args:
        width: width of
            everything.
        depth, drop: two
            things.
    """
    @checked(two_directions)
    def __init__(self, size: int, *, width: Size = 3, depth: Size | None = None, drop: Share = 0.5, mode: Mode = "fast",
                 cells: Cells | str = "gru", hook: torch.Tensor | None = None): ...

class Net(Base):
    """A network.

    Args:
        mode: which one.
        cells: of the layers.
    """
'''


def test_a_class_outside_the_package_is_read_without_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_nets").mkdir()
    (tmp_path / "some_nets" / "net.py").write_text(NEW)
    monkeypatch.syspath_prepend(str(tmp_path))
    made = section_of("some_nets.net:Net", "model", "net")
    assert list(made.model_fields) == ["kind", "width", "depth", "drop", "mode", "cells"]
    assert {name: field.description for name, field in made.model_fields.items()} == {
        "kind": "Selects this model.",
        "width": "Width of everything.",
        "depth": "Two things.",
        "drop": "Two things.",
        "mode": "Which one.",
        "cells": "Of the layers.",
    }
    read = made.model_validate({"kind": "net", "cells": "lstm", "mode": "exact"})
    assert read.model_dump(exclude_unset=True) == {"kind": "net", "cells": {"kind": "lstm"}, "mode": "exact"}
    for wrong in ({"width": 0}, {"drop": 1.0}, {"mode": "slow"}, {"hook": 1}, {"cells": {"num_layers": 0}}):
        with pytest.raises(ValidationError):
            made.model_validate({"kind": "net", **wrong})


def test_calls_are_held_to_the_annotations() -> None:
    class Net:
        @checked()
        def __init__(self, size: Size, mode: Literal["a", "b"] = "a", *, drop: Share | None = None) -> None: ...

    Net(2, drop=0.5)
    Net(2, "b")
    for arguments, part in (
        ({"size": 0}, "Net: size must be at least 1; got 0"),
        ({"size": True}, "Net: size must be a whole number; got True"),
        ({"size": 1, "mode": "c"}, "Net: mode must be one of 'a', 'b'; got 'c'"),
        ({"size": 1, "drop": 1.0}, r"Net: drop must lie in \[0, 1\); got 1.0"),
        ({"size": 1, "drop": float("nan")}, "Net: drop must lie in"),
    ):
        with pytest.raises(ValueError, match=part):
            Net(**arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'size'"):
        Net()  # type: ignore[call-arg]


def test_entries_of_several_paragraphs() -> None:
    text = "A.\n\nArgs:\n    one: first\n        line.\n    two, three: the others: both.\n\nMore: not one.\n"
    assert entries(text) == {"one": "First line.", "two": "The others: both.", "three": "The others: both."}


OWN = """
from regard.recipes.system import System
from regard.systems.translation.sections import DigitsData

SYSTEM = System(name="own", task="own_system:Task", data=(DigitsData,), models={"net": "own_nets:Net"})
"""
RECIPE = """\
plugins: [own_system]
task: own
data: {format: digits}
model:
  kind: net
  width: 5
train: {steps: 1}
"""


def test_a_model_of_a_plugin_has_keys_like_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_system.py").write_text(OWN)
    (tmp_path / "own_nets.py").write_text(NEW)
    path = tmp_path / "own.yaml"
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_imported", {})
    path.write_text(RECIPE)
    assert check(RecipeDocument.read(path), model=False).recipe.model.arguments() == {"width": 5}
    for line, parts in (
        ("  widht: 5", ("line 6", "no key 'model.widht'", "did you mean width?")),
        ("  width: 0", ("line 6", "model.width is 0", "greater than or equal to 1")),
        ("  mode: slow", ("line 6", "model.mode is 'slow'", "fast, exact")),
        ("  cells: {num_layer: 2}", ("line 6", "no key 'model.cells.num_layer'", "did you mean num_layers?")),
    ):
        path.write_text(RECIPE.replace("  width: 5", line))
        with pytest.raises(RecipeError) as problem:
            check(RecipeDocument.read(path), model=False)
        assert all(part in str(problem.value) for part in parts), str(problem.value)
    assert "own_nets" not in sys.modules
    del sys.modules["own_system"]
