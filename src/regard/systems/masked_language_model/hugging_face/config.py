"""Conversion between `config.json` of a Hugging Face BERT and recipes or models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from torch import Tensor

from regard.models.bert import SEGMENTS, Bert
from regard.recipes.schema import recipe_class
from regard.recipes.sections import Recipe
from regard.recipes.system import system_of
from regard.runs.folder import RunError
from regard.specials import FRAME
from regard.systems.masked_language_model.hugging_face.reading import read_mapping

_FIXED = {
    "hidden_act": "gelu",
    "type_vocab_size": SEGMENTS,
    "position_embedding_type": "absolute",
    "is_decoder": False,
}
"""Settings that every supported BERT has."""
_SIZES = {
    "hidden_size": "dim",
    "num_attention_heads": "num_heads",
    "intermediate_size": "hidden_dim",
    "num_hidden_layers": "num_layers",
    "max_position_embeddings": "max_length",
}
_NUMBERS = {
    "hidden_dropout_prob": ("dropout", 0.1),
    "attention_probs_dropout_prob": ("attention_dropout", 0.1),
    "layer_norm_eps": ("epsilon", 1e-12),
}
_BETWEEN = FRAME + 1  # special tokens around and between two texts
_WORDS = "bert.embeddings.word_embeddings.weight"
_SHOWN = {
    "vocab_size": (_WORDS, 0),
    "hidden_size": (_WORDS, 1),
    "max_position_embeddings": ("bert.embeddings.position_embeddings.weight", 0),
    "intermediate_size": ("bert.encoder.layer.0.intermediate.dense.weight", 0),
}
"""The weight and the dimension that determine each size."""
_OWN = "put the config.json there that was saved with the weights"


def read(folder: Path) -> dict[str, Any]:
    """Read `config.json` and check that the BERT is supported.

    Raises:
        RunError: a key is missing or has an unsupported value.
    """
    path = folder / "config.json"
    if not path.exists():
        raise RunError(f"{folder} has no config.json; give the folder that save_pretrained wrote")
    config = read_mapping(path)
    if config.get("model_type") != "bert":
        raise RunError(f"{path}: model_type is {config.get('model_type')!r}; only 'bert' can be read")
    for key, value in _FIXED.items():
        if config.get(key, value) != value:
            raise RunError(f"{path}: {key} is {config[key]!r}; only {value!r} can be read")
    for key in ("vocab_size", *_SIZES):
        _check_size(config, key, path)
    for key in _NUMBERS:
        _check_number(config, key, path)
    if config["hidden_size"] % config["num_attention_heads"]:
        raise RunError(
            f"{path}: hidden_size is {config['hidden_size']}, which {config['num_attention_heads']} heads "
            f"(num_attention_heads) do not divide; {_OWN}"
        )
    return config


def check_weights(config: Mapping[str, Any], weights: Mapping[str, Tensor], folder: Path) -> None:
    """Check the shapes of the weights, by their Hugging Face names, against `config.json`.

    Raises:
        RunError: a key contradicts the shape of a weight.
    """
    for key, (name, dimension) in _SHOWN.items():
        if name in weights and weights[name].shape[dimension : dimension + 1] != (config[key],):
            raise RunError(
                f"{folder / 'config.json'}: {key} is {config[key]}, and {name} in model.safetensors is "
                f"{list(weights[name].shape)}; {_OWN}"
            )
    numbers = [int(found[1]) for name in weights if (found := re.match(r"bert\.encoder\.layer\.(\d+)\.", name))]
    layers = max(numbers, default=-1) + 1
    if layers != config["num_hidden_layers"]:
        raise RunError(
            f"{folder / 'config.json'}: num_hidden_layers is {config['num_hidden_layers']}, and model.safetensors "
            f"has {layers}; {_OWN}"
        )


def recipe_of(config: Mapping[str, Any], name: str, *, pooled: bool, next_sentence: bool, source: Path) -> Recipe:
    """Return a recipe for the model of a config; its data paths are placeholders.

    Raises:
        RunError: the sizes are not valid in a recipe.
    """
    encoder = {mine: config[key] for key, mine in _SIZES.items()}
    encoder |= {mine: config.get(key, default) for key, (mine, default) in _NUMBERS.items()}
    encoder |= {"activation_dropout": 0.0, "pooled": pooled}
    content = {
        "run": name,
        "task": "masked_language_model",
        "data": {"format": "text", "train": "train.txt", "split": {"by": "order"}},
        "tokenizer": {"kind": "wordpiece"},
        "model": {"kind": "bert", "encoder": encoder, "next_sentence": next_sentence},
        "train": {"steps": 1, "batch": {"sentences": 32, "window": config["max_position_embeddings"] - _BETWEEN}},
    }
    try:
        return recipe_class(system_of("masked_language_model")).model_validate(content)
    except ValidationError as problem:
        first = problem.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise RunError(f"{source / 'config.json'} makes no recipe: {key}: {first['msg']}; {_OWN}") from None


def config_json(model: Bert, size: int) -> dict[str, Any]:
    """Return the content of `config.json` for a model with vocabulary size `size`."""
    blocks = model.encoder.blocks
    shared = blocks.dropout if blocks.attention_dropout is None else blocks.attention_dropout
    return {
        "architectures": ["BertForMaskedLM" if model.next_map is None else "BertForPreTraining"],
        "model_type": "bert",
        **_FIXED,
        "vocab_size": size,
        "hidden_size": blocks.dim,
        "num_attention_heads": blocks.num_heads,
        "intermediate_size": 4 * blocks.dim if blocks.hidden_dim is None else blocks.hidden_dim,
        "num_hidden_layers": len(model.encoder.layers),
        "max_position_embeddings": len(model.encoder.words.places.table),
        "hidden_dropout_prob": blocks.dropout,
        "attention_probs_dropout_prob": shared,
        "layer_norm_eps": blocks.epsilon,
        "tie_word_embeddings": True,
        "pad_token_id": 0,
    }


def _check_size(config: Mapping[str, Any], key: str, path: Path) -> None:
    least = _BETWEEN + 1 if key == "max_position_embeddings" else 1
    if key not in config:
        raise RunError(f"{path} has no {key}; {_OWN}")
    given = config[key]
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise RunError(f"{path}: {key} is {given!r}, and must be a whole number from {least} on; {_OWN}")


def _check_number(config: Mapping[str, Any], key: str, path: Path) -> None:
    own, default = _NUMBERS[key]
    given = config.get(key, default)
    fits = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < 1
    if not fits or (given == 0 and own == "epsilon"):
        raise RunError(f"{path}: {key} is {given!r}, and must be a number from 0 to 1; {_OWN}")
