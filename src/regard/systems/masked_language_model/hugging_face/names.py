"""Mapping between weight names of BERT in this package and in Hugging Face transformers."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from regard.runs.folder import RunError

WORDS = "encoder.words.table.weight"
BIAS = "output_map.bias"
_TIED = {"output_map.weight": WORDS}

# theirs, ours; {} is the number of a layer
_MATRICES = (
    ("bert.encoder.layer.{}.attention.self.query", "encoder.layers.{}.attention.score.query_map"),
    ("bert.encoder.layer.{}.attention.self.key", "encoder.layers.{}.attention.score.key_map"),
    ("bert.encoder.layer.{}.attention.self.value", "encoder.layers.{}.attention.value_map"),
    ("bert.encoder.layer.{}.attention.output.dense", "encoder.layers.{}.attention.output_map"),
    ("bert.encoder.layer.{}.attention.output.LayerNorm", "encoder.layers.{}.attention_norm"),
    ("bert.encoder.layer.{}.intermediate.dense", "encoder.layers.{}.inner_map"),
    ("bert.encoder.layer.{}.output.dense", "encoder.layers.{}.outer_map"),
    ("bert.encoder.layer.{}.output.LayerNorm", "encoder.layers.{}.hidden_norm"),
    ("bert.embeddings.LayerNorm", "encoder.words.norm"),
    ("bert.pooler.dense", "encoder.pool_map"),
    ("cls.predictions.transform.dense", "word_map"),
    ("cls.predictions.transform.LayerNorm", "word_norm"),
    ("cls.seq_relationship", "next_map"),
)
_TABLES = {
    "bert.embeddings.word_embeddings.weight": WORDS,
    "bert.embeddings.position_embeddings.weight": "encoder.words.places.table",
    "bert.embeddings.token_type_embeddings.weight": "encoder.words.segments.weight",
    "cls.predictions.bias": BIAS,
}
_OLD = {".gamma": ".weight", ".beta": ".bias"}  # layer norm names in checkpoints from before 2019
_COPIES = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}
_COUNTED = "bert.embeddings.position_ids"  # buffer 0, 1, 2, ... saved by older versions


def ours(theirs: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
    """Convert the weights of a `BertForMaskedLM` or `BertForPreTraining` to those of `regard.models.Bert`.

    Raises:
        RunError: a weight is unknown, or the output matrix is not tied to the embeddings; the message contains
            `source`.
    """
    found: dict[str, Tensor] = {}
    for given, tensor in _once(theirs, source).items():
        name = given
        for old, new in _OLD.items():
            name = re.sub(f"{re.escape(old)}$", new, name)
        mine = _TABLES.get(name) or _renamed(name, _MATRICES)
        if mine is None:
            raise RunError(f"{source} has a weight {given!r}, which a BERT for masked language modelling has not")
        found[mine] = tensor
    for tied, own in _TIED.items():
        if own in found:
            found[tied] = found[own]
    return found


def theirs(ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Convert the weights of `regard.models.Bert` to transformers names; the inverse of `ours`.

    >>> import torch
    >>> theirs({"encoder.layers.3.inner_map.bias": torch.zeros(1)})
    {'bert.encoder.layer.3.intermediate.dense.bias': tensor([0.])}
    """
    found: dict[str, Tensor] = {}
    for name, tensor in ours.items():
        if name in _TIED:
            continue
        known = their_name(name)
        if known is None:
            raise RunError(f"the model has a weight {name!r}, which no BERT of transformers has")
        found[known] = tensor
    return found


def their_name(name: str) -> str | None:
    """Return the transformers name of one of our weights, a tied one by its target; None if there is no such weight.

    >>> their_name("encoder.pool_map.bias"), their_name("encoder.layers.0.attention.score.scale")
    ('bert.pooler.dense.bias', None)
    """
    own = _TIED.get(name, name)
    tables = {mine: table for table, mine in _TABLES.items()}
    return tables.get(own) or _renamed(own, tuple((mine, matrix) for matrix, mine in _MATRICES))


def _once(theirs: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
    """Return the weights without duplicates of tied weights."""
    kept = {name: tensor for name, tensor in theirs.items() if name not in _COPIES and name != _COUNTED}
    for copy, own in _COPIES.items():
        if copy in theirs and not torch.equal(theirs[copy], kept.setdefault(own, theirs[copy])):
            raise RunError(f"{source}: {copy} is not {own}; only a BERT that ties them can be read")
    return kept


def _renamed(name: str, pairs: tuple[tuple[str, str], ...]) -> str | None:
    """Return the other name of a weight or bias; None if there is none."""
    stem, _, part = name.rpartition(".")
    number = re.search(r"\.layers?\.(\d+)\.", stem)
    layer = number[1] if number else ""
    for one, other in pairs:
        if part in ("weight", "bias") and one.format(layer) == stem:
            return f"{other.format(layer)}.{part}"
    return None
