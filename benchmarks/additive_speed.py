"""Speed of additive attention on a GPU: plain PyTorch, torch.compile, blocked, and the fused kernels in both ways.

    python benchmarks/additive_speed.py                       gate, then times, then a table
    python benchmarks/additive_speed.py --sweep --seconds 300  before that, tile sizes and warps of each kernel

Correctness first: every way is held to the float64 truth, and a red gate prints no times. A forward pass has
B · T · S · A tanh, half of them under a causal mask. Times are medians over replayed CUDA graphs, with inputs that take
turns; memory is the peak above inputs, outputs and their gradients.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from regard import Mask
from regard.ops.additive import blocked, fused, reference
from regard.ops.additive.launch import Launch, LaunchTile, choose

SHAPES = [(16, 512, 512, 128), (4, 2048, 2048, 128)]
Read = Callable[..., Tensor]
_TOGETHER = 16
_WARM_UP = 0.2  # seconds


def main() -> None:
    options = parse()
    if not torch.cuda.is_available():
        sys.exit("this benchmark times a GPU, and there is none; tests/ops/test_additive_fused.py checks without one")
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    dtype = getattr(torch, options.dtype)
    groups = {"direct": 0} if dtype == torch.float32 else {"product": 2, "direct": 0, "product of 4": 4, "mixed": 4}
    ways = {name: launch(options, group) for name, group in groups.items() if name not in options.skip}
    if "mixed" in ways:
        ways["mixed"] = replace(ways["mixed"], direct=True)
    gate(ways, dtype)
    if options.sweep:
        ways = sweep(ways, options)
        gate(ways, dtype)
    rows = [row for shape in SHAPES for causal in (False, True) for row in measure(shape, causal, ways, options)]
    print(f"\n{'B, T, S, A':>22} {'way':>14} {'forward ms':>11} {'Ttanh/s':>8} {'both ms':>8} {'extra MiB':>10}")
    for row in rows:
        print(row)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16", "float32"])
    parser.add_argument("--sweep", action="store_true", help="look for the best tiles of each kernel first")
    parser.add_argument("--seconds", type=float, default=240.0, help="how long the sweep may take")
    parser.add_argument("--skip", nargs="*", default=[], help="ways by name: plain, compile, blocked, mixed ...")
    return parser.parse_args()


def launch(options: argparse.Namespace, group: int) -> Launch:
    chosen = choose(128, 2048, getattr(torch, options.dtype), features=False, interpreted=False)
    return replace(chosen, group=group)


def inputs(shape: tuple[int, int, int, int], dtype: torch.dtype, *, grad: bool) -> list[Tensor]:
    """query, key, value and weight, as large as those of a trained model: v sums to a few units."""
    batch, queries, keys, width = shape
    sizes = [(batch, 1, queries, width), (batch, 1, keys, width), (batch, 1, keys, width), (1, width)]
    tensors = [torch.randn(size, device="cuda", dtype=torch.float64) for size in sizes]
    tensors[3] /= width**0.5
    return [tensor.to(dtype).requires_grad_(grad) for tensor in tensors]


def fused_read(chosen: Launch) -> Read:
    def read(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, mask: Mask | None) -> Tensor:
        return fused.attention(
            query, key, value, weight, mask, features=None, feature_weight=None, launch=chosen
        ).context  # fmt: skip

    return read


def plain_read(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, mask: Mask | None) -> Tensor:
    return reference.attention(
        query, key, value, weight, mask, features=None, feature_weight=None, dropout=0.0
    ).context  # fmt: skip


def blocked_read(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, mask: Mask | None) -> Tensor:
    return blocked.attention(query, key, value, weight, mask, features=None, feature_weight=None).context


def compiled_read() -> Read:
    """What torch.compile makes of the equation in the dtype of the inputs.

    Of three ways to write it down for one head this is the fastest by far: forward and backward 10.6 ms at the larger
    shape on an H200, where `einsum` takes 11.6 and a product and sum 22.1.
    """

    def equation(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, causal: bool) -> Tensor:
        energy = (torch.tanh(query[:, 0].unsqueeze(2) + key[:, 0].unsqueeze(1)) @ weight[0]).unsqueeze(1)
        if causal:
            queries, keys = energy.shape[2:]
            last = torch.arange(queries, device=energy.device) + (keys - queries)
            energy = energy.masked_fill(torch.arange(keys, device=energy.device) > last[:, None], -torch.inf)
        return energy.softmax(-1) @ value

    compiled = torch.compile(equation, dynamic=False)
    return lambda query, key, value, weight, mask: compiled(query, key, value, weight, mask is not None)


def gate(ways: dict[str, Launch], dtype: torch.dtype) -> None:
    """Every way against the float64 truth: twice the error of plain PyTorch in the same dtype, and a rounding."""
    torch.manual_seed(0)
    failures = 0
    for name, chosen in ways.items():
        for mask in (None, Mask.causal(), Mask.padding([300, 0, 129])):
            ready = inputs((3, 257, 300, 67), dtype, grad=True)
            wide = [tensor.detach().double().requires_grad_() for tensor in ready]
            outcomes = []
            for read, tensors in ((plain_read, wide), (plain_read, ready), (fused_read(chosen), ready)):
                context = read(*tensors, mask)
                slope = torch.linspace(-1, 1, context.numel(), device="cuda").view_as(context).bfloat16()
                outcomes.append([context, *torch.autograd.grad(context, tensors, slope.to(context.dtype))])
            scale = max(float(part.abs().max()) for part in outcomes[0][1:])
            for part, truth, plain, mine in zip(("context", "query", "key", "value", "weight"), *outcomes, strict=True):
                largest = float(truth.abs().max()) if part == "context" else scale
                steps = 4 if dtype == torch.float32 else 1
                budget = 2 * error(plain, truth) + steps * torch.finfo(dtype).eps * largest
                if not error(mine, truth) <= budget:
                    failures += 1
                    print(f"{name} {dtype} {mask}: {part} errs by {error(mine, truth):.2e}, allowed {budget:.2e}")
    if failures:
        sys.exit(f"the gate is red: {failures} outcomes are wrong, so nothing is timed")
    print("gate: green")


def error(actual: Tensor, truth: Tensor) -> float:
    return float((actual.double() - truth).abs().max())


def graph_ms(run: Callable[[int], object], *, budget_s: float = 0.6) -> float:
    """The median time of a run in a CUDA graph of a few: what the GPU takes, without the CPU that launches it.

    `run` gets a number to choose its inputs by.
    """
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for turn in range(3):
            run(turn)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for turn in range(_TOGETHER):
            run(turn)
    begin = time.perf_counter()
    while time.perf_counter() - begin < _WARM_UP:  # a GPU that was idle runs slowly at first
        graph.replay()
        torch.cuda.synchronize()
    return eager_ms(lambda turn: graph.replay(), budget_s=budget_s) / _TOGETHER


def eager_ms(run: Callable[[int], object], *, budget_s: float = 0.6) -> float:
    """The median of CUDA-event times of a run, as a program has it."""
    for turn in range(3):
        run(turn)
    torch.cuda.synchronize()
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - begin < budget_s and len(times) < 60):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run(len(times))
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def forward_ms(read: Read, turns: list[list[Tensor]], mask: Mask | None, **options: float) -> float:
    with torch.no_grad():
        return graph_ms(lambda turn: read(*turns[turn % len(turns)], mask), **options)


def both_ms(read: Read, turns: list[list[Tensor]], mask: Mask | None, **options: float) -> float:
    slope = torch.randn_like(read(*turns[0], mask))

    def run(turn: int) -> object:
        ready = turns[turn % len(turns)]
        return torch.autograd.grad(read(*ready, mask), ready, slope)

    return graph_ms(run, **options)


def extra_mib(read: Read, ready: list[Tensor], mask: Mask | None) -> float:
    """The peak of one forward and backward pass above what its inputs, outputs and gradients take."""
    context = read(*ready, mask).detach()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    outputs = sum(tensor.numel() * tensor.element_size() for tensor in (*ready, context))
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    torch.autograd.grad(read(*ready, mask), ready, torch.ones_like(context))
    return (torch.cuda.max_memory_allocated() - before - outputs) / 2**20


def measure(
    shape: tuple[int, int, int, int], causal: bool, ways: dict[str, Launch], options: argparse.Namespace
) -> Iterator[str]:
    dtype = getattr(torch, options.dtype)
    mask = Mask.causal() if causal else None
    turns = [inputs(shape, dtype, grad=True) for _ in range(4)]
    reads: dict[str, Read] = {"plain": plain_read, "compile": compiled_read(), "blocked": blocked_read}
    reads.update({name: fused_read(chosen) for name, chosen in ways.items()})
    batch, queries, keys, width = shape
    count = batch * queries * keys * width * (0.5 if causal else 1.0)
    label = ", ".join(map(str, shape)) + (" c" if causal else "")
    for name, read in reads.items():
        if name in options.skip or (causal and name == "compile"):  # each compilation takes half a minute
            continue
        forward = forward_ms(read, turns, mask)
        both, extra = both_ms(read, turns, mask), extra_mib(read, turns[0], mask)
        row = f"{label:>22} {name:>14} {forward:>11.3f} {count / forward / 1e9:>8.2f} {both:>8.3f} {extra:>10.0f}"
        print(row, flush=True)
        yield row


# Rows, columns and warps, the likely ones first.
CANDIDATES = {
    "forward": [(16, 256, 4), (32, 128, 4), (16, 128, 2), (16, 128, 4), (16, 512, 8), (32, 256, 8), (16, 256, 2)],
    "energy": [(16, 256, 4), (32, 128, 4), (16, 128, 4), (16, 128, 2)],
    "slopes": [(32, 128, 4), (16, 128, 4), (16, 64, 2), (8, 128, 4), (32, 64, 2), (64, 128, 4), (32, 256, 8)],
}


def sweep(ways: dict[str, Launch], options: argparse.Namespace) -> dict[str, Launch]:
    """The best tile of each kernel in each way at the larger shape, one kernel after the other, in the time given."""
    turns = [inputs(SHAPES[1], getattr(torch, options.dtype), grad=True) for _ in range(4)]
    slots = list(itertools.product(ways, ("forward", "energy", "slopes")))
    finish = time.perf_counter() + options.seconds
    for slot, (name, kernel) in enumerate(slots):
        end = time.perf_counter() + (finish - time.perf_counter()) / (len(slots) - slot)
        best = (float("inf"), ways[name])
        for tile in itertools.starmap(LaunchTile, CANDIDATES[kernel]):
            if time.perf_counter() > end:
                break
            chosen = replace(ways[name], granule=512, **{kernel: tile})
            clock = forward_ms if kernel == "forward" else both_ms
            try:
                took = clock(fused_read(chosen), turns, None, budget_s=0.1)
            except Exception as problem:  # a tile that does not compile or does not fit is no candidate
                print(f"{name:>14} {kernel:>8} {tile}: {type(problem).__name__}", flush=True)
                continue
            print(f"{name:>14} {kernel:>8} {tile}: {took:.3f} ms", flush=True)
            best = min(best, (took, chosen), key=lambda pair: pair[0])
        ways = {**ways, name: best[1]}
        print(f"{name:>14} {kernel:>8} best: {best[0]:.3f} ms with {getattr(best[1], kernel)}", flush=True)
    return ways


if __name__ == "__main__":
    main()
