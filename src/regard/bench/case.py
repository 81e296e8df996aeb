"""What is measured: some inputs, and the ways to read them."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.bench.machine import Machine

Way = Callable[..., Tensor]
"""The inputs of a case -> its output."""


@dataclass(frozen=True)
class Case(abc.ABC):
    """A mechanism at one size.

    Attributes:
        mechanism: its name in the catalogue.
    """

    mechanism: str

    @property
    @abc.abstractmethod
    def mask(self) -> str:
        """What may be attended, in a word."""

    @property
    @abc.abstractmethod
    def size(self) -> str:
        """Its sizes, for a table."""

    @abc.abstractmethod
    def shapes(self) -> list[tuple[int, ...]]:
        """Of each input."""

    @abc.abstractmethod
    def ways(self, machine: Machine) -> dict[str, Way]:
        """Ours, plain PyTorch (`"plain"`, unless it does not fit into memory) and the others that apply here."""

    def inputs(self, device: torch.device) -> list[Tensor]:
        """Random numbers in float64, the same for every way; weights small, so that energies have variance 1."""
        generator = torch.Generator("cpu").manual_seed(0)
        made = [torch.randn(shape, generator=generator, dtype=torch.float64, device="cpu") for shape in self.shapes()]
        return [(each if each.dim() == 4 else each / each.shape[-1] ** 0.5).to(device) for each in made]

    def __str__(self) -> str:
        return f"{self.mechanism}, {self.mask}, {self.size}"
