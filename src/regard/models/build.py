"""Models from plain values, as a recipe gives them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple, get_type_hints

from torch import nn

from regard.models.acceptor import Acceptor
from regard.models.attending import Attending, nearest
from regard.models.bahdanau import Bahdanau
from regard.models.bert import Bert, BertEncoder
from regard.models.bidirectional import Bidirectional
from regard.models.char_rnn import CharRNN
from regard.models.characters import Characters
from regard.models.config_values import check_values, mapping
from regard.models.encoder import Encoder
from regard.models.generator import EncoderDecoder
from regard.models.graph import GAT
from regard.models.language_model import LanguageModel
from regard.models.lstmn import LSTMNSeq2Seq
from regard.models.lstmn_encoder import LSTMNEncoder
from regard.models.lstmn_lm import LSTMNLM
from regard.models.luong import Luong
from regard.models.memory_network import MemoryNetwork
from regard.models.memory_transformer import MemoryTransformer
from regard.models.ntm import NTM
from regard.models.pointer_lm import PointerLM
from regard.models.seq2seq import Seq2Seq
from regard.models.simple_attention import SimpleAttention
from regard.models.span_reader import SpanReader
from regard.models.transducer import Transducer
from regard.models.transformer import Transformer, TransformerLM
from regard.models.transformer_encoder import TransformerEncoder
from regard.models.vector_rnn import VectorRNN
from regard.nn.cells import KINDS as CELLS
from regard.nn.cells import Cells
from regard.nn.transformer_layer import Blocks


class Kind(NamedTuple):
    """A model that has a name.

    Attributes:
        made: its class.
        first: what its constructor takes first: the sizes of `"source"` and `"target"`, or an `"encoder"`.
    """

    made: type[nn.Module]
    first: tuple[str, ...]


_BOTH = ("source", "target")
ENCODER_DECODERS: dict[str, type[EncoderDecoder[Any]]] = {
    "bahdanau": Bahdanau,
    "lstmn": LSTMNSeq2Seq,
    "luong": Luong,
    "seq2seq": Seq2Seq,
    "simple_attention": SimpleAttention,
    "transformer": Transformer,
}
MODELS: dict[str, Kind] = {name: Kind(made, _BOTH) for name, made in ENCODER_DECODERS.items()} | {
    "acceptor": Kind(Acceptor, ("encoder", "target")),
    "bert": Kind(Bert, ("encoder",)),
    "char_rnn": Kind(CharRNN, ("source",)),
    "gat": Kind(GAT, _BOTH),
    "language_model": Kind(LanguageModel, ("source",)),
    "lstmn_lm": Kind(LSTMNLM, ("source",)),
    "memory_network": Kind(MemoryNetwork, _BOTH),
    "memory_transformer": Kind(MemoryTransformer, _BOTH),
    "ntm": Kind(NTM, _BOTH),
    "pointer_lm": Kind(PointerLM, ("source",)),
    "rnn": Kind(VectorRNN, _BOTH),
    "span_reader": Kind(SpanReader, ("encoder",)),
    "transducer": Kind(Transducer, ("encoder", "target")),
    "transformer_lm": Kind(TransformerLM, ("source",)),
}
ENCODERS: dict[str, type[nn.Module]] = {
    "rnn": Encoder,
    "lstmn": LSTMNEncoder,
    "transformer": TransformerEncoder,
    "bert": BertEncoder,
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "rnn": {"embedding_dim": 128, "hidden_dim": 256, "bidirectional": True},
    "bert": {"norm": "post", "activation": "gelu", "epsilon": 1e-12},
}
"""What encoders have if nothing is said, where their classes say something else or nothing."""
KINDS = (*sorted((*MODELS, "bidirectional")),)

_OF_A_SCORE = frozenset(("score", "hidden_dim", "terms", "max_length"))


def build(kind: str, source_size: int, target_size: int | None = None, **arguments: Any) -> nn.Module:
    """A model by name, with plain arguments.

    Args:
        kind: one of `KINDS`.
        source_size: how many source words; of a language model, how many words; of a machine, the width of an input;
            of a network on a graph, the width of a node's features.
        target_size: how many target words; of an acceptor how many classes, of a transducer how many tags. A language
            model has none, nor has BERT, nor a reader of spans.
        arguments: the model's own, as plain values: `cells` is a name or a mapping of `Cells`, `characters` of
            `Characters`; `attention` the name of
            a score or a mapping of `Attending`; the fields of `Blocks` stand beside a Transformer's other arguments;
            `encoder` of an acceptor, a transducer or a reader of spans is a mapping with `kind` `"rnn"`, `"lstmn"`,
            `"transformer"` or `"bert"`, of BERT one without a kind; `model` of `"bidirectional"` is a mapping with
            `kind` and arguments, for both directions.

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
    if kind == "bidirectional":
        return _both(source_size, _needed(kind, target_size), arguments)
    made, first = MODELS[kind]
    sizes: dict[str, object] = {"source": source_size}
    if "target" in first:
        sizes["target"] = _needed(kind, target_size)
    elif target_size is not None:
        raise ValueError(f"the model {kind!r} needs no target_size; got {target_size}")
    if "encoder" in first:
        options = mapping("encoder", arguments.pop("encoder", {}))
        sizes["encoder"] = _encoder(source_size, {"kind": "bert"} | options if kind == "bert" else options)
    return _made(f"model {kind!r}", made, tuple(sizes[name] for name in first), arguments)


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


def _encoder(size: int, options: Mapping[str, Any]) -> nn.Module:
    arguments = dict(options)
    kind = str(arguments.pop("kind", "rnn"))
    if kind not in ENCODERS:
        raise ValueError(nearest("encoder", kind, ENCODERS))
    return _made(f"encoder {kind!r}", ENCODERS[kind], (size,), DEFAULTS.get(kind, {}) | arguments)


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
    what, made = f"model {kind!r}", ENCODER_DECODERS[kind]
    there = _made(what, made, (source_size, target_size), options)
    back = _made(what, made, (target_size, source_size), options)
    assert isinstance(there, EncoderDecoder)
    assert isinstance(back, EncoderDecoder)
    return Bidirectional(there, back, **rest)
