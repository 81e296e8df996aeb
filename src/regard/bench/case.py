"""Interface of benchmark cases, and the machine they run on."""

from __future__ import annotations

import abc
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Machine:
    """Benchmark machine: device, timed dtype, and compiler support.

    Attributes:
        device: device of the tensors.
        dtype: timed dtype: float32 on a CPU, bfloat16 on a GPU.
        compiles: time `torch.compile` as well.
    """

    device: torch.device
    dtype: torch.dtype
    compiles: bool

    @staticmethod
    def here(*, compiles: bool) -> Machine:
        """Return this machine, with its GPU if there is one. A CPU compiles only on request, since it takes minutes."""
        if torch.cuda.is_available():
            return Machine(torch.device("cuda"), torch.bfloat16, True)
        return Machine(torch.device("cpu"), torch.float32, compiles)

    @staticmethod
    def has_compiler() -> bool:
        """Return True if there is a C++ compiler, which `torch.compile` needs on a CPU."""
        return any(map(shutil.which, ("c++", "g++", "clang++")))

    @property
    def cuda(self) -> bool:
        """True for a CUDA GPU."""
        return self.device.type == "cuda"

    @property
    def gated(self) -> tuple[torch.dtype, ...]:
        """Dtypes that the gate compares with the float64 reference."""
        return (torch.float32, torch.float16, torch.bfloat16) if self.cuda else (torch.float32, torch.bfloat16)

    def __str__(self) -> str:
        if self.cuda:
            return f"{torch.cuda.get_device_name(self.device)}, torch {torch.__version__}"
        threads = torch.get_num_threads()
        return f"{platform.machine()} CPU, {threads} thread{'s' * (threads != 1)}, torch {torch.__version__}"


Way = Callable[..., Tensor]
"""Implementation of a case: maps inputs to the output."""


@dataclass(frozen=True)
class Case(abc.ABC):
    """Benchmark case: a mechanism at one size.

    Attributes:
        mechanism: its name in the catalogue.
    """

    mechanism: str

    @property
    @abc.abstractmethod
    def mask(self) -> str:
        """Kind of the mask, for a table."""

    @property
    @abc.abstractmethod
    def size(self) -> str:
        """Sizes, for a table."""

    @abc.abstractmethod
    def shapes(self) -> list[tuple[int, ...]]:
        """Shape of each input."""

    @abc.abstractmethod
    def ways(self, machine: Machine) -> dict[str, Way]:
        """Return the implementations by name: ours, `"plain"` PyTorch if it fits into memory, and others that apply."""

    def inputs(self, device: torch.device) -> list[Tensor]:
        """Return random float64 inputs for all implementations; weights are scaled for energies of variance 1."""
        generator = torch.Generator("cpu").manual_seed(0)
        made = [torch.randn(shape, generator=generator, dtype=torch.float64, device="cpu") for shape in self.shapes()]
        return [(each if each.dim() == 4 else each / each.shape[-1] ** 0.5).to(device) for each in made]

    def __str__(self) -> str:
        return f"{self.mechanism}, {self.mask}, {self.size}"
