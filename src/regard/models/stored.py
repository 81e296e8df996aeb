"""States of many texts, stored once: what an external memory is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

_KIND = "regard.stored"


@dataclass(frozen=True, eq=False)
class Stored:
    """The encoder's states of texts, one text behind the other, without padding.

    Attributes:
        states: [N, C].
        ends: [M], where the states of each text end.
        texts: the M texts.
        encoder: who encoded them (see `MemoryTransformer.signature`): states of one model say nothing to another.

    >>> stored = Stored(torch.zeros(5, 4), torch.tensor([2, 5]), ("a b", "c d e"))
    >>> stored.by_text(torch.tensor([[0.5, 0.25, 0.0, 0.25, 0.0]]))                     # weights of one query
    tensor([[0.7500, 0.2500]])
    """

    states: Tensor
    ends: Tensor
    texts: tuple[str, ...]
    encoder: str = ""

    def __len__(self) -> int:
        return len(self.texts)

    def to(self, device: torch.device | str) -> Stored:
        """The same on another device."""
        return replace(self, states=self.states.to(device), ends=self.ends.to(device))

    def by_text(self, weights: Tensor) -> Tensor:
        """How much weight [..., N] lies on each text, [..., M]."""
        owners = torch.searchsorted(self.ends, torch.arange(weights.shape[-1], device=self.ends.device), right=True)
        return weights.new_zeros(*weights.shape[:-1], len(self)).index_add_(-1, owners.to(weights.device), weights)

    def save(self, path: Path) -> None:
        """Write a .safetensors file: `states`, `ends`, and the texts as bytes with a line end behind each.

        Raises:
            ValueError: it cannot be written there.
        """
        lines = "".join(f"{text}\n" for text in self.texts).encode()
        tensors = {
            "states": self.states,
            "ends": self.ends,
            "texts": torch.frombuffer(bytearray(lines), dtype=torch.uint8),
        }
        whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        try:
            save_file(whole, path, {"kind": _KIND, "encoder": self.encoder})
        except (OSError, SafetensorError) as problem:
            raise ValueError(f"{path}: cannot be written ({problem})") from problem

    @classmethod
    def load(cls, path: Path) -> Stored:
        """Read what `save` wrote; the states stay on disk until they are used.

        Raises:
            ValueError: the file is not there, or something else.
        """
        try:
            with safe_open(path, "pt") as file:
                about = file.metadata() or {}
                if about.get("kind") != _KIND:
                    raise ValueError(f"{path} is no stored memory; `regard remember` writes one")
                texts = bytes(file.get_tensor("texts").numpy()).decode().split("\n")[:-1]
                return cls(file.get_tensor("states"), file.get_tensor("ends"), tuple(texts), about.get("encoder", ""))
        except (OSError, SafetensorError) as problem:
            raise ValueError(f"{path}: cannot be read ({problem})") from problem
