"""Memory and time of additive attention, forward and backward, each implementation in a process of its own.

    python benchmarks/additive_memory.py                        B = 1, T = S = 2048, A = 128, float32, on the CPU
    python benchmarks/additive_memory.py --lengths 512 2048 8192 --impls blocked

Memory is the peak of the process above what it held with inputs, outputs and their gradients allocated, so what is
counted is what the implementation needs for itself. Correctness comes first: before anything is timed, both
implementations are compared in float64, and a difference ends the run. Needs Linux, which can reset a peak.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

LIMIT_MIB = 300.0
"""What the blocked implementation may take at B = 1, T = S = 2048, A = 128."""


def main() -> None:
    options = parse()
    if options.child:
        print(json.dumps(measure(options.impls[0], options.lengths[0], options.hidden, causal=options.causal)))
        return
    verify()
    rows = [run(impl, length, options) for length in options.lengths for impl in options.impls]
    print(f"additive attention, B = 1, H = 1, A = Dv = {options.hidden}, float32, forward and backward, CPU")
    print(f"{'T = S':>8} {'implementation':>16} {'peak MiB':>10} {'forward s':>10} {'backward s':>11}")
    for row in rows:
        print(
            f"{row['length']:>8} {row['impl']:>16} {row['peak_mib']:>10.0f} {row['forward_s']:>10.2f} "
            f"{row['backward_s']:>11.2f}"
        )
    over = [row for row in rows if row["impl"] == "blocked" and row["length"] <= 2048 and row["peak_mib"] > LIMIT_MIB]
    if over:
        sys.exit(f"blocked took {over[0]['peak_mib']:.0f} MiB at {over[0]['length']}; the limit is {LIMIT_MIB:.0f}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[2048], help="T = S")
    parser.add_argument("--hidden", type=int, default=128, help="A")
    parser.add_argument("--impls", nargs="+", default=["reference", "blocked"])
    parser.add_argument("--causal", action="store_true", help="with a causal mask")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def run(impl: str, length: int, options: argparse.Namespace) -> dict[str, float | str]:
    """Measure in a fresh process, so that no run finds memory that another has left behind."""
    command = [sys.executable, str(Path(__file__)), "--child", "--impls", impl, "--lengths", str(length)]
    command += ["--hidden", str(options.hidden)] + ["--causal"] * options.causal
    outcome = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float | str] = json.loads(outcome.stdout)
    return result


def measure(impl: str, length: int, hidden: int, *, causal: bool) -> dict[str, float | str]:
    """One forward and backward pass."""
    import torch

    from regard import Mask
    from regard.ops import additive_attention

    def read(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return additive_attention(query, key, value, weight, Mask.causal() if causal else None, impl=impl).context

    inputs = [torch.randn(1, 1, length, hidden, requires_grad=True) for _ in range(3)]
    inputs.append(torch.randn(1, hidden, requires_grad=True))
    for tensor in inputs:
        tensor.grad = torch.ones_like(tensor)  # the gradients' own memory is an output
    held = torch.ones(2, 1, 1, length, hidden)  # so are the context and its gradient
    small = [tensor[..., :16, :] for tensor in inputs[:3]]
    read(*small, inputs[3]).sum().backward()  # threads, allocator and autograd are awake
    reset_peak()
    before = peak_mib()
    del held
    begin = time.perf_counter()
    context = read(*inputs)
    middle = time.perf_counter()
    context.sum().backward()
    end = time.perf_counter()
    return {
        "impl": impl,
        "length": length,
        "peak_mib": peak_mib() - before,
        "forward_s": middle - begin,
        "backward_s": end - middle,
    }


def reset_peak() -> None:
    """Let the peak start again from what the process holds now."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mib() -> float:
    """The largest resident memory of this process since `reset_peak`."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10


def verify() -> None:
    """The gate: both implementations agree in float64, in the context and every gradient."""
    import torch

    from regard import Mask
    from regard.ops import additive_attention

    torch.manual_seed(0)
    shapes = [(2, 2, 65, 33), (2, 2, 71, 33), (2, 2, 71, 7), (2, 33)]
    tensors = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    outcomes = []
    for impl in ("reference", "blocked"):
        context = additive_attention(*tensors, Mask.padding([71, 0]) & Mask.causal(), impl=impl).context
        outcomes.append([context, *torch.autograd.grad(context.square().sum(), tensors)])
    for mine, theirs in zip(*outcomes, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-10, rtol=1e-10)


if __name__ == "__main__":
    main()
