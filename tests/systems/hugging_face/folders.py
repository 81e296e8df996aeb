"""Folders as transformers saves them, made by hand: names and shapes are theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

import regard
from regard.data.batching.batch import padded
from regard.models.model_output import ModelOutput

PIECES = [
    "[PAD]",
    "[unused0]",
    "the",
    "cat",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "play",
    "##ing",
    "##ed",
    "[MASK]",
    "dog",
    "a",
    ".",
    ",",
    "he",
    "##s",
]
TEXTS, SECONDS = ["The cat played.", "a dog , playing zebra he"], ["the dog", "cats ."]
CUT = ["[CLS] the cat play ##ed . [SEP] the dog [SEP]", "[CLS] a dog , play ##ing [UNK] he [SEP] cat ##s . [SEP]"]
"""Both texts of each pair in pieces, in their frame."""
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "vocab_size": len(PIECES),
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
    "layer_norm_eps": 1e-12,
}


def weights(config: dict[str, Any]) -> dict[str, Tensor]:
    """Random weights of a `BertForPreTraining`."""
    width, hidden, words = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    found = {
        "bert.embeddings.word_embeddings.weight": torch.randn(words, width),
        "bert.embeddings.position_embeddings.weight": torch.randn(config["max_position_embeddings"], width),
        "bert.embeddings.token_type_embeddings.weight": torch.randn(2, width),
        "cls.predictions.bias": torch.randn(words),
    }
    maps = {"bert.pooler.dense": (width, width), "cls.predictions.transform.dense": (width, width)}
    maps["cls.seq_relationship"] = (2, width)
    norms = ["bert.embeddings.LayerNorm", "cls.predictions.transform.LayerNorm"]
    for layer in (f"bert.encoder.layer.{number}" for number in range(config["num_hidden_layers"])):
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            maps[f"{layer}.attention.{name}"] = (width, width)
        maps[f"{layer}.intermediate.dense"], maps[f"{layer}.output.dense"] = (hidden, width), (width, hidden)
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for name, shape in maps.items():
        found[f"{name}.weight"], found[f"{name}.bias"] = 0.3 * torch.randn(shape), 0.1 * torch.randn(shape[0])
    for name in norms:
        found[f"{name}.weight"], found[f"{name}.bias"] = 1 + 0.1 * torch.randn(width), 0.1 * torch.randn(width)
    return found


def save(folder: Path, tensors: dict[str, Tensor], config: dict[str, Any], pieces: list[str]) -> None:
    """Weights, sizes and pieces in a folder."""
    folder.mkdir()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")


def answered(run: Path, *, precise: bool = False) -> tuple[list[list[int]], ModelOutput]:
    """The ids of `TEXTS` and `SECONDS`, and what the model of a run says to them, `precise` in float64."""
    loaded = regard.load(run, device="cpu")
    ids = loaded.task.encoders["text"].encode_all(
        [f"{first}\t{second}" for first, second in zip(TEXTS, SECONDS, strict=True)]
    )
    model = loaded.model.double() if precise else loaded.model
    with torch.inference_mode():
        return ids, model(padded(ids, 0), torch.tensor([len(row) for row in ids], device="cpu"))
