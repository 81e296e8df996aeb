"""Encoder states of many texts: the content of an external memory, in memory or on disk."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard.tensor_mismatch import tensor_mismatch

_KIND = "regard.stored"
_NAMES = ("states", "ends", "texts")
_LINE_END = ord("\n")


@dataclass(frozen=True, eq=False)
class TextStore:
    """Encoder states of texts, concatenated without padding.

    Attributes:
        states: [N, C].
        ends: [M], the end offset of each text in `states`.
        texts: the M texts.
        encoder: hash of the encoder (see `MemoryTransformer.signature`); only that encoder's model can use the states.

    >>> stored = TextStore(torch.zeros(5, 4), torch.tensor([2, 5]), ("a b", "c d e"))
    >>> stored.by_text(torch.tensor([[0.5, 0.25, 0.0, 0.25, 0.0]]))                     # weights of one query
    tensor([[0.7500, 0.2500]])
    """

    states: Tensor
    ends: Tensor
    texts: tuple[str, ...]
    encoder: str = ""

    def __len__(self) -> int:
        return len(self.texts)

    def to(self, device: torch.device | str) -> TextStore:
        """Return a copy on another device."""
        return replace(self, states=self.states.to(device), ends=self.ends.to(device))

    def by_text(self, weights: Tensor) -> Tensor:
        """Sum weights over entries [..., N] to weights over texts [..., M]."""
        owners = torch.searchsorted(self.ends, torch.arange(weights.shape[-1], device=self.ends.device), right=True)
        return weights.new_zeros(*weights.shape[:-1], len(self)).index_add_(-1, owners.to(weights.device), weights)

    def save(self, path: Path) -> None:
        """Write a .safetensors file with `states`, `ends`, and the texts as bytes, each terminated by a newline.

        Raises:
            OSError: the file cannot be written.
        """
        lines = "".join(f"{text}\n" for text in self.texts).encode()
        tensors = {
            "states": self.states,
            "ends": self.ends,
            "texts": torch.frombuffer(bytearray(lines), dtype=torch.uint8),
        }
        whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        try:
            save_file(whole, path, {"kind": _KIND, "encoder": self.encoder, "checksum": _sum(whole)})
        except SafetensorError as problem:
            raise OSError(f"{path}: cannot be written ({problem})") from problem

    @classmethod
    def load(cls, path: Path) -> TextStore:
        """Load a file written by `save`; the states are memory-mapped and read from disk on first use.

        Raises:
            ValueError: the file does not exist, or it is not a valid store.
        """
        try:
            with safe_open(path, "pt") as file:
                about = file.metadata() or {}
                if about.get("kind") != _KIND:
                    raise ValueError(f"{path} is no stored memory; `regard remember` writes one")
                tensors = {name: file.get_tensor(name) for name in _NAMES}
        except (OSError, SafetensorError) as problem:
            raise ValueError(f"{path}: cannot be read ({problem}); `regard remember` writes it again") from problem
        wrong = _misfit(tensors)
        if wrong is None and about.get("checksum", found := _sum(tensors)) != found:
            wrong = f"its checksum is {found}, and it says {about['checksum']}"
        if wrong is not None:
            raise ValueError(f"{path} is damaged ({wrong}); `regard remember` writes it again")
        texts = bytes(tensors["texts"].numpy()).decode().split("\n")[:-1]
        return cls(tensors["states"], tensors["ends"], tuple(texts), about.get("encoder", ""))


def _misfit(tensors: Mapping[str, Tensor]) -> str | None:
    """Return a description of an inconsistency between the tensors of a file; None if there is none."""
    states, ends, texts = (tensors[name] for name in _NAMES)
    if states.dim() != 2 or not states.is_floating_point():
        return f"states is {list(states.shape)} of {states.dtype}"
    own = {
        "states": torch.empty_like(states, device="meta"),
        "ends": torch.empty(int((texts == _LINE_END).sum()), dtype=torch.int64, device="meta"),
        "texts": torch.empty(texts.numel(), dtype=torch.uint8, device="meta"),
    }
    if (wrong := tensor_mismatch(tensors, own)) is not None:
        return wrong
    steps = ends.diff(prepend=ends.new_zeros(1))
    if (steps < 0).any() or int(steps.sum()) != len(states):
        return "ends does not divide states"
    return None


def _sum(tensors: Mapping[str, Tensor]) -> str:
    """Return the CRC-32 checksum of all tensors, in file order."""
    value = 0
    for name in _NAMES:
        value = zlib.crc32(tensors[name].contiguous().flatten().view(torch.uint8).numpy().data, value)
    return f"{value:08x}"
