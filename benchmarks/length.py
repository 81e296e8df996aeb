"""Memory and time of additive attention, forward and backward, against its length T = S.

    python -m benchmarks.length                          doubles the length up to 16,384, or until 60 s are spent
    python -m benchmarks.length --heads 8 --width 64 --out length.png

Memory is the peak above inputs, output and gradients; on a CPU each length has a process of its own, with one head,
and it needs Linux (see additive_memory.py). The last lines say with which power of the length each grows: 1 is linear,
2 quadratic. The gate of `regard bench` comes first.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import torch

from benchmarks import additive_memory
from regard.bench.case import Machine
from regard.bench.cases import gate_cases
from regard.bench.gate import verify
from regard.ops import additive_attention

Row = tuple[int, float, float]
"""Length, seconds, MiB."""


def main() -> None:
    options = parse()
    machine = Machine.here(compiles=False)
    if options.heads != 1 and not machine.cuda:
        sys.exit(f"--heads {options.heads}: on a CPU one head is measured; leave --heads out")
    red = [finding for finding in verify(gate_cases(["additive"], quick=True), machine) if not finding.passed]
    if red:
        sys.exit("the gate is red, so nothing is timed:\n" + "\n".join(map(str, red)))
    print(f"additive attention, forward and backward, B = 1, H = {options.heads}, A = {options.width}; {machine}")
    print(f"{'T = S':>8} {'seconds':>10} {'extra MiB':>10}")
    rows: list[Row] = []
    begin, length = time.perf_counter(), options.shortest
    # The next length takes four times as long as the last: it is begun only if that still fits.
    while (
        length <= options.longest and time.perf_counter() - begin + 4 * (rows[-1][1] if rows else 0) < options.seconds
    ):
        rows.append(measure(length, options.heads, options.width, machine))
        print(f"{rows[-1][0]:>8} {rows[-1][1]:>10.4f} {rows[-1][2]:>10.1f}", flush=True)
        length *= 2
    for name, column in (("time", 1), ("memory", 2)):
        print(f"{name} grows with the length to the power {power(rows, column):.2f}")
    draw(
        rows,
        f"additive attention, forward and backward, H = {options.heads}, A = {options.width}; {machine}",
        options.out,
    )
    print(f"the picture is in {options.out}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", type=int, default=1)
    parser.add_argument("--width", type=int, default=64, help="A, and the width of the values")
    parser.add_argument("--shortest", type=int, default=256)
    parser.add_argument("--longest", type=int, default=16384)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("length.png"))
    return parser.parse_args()


def measure(length: int, heads: int, width: int, machine: Machine) -> Row:
    """One step, after one that warms up."""
    if not machine.cuda:
        found = additive_memory.run("blocked", length, argparse.Namespace(hidden=width, causal=False))
        return length, float(found["forward_s"]) + float(found["backward_s"]), max(0.0, float(found["peak_mib"]))
    shapes = [(1, heads, length, width)] * 3 + [(heads, width)]
    inputs = [torch.randn(shape, device=machine.device).to(machine.dtype).requires_grad_() for shape in shapes]
    step(inputs)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before, begin = torch.cuda.memory_allocated(), time.perf_counter()
    kept = step(inputs)
    torch.cuda.synchronize()
    seconds, peak = time.perf_counter() - begin, torch.cuda.max_memory_allocated()
    held = sum(tensor.numel() * tensor.element_size() for tensor in kept)
    return length, seconds, (peak - before - held) / 2**20


def step(inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    context = additive_attention(*inputs).context
    return [context.detach(), *torch.autograd.grad(context.sum(), inputs)]


def power(rows: list[Row], column: int) -> float:
    """The slope of the last doubling on logarithmic axes; NaN without two rows that are not zero."""
    if len(rows) < 2 or not rows[-2][column] or not rows[-1][column]:
        return math.nan
    return math.log2(rows[-1][column] / rows[-2][column])


def draw(rows: list[Row], title: str, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    lengths = [row[0] for row in rows]
    for axis, column, label, grows in ((axes[0], 1, "seconds", 2), (axes[1], 2, "MiB beside inputs and outputs", 1)):
        axis.loglog(lengths, [row[column] for row in rows], "o-")
        last = rows[-1]
        axis.plot(lengths, [last[column] * (length / last[0]) ** grows for length in lengths], "--", alpha=0.5)
        axis.annotate(
            {1: "linear", 2: "quadratic"}[grows], (lengths[0], last[column] * (lengths[0] / last[0]) ** grows)
        )
        axis.set_xticks(lengths, [f"{length:,}" for length in lengths], rotation=30, minor=False)
        axis.minorticks_off()
        axis.yaxis.set_major_formatter("{x:g}")
        axis.set(xlabel="T = S", ylabel=label)
        axis.grid(alpha=0.3)
    figure.suptitle(title)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
