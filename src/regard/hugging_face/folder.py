"""A folder of Hugging Face's transformers as a run, and a run as such a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.data import Tokenizer
from regard.hugging_face import vocabulary
from regard.hugging_face.names import BIAS, WORDS, ours, theirs
from regard.models.bert import SEGMENTS, Bert
from regard.recipes.sections import Recipe
from regard.train.files import read_tensors, write_json, write_tensors
from regard.train.folder import RunError
from regard.train.run import Run
from regard.train.setup import make_model, make_task

_FIXED = {
    "hidden_act": "gelu",
    "type_vocab_size": SEGMENTS,
    "position_embedding_type": "absolute",
    "is_decoder": False,
}
"""What a BERT here always is."""


def import_bert(folder: Path, run: Run) -> Recipe:
    """Make a run of a BERT that transformers saved, as `BertForMaskedLM` or `BertForPreTraining`.

    Returns:
        The recipe of the run: `regard predict` fills in masks, and `regard train RECIPE init=RUN` begins with it.

    Raises:
        RunError: what the folder lacks, or what in it is no such BERT; or the run is there already.
    """
    if run.trained:
        raise RunError(f"{run.folder} holds a run already; give another name, or remove the folder")
    config = _config(folder)
    read = vocabulary.read(folder)
    if len(read.order) != config["vocab_size"]:
        raise RunError(
            f"{folder}: the tokenizer has {len(read.order):,} pieces and the model {config['vocab_size']:,}; "
            "they must be of one vocabulary"
        )
    tensors = ours(_weights(folder), str(folder))
    recipe = _recipe(config, tensors, run.folder.name)
    for name in (WORDS, "output_map.weight", BIAS):
        if name in tensors:
            tensors[name] = tensors[name][read.order].contiguous()
    model = make_model(recipe, make_task(recipe, {"text": read.tokenizer}))
    missing = sorted(set(model.state_dict()) - set(tensors))
    if missing:
        raise RunError(
            f"{folder} lacks {len(missing)} weights of a BERT for masked language modelling: {missing[0]} ..."
        )
    model.load_state_dict(tensors)
    run.begin(recipe)
    run.save_encoders({"text": read.tokenizer})
    run.save_model(model.state_dict())
    return recipe


def export_bert(run: Run, folder: Path) -> None:
    """Write the model of a run of the task masked_language_model as transformers reads it.

    Raises:
        RunError: the run is of another task, or the folder has a model already.
    """
    recipe = run.recipe()
    encoders = run.needed_encoders("masked_language_model")
    task = make_task(recipe, encoders)
    model = make_model(recipe, task)
    assert isinstance(model, Bert)
    run.load_model(model)
    if (folder / "config.json").exists():
        raise RunError(f"{folder} holds a model already; give another name, or remove the folder")
    tokenizer = encoders["text"]
    assert isinstance(tokenizer, Tokenizer)
    folder.mkdir(parents=True, exist_ok=True)
    places = len(model.encoder.words.places.table)
    vocabulary.write(tokenizer, folder, max_length=places)
    write_tensors(folder / "model.safetensors", theirs(model.state_dict()))
    write_json(folder / "config.json", _described(model, tokenizer.size, places))


def _config(folder: Path) -> dict[str, Any]:
    """Their `config.json`, as far as it is a BERT that can be one here."""
    path = folder / "config.json"
    if not path.exists():
        raise RunError(f"{folder} has no config.json; give the folder that save_pretrained wrote")
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if config.get("model_type") != "bert":
        raise RunError(f"{path}: model_type is {config.get('model_type')!r}; only 'bert' can be read")
    for key, value in _FIXED.items():
        if config.get(key, value) != value:
            raise RunError(f"{path}: {key} is {config[key]!r}; only {value!r} can be read")
    return config


def _weights(folder: Path) -> dict[str, Tensor]:
    path = folder / "model.safetensors"
    if not path.exists():
        raise RunError(f"{folder} has no model.safetensors; save it by save_pretrained(..., safe_serialization=True)")
    return read_tensors(path)


def _recipe(config: dict[str, Any], tensors: dict[str, Tensor], name: str) -> Recipe:
    """What would train such a model; its data are nowhere yet."""
    encoder = {
        "dim": config["hidden_size"],
        "num_heads": config["num_attention_heads"],
        "hidden_dim": config["intermediate_size"],
        "num_layers": config["num_hidden_layers"],
        "max_length": config["max_position_embeddings"],
        "dropout": config.get("hidden_dropout_prob", 0.1),
        "attention_dropout": config.get("attention_probs_dropout_prob", 0.1),
        "activation_dropout": 0.0,
        "epsilon": config.get("layer_norm_eps", 1e-12),
        "pooled": "encoder.pool_map.weight" in tensors,
    }
    return Recipe.model_validate(
        {
            "run": name,
            "task": "masked_language_model",
            "data": {"format": "text", "train": "train.txt", "split": {"by": "order"}},
            "tokenizer": {"kind": "wordpiece"},
            "model": {"kind": "bert", "encoder": encoder, "next_sentence": "next_map.weight" in tensors},
            "train": {"steps": 1, "batch": {"sentences": 32, "window": config["max_position_embeddings"] - 3}},
        }
    )


def _described(model: Bert, size: int, places: int) -> dict[str, Any]:
    """`config.json` of a model."""
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
        "max_position_embeddings": places,
        "hidden_dropout_prob": blocks.dropout,
        "attention_probs_dropout_prob": shared,
        "layer_norm_eps": blocks.epsilon,
        "pad_token_id": 0,
    }
