"""Every module compiles whole and exports, under padding and causal masks, for all lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._dynamo.testing
from torch import Tensor, nn
from torch.export import Dim

from regard import Mask
from tests.cases.modules import MODULES, ModuleCase, tensors

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of what PyTorch's compiler is written with
    pytest.mark.filterwarnings("ignore:RNN module weights"),  # of cuDNN: a graph holds them one by one
]

LENGTHS = (7, 9, 5, 12, 6, 10, 8, 11)

INSIDE: dict[str, Callable[[Tensor], Mask | None]] = {
    "none": lambda lengths: None,
    "padding": Mask.padding,
    "causal": lambda lengths: Mask.causal(),
    "padding & causal": lambda lengths: Mask.padding(lengths) & Mask.causal(),
}
"""Masks as a compiled function makes them, of lengths that it is given."""

OUTSIDE: dict[str, Callable[[Tensor], Mask | None]] = {
    "padding(list), given": lambda lengths: Mask.padding(lengths.tolist()),
    "padding(tensor), given": Mask.padding,
    "padding & causal, given": lambda lengths: Mask.padding(lengths) & Mask.causal(),
    "causal, given": lambda lengths: Mask.causal(),
}
"""Masks that are made before it."""


def masks(case: ModuleCase) -> list[str]:
    every = [*INSIDE, *OUTSIDE]
    return {"any": every, "padding": [name for name in every if "causal" not in name], "none": ["none"]}[case.masks]


GRID = [(name, mask) for name, case in MODULES.items() for mask in masks(case)]
FEW = [
    ("attention-additive", "padding & causal"),
    ("multi-head-scaled-dot", "padding"),
    ("multi-head-scaled-dot", "causal, given"),
    ("recurrent-gru", "padding"),
    ("ctc-loss", "padding"),
]
"""One for each way in which programs once broke: structure of masks, questions of lengths, layers that are refused."""


def function(case: ModuleCase, mask: str) -> Callable[..., object]:
    def run(module: nn.Module, given: tuple[Tensor, ...], lengths: Tensor, made: Mask | None) -> object:
        inside = INSIDE[mask](lengths) if mask in INSIDE else made
        # A transcript reads frames, of which there are always enough.
        true = None if mask == "none" else lengths + 8 if case.call.__name__ == "_ctc_loss" else lengths
        return case.call(module, given, inside, true)

    return run


def lengths_of(longest: int) -> Tensor:
    return torch.tensor([longest, max(1, longest - 2), longest // 2])


def outcome(run: Callable[..., Any], case: ModuleCase, mask: str, module: nn.Module, length: int) -> list[Tensor]:
    """Numbers and gradients of one call."""
    torch.manual_seed(length)
    given = tuple(x.requires_grad_() if x.is_floating_point() else x for x in case.inputs(length))
    lengths = lengths_of(length)
    found = tensors(run(module, given, lengths, OUTSIDE[mask](lengths) if mask in OUTSIDE else None))
    assert found
    learned = [part for part in (*module.parameters(), *given) if part.requires_grad]
    slopes = [part for part in found if part.requires_grad]
    total = sum((part * torch.linspace(-1, 1, part.numel()).view_as(part)).sum() for part in slopes)
    grads = torch.autograd.grad(total, learned, allow_unused=True) if isinstance(total, Tensor) else ()
    return [*(part.detach() for part in found), *(torch.zeros(()) if grad is None else grad for grad in grads)]


def check_compiled(name: str, mask: str, lengths: tuple[int, ...], backend: str) -> None:
    """One whole graph, the numbers and gradients of eager mode, and at most two programs for all lengths."""
    case = MODULES[name]
    torch.manual_seed(0)
    module, run = case.make(), function(case, mask)
    torch._dynamo.reset()
    programs = torch._dynamo.testing.CompileCounterWithBackend(backend)
    compiled = torch.compile(run, backend=programs, fullgraph=True)
    for length in lengths:
        expected, found = (outcome(one, case, mask, module, length) for one in (run, compiled))
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    most = len(lengths) if case.unrolled else 2
    assert 1 <= programs.frame_count <= most, f"{programs.frame_count} programs for {len(lengths)} lengths"


@pytest.mark.parametrize(("name", "mask"), FEW)
def test_some_compile(name: str, mask: str) -> None:
    check_compiled(name, mask, LENGTHS[:1] if MODULES[name].unrolled else LENGTHS[:4], "eager")


@pytest.mark.long
@pytest.mark.parametrize(("name", "mask"), GRID)
def test_all_compile(name: str, mask: str) -> None:
    check_compiled(name, mask, LENGTHS[:3] if MODULES[name].unrolled else LENGTHS, "aot_eager")


class Exported(nn.Module):
    """A module with its mask made inside, of lengths that are an input."""

    def __init__(self, case: ModuleCase, mask: str) -> None:
        super().__init__()
        self.module = case.make().eval()
        self.run = function(case, mask)

    def forward(self, given: tuple[Tensor, ...], lengths: Tensor) -> tuple[Tensor, ...]:
        with torch.no_grad():
            return tuple(tensors(self.run(self.module, given, lengths, None)))


def check_exported(name: str, mask: str) -> None:
    """A program of one length is right at others, unless it has a piece for each word."""
    case = MODULES[name]
    torch.manual_seed(0)
    module = Exported(case, mask)
    shorter, longer = case.inputs(7), case.inputs(9)
    sizes = tuple(
        {axis: Dim.AUTO for axis, (one, other) in enumerate(zip(a.shape, b.shape, strict=True)) if one != other}
        for a, b in zip(shorter, longer, strict=True)
    )
    shapes = None if case.unrolled else (sizes, {})
    program = torch.export.export(module, (shorter, lengths_of(7)), dynamic_shapes=shapes).module()
    for length in (7,) if case.unrolled else (7, 9, 12, 5):
        given, lengths = case.inputs(length), lengths_of(length)
        torch.manual_seed(1)
        expected = module(given, lengths)
        torch.manual_seed(1)
        torch.testing.assert_close(program(given, lengths), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("name", "mask"), [("multi-head-scaled-dot", "padding & causal")])
def test_some_export(name: str, mask: str) -> None:
    check_exported(name, mask)


@pytest.mark.long
@pytest.mark.parametrize(("name", "mask"), [(name, mask) for name, mask in GRID if mask in INSIDE])
def test_all_export(name: str, mask: str) -> None:
    check_exported(name, mask)


def test_what_a_transcript_may_not_hold_is_refused_by_a_compiled_program() -> None:
    """It cannot be looked at while compiling, and would be read from memory that is not the model's.

    On the CPU: an assertion that fails in a kernel ends the process's use of a GPU.
    """
    torch.set_default_device(None)
    case = MODULES["ctc-loss"]
    module = case.make()
    compiled = torch.compile(function(case, "none"), backend="eager", fullgraph=True)
    frames, targets = case.inputs(7)
    targets[1, 2] = 5
    with pytest.raises(RuntimeError, match="not one of 5"):
        compiled(module, (frames, targets), lengths_of(7), None)
