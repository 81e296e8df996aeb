"""Names of models and of their parts in recipes, mapped to classes. Does not import PyTorch."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from typing import Any, Generic, TypeVar

from regard.arguments import PartKind

T = TypeVar("T")

_ENCODER_DECODERS = {
    "bahdanau": "regard.models:Bahdanau",
    "lstmn": "regard.models:LSTMNSeq2Seq",
    "luong": "regard.models:Luong",
    "seq2seq": "regard.models:Seq2Seq",
    "simple_attention": "regard.models:SimpleAttention",
    "transformer": "regard.models:Transformer",
}
PARTS: Mapping[PartKind, Mapping[str, str]] = {
    "model": {
        **_ENCODER_DECODERS,
        "bert": "regard.models:Bert",
        "char_rnn": "regard.models:CharRNN",
        "language_model": "regard.models:LanguageModel",
        "transformer_lm": "regard.models:TransformerLM",
    },
    "encoder_decoder": _ENCODER_DECODERS,
    "encoder": {
        "rnn": "regard.models:RecurrentEncoder",
        "lstmn": "regard.models:LSTMNEncoder",
        "transformer": "regard.models:TransformerEncoder",
        "bert": "regard.models:BertEncoder",
        "conv": "regard.models:ConvEncoder",
        "text_cnn": "regard.models:TextCNN",
        "words": "regard.models:WordEncoder",
    },
    "score": {
        "additive": "regard.nn:Additive",
        "bilinear": "regard.nn:Bilinear",
        "concat": "regard.nn:Concat",
        "cosine": "regard.nn:Cosine",
        "dot": "regard.nn:Dot",
        "general": "regard.nn:Bilinear",
        "location": "regard.nn:Location",
        "scaled_dot": "regard.nn:ScaledDot",
    },
    "aligner": {
        "hard": "regard.nn:Hard",
        "local_m": "regard.nn:LocalM",
        "local_p": "regard.nn:LocalP",
        "linear": "regard.nn:LinearAligner",
        "softmax": "regard.nn:Softmax",
    },
    "term": {
        "fertility": "regard.nn:Fertility",
        "location": "regard.nn:LocationFeatures",
        "markov": "regard.nn:Markov",
        "position": "regard.nn:Position",
        "history": "regard.nn:History",
    },
}
"""Kind of part -> name in recipes -> "module:Class". Models of a single system are listed in its `System.models`."""
_SYSTEMS = "regard.systems"
"""The package of the systems that ship, and the entry point group of installed ones."""


def models(*names: str) -> dict[str, str]:
    """Return the "module:Class" of shared models, for the `models` of a system."""
    return {name: PARTS["model"][name] for name in names}


@cache
def system_modules() -> tuple[str, ...]:
    """Return the packages of all systems that ship or are installed, each with an attribute `SYSTEM`."""
    folder = importlib.import_module(_SYSTEMS).__path__
    own = [f"{_SYSTEMS}.{one.name}" for one in pkgutil.iter_modules(folder) if one.ispkg]
    return (*own, *(one.module for one in metadata.entry_points(group=_SYSTEMS)))


@cache
def all_models() -> Mapping[str, str]:
    """Return the "module:Class" of each model by its name in recipes: shared models and those of systems."""
    brought = [importlib.import_module(module).SYSTEM.models for module in system_modules()]
    return {name: place for places in (PARTS["model"], *brought) for name, place in places.items()}


class Classes(Mapping[str, type[T]], Generic[T]):
    """Classes of one kind of part by name, each imported on its first lookup.

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
