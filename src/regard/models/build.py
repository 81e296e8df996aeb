"""Construction of models from the plain values of a recipe."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from regard.arguments import Choice, InRecipe, NotInRecipe, alternatives, marker
from regard.models.attention_config import AttentionConfig, mapping, unknown_name
from regard.models.bert import Bert
from regard.models.copying import Copying
from regard.models.generator import AttendingDecoder, EncoderDecoder
from regard.parts import Classes, all_models, imported

ENCODERS: Mapping[str, type[nn.Module]] = Classes("encoder")
ENCODER_DECODERS: Mapping[str, type[nn.Module]] = Classes("encoder_decoder")
COPYING = ("copy", "coverage")
"""Keys of every model that attends to its source, which are arguments of `Copying`."""


def build(kind: str, source_size: int, target_size: int | None = None, **arguments: Any) -> nn.Module:
    """Build a model by name, from plain values.

    Args:
        kind: name of a shared model or of one defined by a system (`regard.parts.all_models`).
        source_size: size of the source vocabulary, or of the vocabulary of a language model; width of the inputs of an
            NTM, or of the features of a node.
        target_size: size of the target vocabulary, number of classes of an acceptor or of tags of a transducer.
            Language models, BERT and span readers have none.
        arguments: arguments of the model as in a recipe; `regard recipes --reference model.KIND` prints them. `encoder`
            may also be a module that returns `Encoded`.

    Raises:
        ValueError: a name is unknown (the message suggests the nearest known one), or a value does not fit.

    >>> model = build("luong", 11, 13, hidden_dim=6, attention={"score": "dot", "align": "local_p"}, cells="gru")
    >>> type(model).__name__, type(model.attention.align).__name__
    ('Luong', 'LocalP')
    >>> build("luong", 11, 13, atention="dot")
    Traceback (most recent call last):
    ValueError: there is no argument of the model 'luong' called 'atention' (did you mean 'attention'?); there are: ...
    """
    places = all_models()
    if kind not in places:
        raise ValueError(unknown_name("model", kind, sorted(places)))
    return construct(kind, imported(places[kind]), source_size, target_size, arguments)


def system_model(name: str) -> Any:
    """Return the class of a model defined by a system, for `from regard.models import NAME`.

    Raises:
        AttributeError: no system has a model of this name.

    >>> import regard.models
    >>> regard.models.NTM.__module__
    'regard.systems.bits.ntm'
    """
    for place in () if name.startswith("_") else all_models().values():
        if place.partition(":")[2] == name and not place.startswith("regard.models"):
            return imported(place)
    raise AttributeError(f"module 'regard.models' has no attribute {name!r}")


def construct(
    kind: str, made: type[nn.Module], source_size: int, target_size: int | None, arguments: Mapping[str, Any]
) -> nn.Module:
    """Construct a model of a class from plain values.

    The constructor takes the sizes first: an `encoder`, built for the source size, or that size itself; then the target
    size, if the model has one. A class with a method `of_sizes` is constructed by it, from both sizes and the
    arguments.

    Args:
        kind: name of the model in recipes, for error messages.
        made: class of the model.
        source_size, target_size: as in `build`.
        arguments: all other arguments.
    """
    if (of_sizes := getattr(made, "of_sizes", None)) is not None:
        composed: nn.Module = of_sizes(source_size, _needed(kind, target_size), arguments)
        return composed
    if issubclass(made, AttendingDecoder):
        rest, options = dict(arguments), {name: arguments[name] for name in COPYING if arguments.get(name)}
        model = _constructed(kind, made, source_size, target_size, {k: rest[k] for k in rest if k not in COPYING})
        return Copying(model, **options) if options else model  # type: ignore[arg-type]  # a decoder, of its class
    return _constructed(kind, made, source_size, target_size, arguments)


def _constructed(
    kind: str, made: type[nn.Module], source_size: int, target_size: int | None, arguments: Mapping[str, Any]
) -> nn.Module:
    given, sizes = dict(arguments), list[object]()
    first = [
        name
        for name, parameter in _parameters(made).items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is parameter.empty
    ]
    for place, name in enumerate(first):
        if name == "encoder":
            sizes.append(_encoder_or_size(made, source_size, given.pop("encoder", None)))
        else:
            sizes.append(source_size if place == 0 else _needed(kind, target_size))
    if target_size is not None and len(first) < 2:
        raise ValueError(f"the model {kind!r} needs no target_size; got {target_size}")
    return _made(f"model {kind!r}", made, tuple(sizes), given)


def _needed(kind: str, target_size: int | None) -> int:
    if target_size is None:
        raise ValueError(f"the model {kind!r} needs a target_size; got None")
    return target_size


def _made(what: str, made: type[nn.Module], sizes: tuple[object, ...], arguments: Mapping[str, Any]) -> nn.Module:
    """Construct an instance: check names, build its parts, and collect fields of `blocks` from the arguments."""
    hints = typing.get_type_hints(made.__init__, include_extras=True)
    given, ready = dict(arguments), dict[str, Any]()
    parameters = dict(list(_parameters(made).items())[len(sizes) :])
    blocks = _record_of(hints["blocks"]) if "blocks" in parameters else None
    beside = [] if blocks is None else _fields(blocks)
    known = [name for name in parameters if name != "blocks"] + beside
    for name in given:
        if name not in known:
            raise ValueError(unknown_name(f"argument of the {what} called", name, known))
    if blocks is not None:
        ready["blocks"] = _record(what, blocks, {name: given.pop(name) for name in beside if name in given})
    for name, parameter in parameters.items():
        stated = marker(hints[name], InRecipe)
        if name in given:
            ready[name] = _part(name, given[name], hints[name], parameter.default)
        elif stated is not None and stated.default is not None:
            ready[name] = stated.default
    return made(*sizes, **ready)


def _part(name: str, value: Any, hint: Any, default: Any) -> Any:
    """Convert a plain value to the type that the constructor expects."""
    record = _record_of(hint)
    if record is not None and value is not None:
        first = _fields(record)[0]
        options = {first: value} if isinstance(value, str) else mapping(name, value)
        return _record(name, record, ({first: default} if isinstance(default, str) else {}) | options)
    by_name = marker(hint, Choice) is None or str in alternatives(hint)
    return value if value is None or by_name else _score_of_heads(value)


def _record(what: str, made: type[Any], options: Mapping[str, Any]) -> Any:
    """Construct a dataclass from plain values, including those determined by the data."""
    fields = [field.name for field in dataclasses.fields(made)]
    for option in options:
        if option not in fields:
            raise ValueError(unknown_name(f"argument of {what} called", option, fields))
    hints = typing.get_type_hints(made, include_extras=True)
    plain = {name: _part(name, value, hints[name], None) for name, value in options.items()}
    return made(**plain)


def _score_of_heads(spec: str | Mapping[str, Any]) -> Callable[[int, int], Any]:
    """Return the factory of a Transformer's score: (C, H) -> score with heads of width C / H."""

    def score(dim: int, num_heads: int) -> Any:
        return AttentionConfig(score=spec, hidden_dim=dim // num_heads).make_score(dim, dim, num_heads=num_heads)

    return score


def _encoder_or_size(made: type[nn.Module], size: int, options: Any) -> nn.Module | int:
    """Return the encoder of a model, or the source size for an encoder-decoder that builds its own."""
    if isinstance(options, nn.Module):
        return options
    if options is None and issubclass(made, EncoderDecoder):
        return size
    plain = mapping("encoder", {} if options is None else options)
    return _encoder(size, {"kind": "bert"} | plain if made is Bert else plain)


def _encoder(size: int, options: Mapping[str, Any]) -> nn.Module:
    arguments = dict(options)
    kind = str(arguments.pop("kind", "rnn"))
    if kind not in ENCODERS:
        raise ValueError(unknown_name("encoder", kind, ENCODERS))
    return _made(f"encoder {kind!r}", ENCODERS[kind], (size,), arguments)


def _parameters(made: type[Any]) -> dict[str, inspect.Parameter]:
    return dict(list(inspect.signature(made.__init__).parameters.items())[1:])


def _fields(record: type[Any]) -> list[str]:
    """Return the fields of a dataclass that a recipe can set."""
    hints = typing.get_type_hints(record, include_extras=True)
    own = [field.name for field in dataclasses.fields(record)]
    return [name for name in own if marker(hints[name], NotInRecipe) is None]


def _record_of(hint: Any) -> Any:
    """Return the dataclass among the alternatives of a type hint; None if there is none."""
    return next((one for one in alternatives(hint) if dataclasses.is_dataclass(one)), None)
