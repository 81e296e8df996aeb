"""Names of models and of their parts in recipes, and the classes they stand for. Without PyTorch."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from regard.arguments import PartKind

T = TypeVar("T")

_MODELS, _NN = "regard.models", "regard.nn"

_ENCODER_DECODERS = {
    "bahdanau": f"{_MODELS}.bahdanau:Bahdanau",
    "lstmn": f"{_MODELS}.lstmn:LSTMNSeq2Seq",
    "luong": f"{_MODELS}.luong:Luong",
    "seq2seq": f"{_MODELS}.seq2seq:Seq2Seq",
    "simple_attention": f"{_MODELS}.simple_attention:SimpleAttention",
    "transformer": f"{_MODELS}.transformer:Transformer",
}
PARTS: Mapping[PartKind, Mapping[str, str]] = {
    "model": {
        **_ENCODER_DECODERS,
        "acceptor": f"{_MODELS}.acceptor:Acceptor",
        "bert": f"{_MODELS}.bert:Bert",
        "bidirectional": f"{_MODELS}.bidirectional:Bidirectional",
        "char_rnn": f"{_MODELS}.char_rnn:CharRNN",
        "gat": f"{_MODELS}.graph:GAT",
        "language_model": f"{_MODELS}.language_model:LanguageModel",
        "lstmn_lm": f"{_MODELS}.lstmn_lm:LSTMNLM",
        "memory_network": f"{_MODELS}.memory_network:MemoryNetwork",
        "memory_transformer": f"{_MODELS}.memory_transformer:MemoryTransformer",
        "ntm": f"{_MODELS}.ntm:NTM",
        "pointer_lm": f"{_MODELS}.pointer_lm:PointerLM",
        "rnn": f"{_MODELS}.vector_rnn:VectorRNN",
        "span_reader": f"{_MODELS}.span_reader:SpanReader",
        "transducer": f"{_MODELS}.transducer:Transducer",
        "transformer_lm": f"{_MODELS}.transformer:TransformerLM",
    },
    "encoder_decoder": _ENCODER_DECODERS,
    "encoder": {
        "rnn": f"{_MODELS}.encoder:Encoder",
        "lstmn": f"{_MODELS}.lstmn_encoder:LSTMNEncoder",
        "transformer": f"{_MODELS}.transformer_encoder:TransformerEncoder",
        "bert": f"{_MODELS}.bert:BertEncoder",
        "conv": f"{_MODELS}.conv_encoder:ConvEncoder",
    },
    "score": {
        "additive": f"{_NN}.scores.additive:Additive",
        "bilinear": f"{_NN}.scores.bilinear:Bilinear",
        "concat": f"{_NN}.scores.concat:Concat",
        "cosine": f"{_NN}.scores.cosine:Cosine",
        "dot": f"{_NN}.scores.dot:Dot",
        "general": f"{_NN}.scores.bilinear:Bilinear",
        "location": f"{_NN}.scores.location:Location",
        "scaled_dot": f"{_NN}.scores.scaled_dot:ScaledDot",
    },
    "aligner": {
        "hard": f"{_NN}.aligners.hard:Hard",
        "local_m": f"{_NN}.aligners.local_m:LocalM",
        "local_p": f"{_NN}.aligners.local_p:LocalP",
        "linear": f"{_NN}.aligners.softmax:LinearAligner",
        "softmax": f"{_NN}.aligners.softmax:Softmax",
    },
    "term": {
        "fertility": f"{_NN}.terms.fertility:Fertility",
        "location": f"{_NN}.terms.location:LocationFeatures",
        "markov": f"{_NN}.terms.markov:Markov",
        "position": f"{_NN}.terms.position:Position",
        "history": f"{_NN}.terms.history:History",
    },
}
"""Kind of part -> name in recipes -> "module:Class"."""


def models(*names: str) -> dict[str, str]:
    """Return the places of models of the package, for the `models` of a system."""
    return {name: PARTS["model"][name] for name in names}


class Classes(Mapping[str, type[T]], Generic[T]):
    """The classes of a kind of parts by name, each imported when it is first looked up.

    >>> Classes("score")["dot"].__name__
    'Dot'
    """

    def __init__(self, kind: PartKind) -> None:
        self._places = PARTS[kind]

    def __getitem__(self, name: str) -> type[T]:
        found: type[T] = imported(self._places[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def imported(place: str) -> Any:
    """Return an object by "module:name"."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
