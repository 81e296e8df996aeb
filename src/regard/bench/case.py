"""Cases of the benchmark, their implementations, and the machine that they run on."""

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
    """A device, the dtype that is timed on it, and whether code can be compiled for it.

    Attributes:
        device: where the tensors lie.
        dtype: what is timed: float32 on a CPU, bfloat16 on a GPU.
        compiles: whether `torch.compile` is to be tried.
    """

    device: torch.device
    dtype: torch.dtype
    compiles: bool

    @staticmethod
    def here(*, compiles: bool) -> Machine:
        """This one: a GPU if there is one. A CPU compiles on request only, since it takes minutes."""
        if torch.cuda.is_available():
            return Machine(torch.device("cuda"), torch.bfloat16, True)
        return Machine(torch.device("cpu"), torch.float32, compiles)

    @staticmethod
    def has_compiler() -> bool:
        """Return whether there is a C++ compiler, which `torch.compile` needs on a CPU."""
        return any(map(shutil.which, ("c++", "g++", "clang++")))

    @property
    def cuda(self) -> bool:
        """True if it is a GPU of CUDA."""
        return self.device.type == "cuda"

    @property
    def gated(self) -> tuple[torch.dtype, ...]:
        """The dtypes that the gate holds to the float64 truth."""
        return (torch.float32, torch.float16, torch.bfloat16) if self.cuda else (torch.float32, torch.bfloat16)

    def __str__(self) -> str:
        if self.cuda:
            return f"{torch.cuda.get_device_name(self.device)}, torch {torch.__version__}"
        threads = torch.get_num_threads()
        return f"{platform.machine()} CPU, {threads} thread{'s' * (threads != 1)}, torch {torch.__version__}"


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
        """Kind of the mask, in a word."""

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
