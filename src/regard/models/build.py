"""Models from plain values, as a recipe gives them."""

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
        kind: a shared model or one that a system brings (`regard.parts.all_models`).
        source_size: number of source words; of words of a language model; width of an input of a machine, and of the
            features of a node.
        target_size: number of target words, of classes of an acceptor, of tags of a transducer. Language models, BERT
            and readers of spans have none.
        arguments: of the model, as a recipe gives them: `regard recipes --reference model.KIND` prints them. `encoder`
            may also be a module that returns `Encoded`.

    Raises:
        ValueError: an unknown name, with the nearest known one; values that do not fit.

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
    """Return the class of a model that a system brings, for `from regard.models import NAME`.

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
    """Return a model of a class, with arguments as plain values.

    Its constructor takes the sizes first: an `encoder`, which is made of the size of the source, or that size itself;
    then the size of the target, if it has one. A class with a method `of_sizes` makes itself of both sizes and the
    arguments.

    Args:
        kind: its name in recipes, for messages.
        made: its class.
        source_size, target_size: as of `build`.
        arguments: all others.
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
    """Return an instance of a class: names checked, parts made, the fields of `blocks` taken from beside the others."""
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
    """Return a plain value as the constructor takes it."""
    record = _record_of(hint)
    if record is not None and value is not None:
        first = _fields(record)[0]
        options = {first: value} if isinstance(value, str) else mapping(name, value)
        return _record(name, record, ({first: default} if isinstance(default, str) else {}) | options)
    by_name = marker(hint, Choice) is None or str in alternatives(hint)
    return value if value is None or by_name else _score_of_heads(value)


def _record(what: str, made: type[Any], options: Mapping[str, Any]) -> Any:
    """Return a record of plain values; those that the data decide are among them."""
    fields = [field.name for field in dataclasses.fields(made)]
    for option in options:
        if option not in fields:
            raise ValueError(unknown_name(f"argument of {what} called", option, fields))
    hints = typing.get_type_hints(made, include_extras=True)
    plain = {name: _part(name, value, hints[name], None) for name, value in options.items()}
    return made(**plain)


def _score_of_heads(spec: str | Mapping[str, Any]) -> Callable[[int, int], Any]:
    """The score of a Transformer's attention: (C, H) -> score, each head C / H wide inside."""

    def score(dim: int, num_heads: int) -> Any:
        return AttentionConfig(score=spec, hidden_dim=dim // num_heads).make_score(dim, dim, num_heads=num_heads)

    return score


def _encoder_or_size(made: type[nn.Module], size: int, options: Any) -> nn.Module | int:
    """The encoder of a model; or the size of the source, for an encoder-decoder that builds its own."""
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
    """The fields of a record that recipes give."""
    hints = typing.get_type_hints(record, include_extras=True)
    own = [field.name for field in dataclasses.fields(record)]
    return [name for name in own if marker(hints[name], NotInRecipe) is None]


def _record_of(hint: Any) -> Any:
    """The dataclass among the alternatives of an argument; None if there is none."""
    return next((one for one in alternatives(hint) if dataclasses.is_dataclass(one)), None)
