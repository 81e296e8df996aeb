"""Models from plain values, as a recipe gives them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any, get_type_hints

from torch import nn

from regard.constraints import encoder_is_own
from regard.models import registry
from regard.models.attending import Attending, nearest
from regard.models.bidirectional import Bidirectional
from regard.models.char_rnn import CharRNN
from regard.models.characters import Characters
from regard.models.config_values import check_values, mapping
from regard.models.generator import EncoderDecoder
from regard.nn.cells import KINDS as CELLS
from regard.nn.cells import Cells
from regard.nn.transformer_layer import Blocks

MODELS = registry.models()
ENCODERS = registry.encoders()
ENCODER_DECODERS = {kind: made for kind, made in MODELS.items() if issubclass(made, EncoderDecoder)}
KINDS = (*MODELS,)

_OF_A_SCORE = frozenset(("score", "hidden_dim", "terms", "max_length"))


def build(kind: str, source_size: int, target_size: int | None = None, **arguments: Any) -> nn.Module:
    """A model by name, with plain arguments.

    Args:
        kind: one of `KINDS`.
        source_size: number of source words; of a language model, number of words; of a machine, the width of an input;
            of a network on a graph, the width of a node's features.
        target_size: number of target words; of an acceptor number of classes, of a transducer number of tags. A
            language model has none, nor has BERT, nor a reader of spans.
        arguments: the model's own, as plain values: `cells` is a name or a mapping of `Cells`, `characters` of
            `Characters`; `attention` the name of
            a score or a mapping of `Attending`; the fields of `Blocks` stand beside a Transformer's other arguments;
            `encoder` is a mapping with `kind`, one of `ENCODERS`, and its arguments, or a module that returns
            `Encoded`; without it an encoder-decoder builds its own, and other models take recurrent layers; that of
            BERT is a BERT; `model` of `"bidirectional"` is a mapping with `kind` and arguments, for both directions.

    Raises:
        ValueError: a name or an argument that does not exist, with the nearest that does; sizes that do not fit.

    >>> model = build("luong", 11, 13, hidden_dim=6, attention={"score": "dot", "align": "local_p"}, cells="gru")
    >>> type(model).__name__, type(model.attention.align).__name__
    ('Luong', 'LocalP')
    >>> build("luong", 11, 13, atention="dot")
    Traceback (most recent call last):
    ValueError: there is no argument of the model 'luong' called 'atention' (did you mean 'attention'?); there are: ...
    """
    if kind not in KINDS:
        raise ValueError(nearest("model", kind, KINDS))
    return construct(kind, MODELS[kind], source_size, target_size, arguments)


def construct(
    kind: str, made: type[nn.Module], source_size: int, target_size: int | None, arguments: Mapping[str, Any]
) -> nn.Module:
    """Return a model of a class, with arguments as plain values.

    Its constructor takes the sizes first: an `encoder`, which is built for the size of the source, or that size;
    then the size of the target, if it has one.

    Args:
        kind: its name in recipes, for messages.
        made: its class.
        source_size, target_size: as of `build`.
        arguments: all others.
    """
    if made is Bidirectional:
        return _both(source_size, _needed(kind, target_size), arguments)
    given, sizes = dict(arguments), list[object]()
    first = [
        name
        for name, parameter in list(inspect.signature(made.__init__).parameters.items())[1:]
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is parameter.empty
    ]
    for place, name in enumerate(first):
        if name == "encoder":
            sizes.append(_encoder_or_size(kind, made, source_size, given))
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
    """One model: its arguments checked, its parts made."""
    names = list(inspect.signature(made.__init__).parameters)[1 + len(sizes) :]
    blocks = [field.name for field in dataclasses.fields(Blocks) if field.name != "rotary"]
    plain = [name for name in names if name != "blocks"] + (blocks if "blocks" in names else [])
    for name in arguments:
        if name not in plain:
            raise ValueError(nearest(f"argument of the {what} called", name, plain))
    hints = get_type_hints(made.__init__) | (get_type_hints(Blocks) if "blocks" in names else {})
    check_values(what, arguments, hints)
    ready = {name: _part(name, value, made) for name, value in arguments.items()}
    if "blocks" in names:
        ready["blocks"] = Blocks(**{name: ready.pop(name) for name in blocks if name in ready})
    return made(*sizes, **ready)


def _part(name: str, value: Any, made: type[nn.Module]) -> Any:
    """A plain value as the constructor wants it."""
    if name == "cells":
        own = inspect.signature(made.__init__).parameters["cells"].default
        options = {"kind": own} | ({"kind": value} if isinstance(value, str) else mapping("cells", value))
        if options["kind"] not in CELLS:
            raise ValueError(nearest("recurrent cell", options["kind"], CELLS))
        return _record("cells", Cells, options)
    if name == "attention" and value is not None:
        options = {"score": value} if isinstance(value, str) else mapping("attention", value)
        if made is CharRNN and (others := set(options) - _OF_A_SCORE):
            raise ValueError(
                f"attention of 'char_rnn' is a score over its own past; {sorted(others)[0]!r} is not for it"
            )
        attending: Attending = _record("attention", Attending, options)
        return attending.make_score if made is CharRNN else attending
    if name == "characters" and value is not None:
        return _record("characters", Characters, {"kind": value} if isinstance(value, str) else mapping(name, value))
    if name == "score" and value is not None:
        return _heads(value)
    return value


def _heads(spec: str | Mapping[str, Any]) -> Any:
    """The score of a Transformer's attention: (C, H) -> score, each head C / H wide inside."""

    def score(dim: int, num_heads: int) -> Any:
        return Attending(score=spec, num_heads=num_heads, hidden_dim=dim // num_heads).make_score(dim, dim)

    return score


def _record(what: str, made: type[Any], options: Mapping[str, Any]) -> Any:
    """A record of plain values, its keys checked."""
    fields = [field.name for field in dataclasses.fields(made)]
    for option in options:
        if option not in fields:
            raise ValueError(nearest(f"argument of {what} called", option, fields))
    check_values(what, options, get_type_hints(made))
    return made(**options)


def _encoder_or_size(kind: str, made: type[nn.Module], size: int, given: dict[str, Any]) -> nn.Module | int:
    """The encoder of a model, taken out of its arguments; or the size of which an encoder-decoder builds its own."""
    options = given.pop("encoder", None)
    if issubclass(made, EncoderDecoder):
        if options is None:
            return size
        encoder_is_own(kind, [key for key in made.own_encoder_keys if key in given])
    if isinstance(options, nn.Module):
        return options
    options = mapping("encoder", {} if options is None else options)
    return _encoder(size, {"kind": "bert"} | options if kind == "bert" else options)


def _encoder(size: int, options: Mapping[str, Any]) -> nn.Module:
    arguments = dict(options)
    kind = str(arguments.pop("kind", "rnn"))
    if kind not in ENCODERS:
        raise ValueError(nearest("encoder", kind, ENCODERS))
    return _made(f"encoder {kind!r}", ENCODERS[kind], (size,), registry.encoder_defaults(kind) | arguments)


def _both(source_size: int, target_size: int, arguments: Mapping[str, Any]) -> Bidirectional:
    rest = dict(arguments)
    options = mapping("model", rest.pop("model", {}))
    kind = str(options.pop("kind", "bahdanau"))
    if kind not in ENCODER_DECODERS:
        raise ValueError(nearest("encoder-decoder", kind, ENCODER_DECODERS))
    for name in rest:
        if name != "gamma":
            raise ValueError(nearest("argument of the model 'bidirectional' called", name, ("gamma", "model")))
    check_values("model 'bidirectional'", rest, {"gamma": float})
    there = construct(kind, ENCODER_DECODERS[kind], source_size, target_size, options)
    back = construct(kind, ENCODER_DECODERS[kind], target_size, source_size, options)
    assert isinstance(there, EncoderDecoder)
    assert isinstance(back, EncoderDecoder)
    return Bidirectional(there, back, **rest)
