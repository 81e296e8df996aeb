"""Eager mode: short reads called from Python, beside the plainest PyTorch that computes the same.

    python benchmarks/eager.py                gate, then a table of times and ratios, on a GPU if there is one
    python benchmarks/eager.py --tiny         sizes at which a CPU shows the cost of Python and of dispatch alone

At 32 x 30 x 30 x 256 a GPU takes less time than the calls that launch its kernels. So these are times of Python, of
PyTorch's dispatcher and of autograd: the time of a training loop of one's own without CUDA graphs. Additive attention
stands beside four lines of PyTorch, multi-head attention beside `nn.MultiheadAttention` without its weights. Masks are
made before the clock starts, on both sides.

Correctness first: contexts and gradients of both sides are held to the plain side in float64, and a red gate prints no
times. Both sides take turns; the table shows medians over the turns. A ratio below 1 says that ours is faster.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from regard import Mask
from regard.nn import Additive, Attention, MultiHead, ScaledDot

_TURNS = 100
_CALLS = 10  # of one turn


@dataclass(frozen=True)
class Size:
    """Sequences, words of each, width, heads."""

    batch: int
    length: int
    dim: int
    heads: int


class FourLines(nn.Module):
    """Additive attention as one writes it down."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.query_map = nn.Linear(dim, dim, bias=False)
        self.key_map = nn.Linear(dim, dim, bias=False)
        self.weight = nn.Linear(dim, 1, bias=False)

    def forward(self, query: Tensor, key: Tensor, forbidden: Tensor | None) -> Tensor:
        hidden = torch.tanh(self.query_map(query).unsqueeze(2) + self.key_map(key).unsqueeze(1))
        energy = self.weight(hidden).squeeze(3)
        energy = energy if forbidden is None else energy.masked_fill(forbidden, -torch.inf)
        return energy.softmax(-1) @ key


@dataclass(frozen=True)
class Side:
    """One way to read: a module and a call of it with query and key, [B, T, C] each."""

    module: nn.Module
    call: Callable[[nn.Module, Tensor, Tensor], Tensor]

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        with torch.no_grad():
            return self.call(self.module, *inputs)

    def both(self, inputs: Sequence[Tensor]) -> Tensor:
        """A forward and a backward pass that leaves gradients of parameters and inputs, as training has it."""
        for tensor in (*self.module.parameters(), *inputs):
            tensor.grad = None
        context = self.call(self.module, *inputs)
        context.sum().backward()
        return context

    def outcomes(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The context, and the gradients of the inputs by the square of it."""
        context = self.call(self.module, *inputs)
        return [context.detach(), *torch.autograd.grad(context.square().sum(), [x for x in inputs if x.requires_grad])]


@dataclass(frozen=True)
class Row:
    """The same read on both sides, with the same parameters."""

    name: str
    ours: Side
    plain: Side
    inputs: tuple[Tensor, Tensor]


def main() -> None:
    options = parse()
    device = torch.device("cuda" if torch.cuda.is_available() and not options.cpu else "cpu")
    torch.set_num_threads(1)
    size = Size(2, 3, 16, 2) if options.tiny else Size(32, 30, 256, 8)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}, {size.batch} x {size.length} x {size.length} x {size.dim}")
    for dtype in (torch.float32, torch.bfloat16):
        rows = [make(name, size, device, dtype) for name in ROWS]
        gate(rows, dtype)
        kind = str(dtype).removeprefix("torch.")
        print(f"\n{kind:<20} {'forward, µs':>24} {'with backward, µs':>26} {'operations':>15}")
        print(
            f"{'':<20} {'plain':>9}{'ours':>8}{'ratio':>7} {'plain':>10}{'ours':>9}{'ratio':>7} {'plain':>9}{'ours':>6}"
        )
        for row in rows:
            plain, ours = times(row, Side.forward)
            both_plain, both_ours = times(row, Side.both)
            print(
                f"{row.name:<20} {plain:9.0f}{ours:8.0f}{ours / plain:7.2f} "
                f"{both_plain:10.0f}{both_ours:9.0f}{both_ours / both_plain:7.2f} "
                f"{operations(row.plain, row.inputs):9}{operations(row.ours, row.inputs):6}"
            )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="2 x 3 x 3 x 16: overhead alone")
    parser.add_argument("--cpu", action="store_true", help="on a CPU, even if there is a GPU")
    return parser.parse_args()


ROWS = ("additive", "additive padded", "multi-head", "multi-head padded", "multi-head causal")


def make(name: str, size: Size, device: torch.device, dtype: torch.dtype) -> Row:
    torch.manual_seed(0)
    kind, _, masked = name.partition(" ")
    lengths = torch.randint(1, size.length + 1, (size.batch,))
    ours, plain = (additive if kind == "additive" else multi_head)(size, masked, lengths, device)
    query, key = torch.randn(2, size.batch, size.length, size.dim, device=device, dtype=dtype).unbind()
    inputs = query.requires_grad_(), key.requires_grad_(kind == "additive")  # else self-attention
    for side in (ours, plain):
        side.module.to(device, dtype)
    return Row(name, ours, plain, inputs)


def additive(size: Size, masked: str, lengths: Tensor, device: torch.device) -> tuple[Side, Side]:
    plain, ours = FourLines(size.dim), Attention(Additive(size.dim, size.dim, size.dim))
    ours.score.load_state_dict(
        {name.replace("weight.weight", "weight"): tensor for name, tensor in plain.state_dict().items()}
    )
    forbidden = padding(size, lengths, device)[:, None] if masked else None
    mask = Mask.padding(lengths.to(device)) if masked else None
    return (
        Side(ours, lambda module, query, key: module(query, key, mask=mask).context),
        Side(plain, lambda module, query, key: module(query, key, forbidden)),
    )


def multi_head(size: Size, masked: str, lengths: Tensor, device: torch.device) -> tuple[Side, Side]:
    width = size.dim // size.heads
    plain = nn.MultiheadAttention(size.dim, size.heads, batch_first=True)
    score = ScaledDot(size.dim, size.dim, width, num_heads=size.heads, bias=True)
    ours = MultiHead(score, value_dim=size.dim, head_dim=width, output_dim=size.dim, bias=True)
    maps = ("score.query_map", "score.key_map", "value_map")
    weights, biases = plain.in_proj_weight.chunk(3), plain.in_proj_bias.chunk(3)
    state = {f"{name}.weight": weight for name, weight in zip(maps, weights, strict=True)}
    state |= {f"{name}.bias": bias for name, bias in zip(maps, biases, strict=True)}
    state |= {f"output_map.{name}": tensor for name, tensor in plain.out_proj.state_dict().items()}
    ours.load_state_dict(state)
    options: dict[str, Any] = {}
    mask: Mask | None = None
    if masked == "padded":
        options, mask = {"key_padding_mask": padding(size, lengths, device)}, Mask.padding(lengths.to(device))
    elif masked == "causal":
        later = torch.ones(size.length, size.length, dtype=torch.bool, device=device).triu(1)
        options, mask = {"attn_mask": later, "is_causal": True}, Mask.causal()
    return (
        Side(ours, lambda module, x, _: module(x, mask=mask).context),
        Side(plain, lambda module, x, _: module(x, x, x, need_weights=False, **options)[0]),
    )


def padding(size: Size, lengths: Tensor, device: torch.device) -> Tensor:
    """[B, S], True at padding."""
    return (torch.arange(size.length) >= lengths[:, None]).to(device)


def gate(rows: list[Row], dtype: torch.dtype) -> None:
    """Ours may err by twice as much as plain, and by a few roundings of the largest entry."""
    failures = 0
    for row in rows:
        wide = tuple(x.detach().double().requires_grad_(x.requires_grad) for x in row.inputs)
        truth = Side(copy.deepcopy(row.plain.module).double(), row.plain.call).outcomes(wide)
        plain, ours = row.plain.outcomes(row.inputs), row.ours.outcomes(row.inputs)
        for part, found, other, true in zip(("context", "query", "key"), ours, plain, truth, strict=False):
            budget = 2 * error(other, true) + 8 * torch.finfo(dtype).eps * float(true.abs().max())
            if not error(found, true) <= budget:
                failures += 1
                print(f"{row.name} {dtype}: {part} errs by {error(found, true):.2e}, allowed {budget:.2e}")
    if failures:
        sys.exit(f"the gate is red: {failures} outcomes are wrong, so nothing is timed")
    print("gate: green")


def error(actual: Tensor, truth: Tensor) -> float:
    return float((actual.double() - truth).abs().max())


def times(row: Row, step: Callable[[Side, Sequence[Tensor]], Tensor]) -> tuple[float, float]:
    """Microseconds of a step: plain, and ours."""
    found: dict[str, list[float]] = {"plain": [], "ours": []}
    for turn in range(_TURNS):
        for name, side in (("plain", row.plain), ("ours", row.ours)):
            synchronize(row.inputs[0])
            begin = time.perf_counter()
            for _ in range(_CALLS):
                step(side, row.inputs)
            synchronize(row.inputs[0])
            if turn >= _TURNS // 10:  # what comes before warms up
                found[name].append((time.perf_counter() - begin) / _CALLS * 1e6)
    return statistics.median(found["plain"]), statistics.median(found["ours"])


def synchronize(tensor: Tensor) -> None:
    if tensor.is_cuda:
        torch.cuda.synchronize()


class _Counting(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.count += 1
        return func(*args, **(kwargs or {}))


def operations(side: Side, inputs: Sequence[Tensor]) -> int:
    """Operations that a forward and a backward pass dispatches, views among them."""
    with _Counting() as counting:
        side.both(inputs)
    return counting.count


if __name__ == "__main__":
    main()
