"""BERT once more, from the weights of a folder by their names there: nothing of Regard is in it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor


class PlainBert:
    """What a `BertForPreTraining` says, in float64, to one text without padding."""

    def __init__(self, folder: Path) -> None:
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = {name: tensor.double() for name, tensor in load_file(folder / "model.safetensors").items()}

    def __call__(self, ids: list[int]) -> tuple[Tensor, Tensor]:
        """Logits of the words [T, V], and of what follows [2]."""
        end = ids.index(ids[-1]) + 1  # the last id is [SEP], which also ends the first text
        segments = [0] * end + [1] * (len(ids) - end)
        tables = [
            self.weights[f"bert.embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        ]
        places = list(range(len(ids)))
        x = sum(table[rows] for table, rows in zip(tables, (ids, places, segments), strict=True))
        x = self._norm(x, "bert.embeddings.LayerNorm")
        for number in range(self.config["num_hidden_layers"]):
            x = self._layer(x, f"bert.encoder.layer.{number}")
        first = torch.tanh(self._map(x[0], "bert.pooler.dense"))
        words = _gelu(self._map(x, "cls.predictions.transform.dense"))
        words = self._norm(words, "cls.predictions.transform.LayerNorm") @ tables[0].T
        return words + self.weights["cls.predictions.bias"], self._map(first, "cls.seq_relationship")

    def _layer(self, x: Tensor, name: str) -> Tensor:
        heads = self.config["num_attention_heads"]
        query, key, value = (
            self._map(x, f"{name}.attention.self.{part}").chunk(heads, dim=1) for part in ("query", "key", "value")
        )
        looked = []
        for q, k, v in zip(query, key, value, strict=True):
            energy = (q @ k.T / math.sqrt(q.shape[1])).exp()
            looked.append(energy / energy.sum(1, keepdim=True) @ v)
        x = x + self._map(torch.cat(looked, dim=1), f"{name}.attention.output.dense")
        x = self._norm(x, f"{name}.attention.output.LayerNorm")
        hidden = _gelu(self._map(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._map(hidden, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _map(self, x: Tensor, name: str) -> Tensor:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, x: Tensor, name: str) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + self.config["layer_norm_eps"]).sqrt()
        return centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def _gelu(x: Tensor) -> Tensor:
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2
