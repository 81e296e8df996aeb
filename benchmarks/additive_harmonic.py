"""Speed of harmonic additive attention on a GPU: gate, tiles, numbers of terms, and the bare matrix product.

    python -m benchmarks.additive_harmonic                    about 2 minutes
    python -m benchmarks.additive_harmonic --seconds 60       fewer tiles

Correctness first: a red gate prints no times. A forward pass has B · T · S · A tanh; features are made in every run.
`device ms` is the time on the GPU, of a captured graph; `eager ms` that of the same calls one by one, as Python makes
them; `measured ms` with the span measured instead of promised. `error` is that of the context against float64, for the
first sequence, `of plain` its share of that of the equation in bfloat16. `product` is torch.matmul of ready features.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import starmap

import torch
from torch import Tensor

from benchmarks.additive_speed import SHAPES, eager_ms, error, graph_ms, inputs, plain_read
from regard import Mask
from regard.ops.additive import harmonic, harmonic_reference
from regard.ops.additive.harmonic_fit import TOLERANCE, HarmonicFit, choose, fits
from regard.ops.additive.launch import FeatureTile, HarmonicTile, choose_tile

Shape = tuple[int, int, int, int]
_PROMISE = 10.0  # no |q + k| of numbers like these exceeds it
# Rows, columns, depth, warps, stages, one pipeline over all tiles, programs at once; the likely ones first.
TILES = list(starmap(HarmonicTile, [
    (128, 256, 64, 8, 3, False), (128, 256, 64, 8, 4, False), (128, 256, 64, 8, 3, True),
    (64, 256, 64, 4, 2, False, 264), (128, 128, 64, 8, 4, False), (64, 256, 64, 4, 4, False),
    (128, 256, 128, 8, 2, False), (64, 128, 64, 4, 4, False, 264), (128, 128, 64, 8, 4, True),
    (128, 128, 128, 8, 3, False), (64, 256, 64, 4, 3, True), (128, 256, 32, 8, 5, False),
    (64, 128, 128, 4, 2, False, 264), (64, 128, 64, 4, 3, True, 264), (128, 256, 64, 8, 2, True),
]))  # fmt: skip
# Elements, columns and warps of the program that makes the features.
FEATURES = list(starmap(FeatureTile, [
    (1024, 128, 4), (4096, 128, 4), (4096, 128, 8), (1024, 128, 2), (2048, 64, 4), (2048, 128, 8), (2048, 32, 4),
]))  # fmt: skip


def main() -> None:
    options = parse()
    if not torch.cuda.is_available():
        sys.exit(
            "this benchmark times a GPU, and there is none; tests/ops/test_additive_harmonic.py checks without one"
        )
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    torch.manual_seed(0)
    begin = time.perf_counter()
    gate()
    turns = {shape: [inputs(shape, torch.bfloat16, grad=False) for _ in range(4)] for shape in SHAPES}
    fits = {shape: fit_for(turns[shape], TOLERANCE[torch.bfloat16]) for shape in SHAPES}
    rows = [row for shape in SHAPES for row in products(shape, fits[shape])]
    best = sweep(turns, fits, until=begin + options.seconds)
    for shape in SHAPES:
        rows += terms(shape, turns[shape], best[shape])
        rows += in_one_kernel(shape, turns[shape])
    heads = ("B, T, S, A", "way", "N", "device ms", "Ttanh/s", "eager ms", "measured ms", "error", "of plain")
    print("\n{:>20} {:>52} {:>3} {:>10} {:>8} {:>9} {:>12} {:>9} {:>9}".format(*heads))
    print("\n".join(rows))
    print("best tiles:", *(f"{label(shape)}: {describe(tile)}" for shape, tile in best.items()), sep="\n  ")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=90.0, help="when to stop looking for tiles, gate included")
    return parser.parse_args()


def gate() -> None:
    """Context within twice the error of the equation in bfloat16, gradients as `fused`, the same bits every time."""
    failures = 0
    for shape, mask in (
        ((3, 257, 300, 67), None),
        ((3, 257, 300, 67), Mask.causal()),
        ((3, 257, 300, 67), Mask.padding([300, 0, 129])),
        ((2, 512, 512, 128), None),
        ((1, 2048, 2048, 128), None),
    ):
        failures += wrong(shape, mask)
    ready = inputs((4, 2048, 2048, 128), torch.bfloat16, grad=False)
    once = harmonic.attention(*ready, None, span=10.0).context
    failures += sum(not torch.equal(once, harmonic.attention(*ready, None, span=10.0).context) for _ in range(10))
    if failures:
        sys.exit(f"the gate is red: {failures} outcomes are wrong, so nothing is timed")
    print("gate: green", flush=True)


def wrong(shape: Shape, mask: Mask | None) -> int:
    """How many of the context and its gradients err too much; gradients at the smaller shapes only."""
    ready = inputs(shape, torch.bfloat16, grad=shape[1] < 512)
    wide = [tensor.detach().double().requires_grad_(tensor.requires_grad) for tensor in ready]
    truth, plain = plain_read(*wide, mask), equation(*ready, mask)
    mine = harmonic.attention(*ready, mask).context
    outcomes = [("context", truth, plain, mine)]
    if ready[0].requires_grad:
        slope = torch.linspace(-1, 1, truth.numel(), device="cuda").view_as(truth).bfloat16()
        slopes = [torch.autograd.grad(out, of, slope.to(out.dtype)) for out, of in
                  ((truth, wide), (plain_read(*ready, mask), ready), (mine, ready))]  # fmt: skip
        outcomes += list(zip(("query", "key", "value", "weight"), *slopes, strict=True))
        scale = max(float(part.abs().max()) for part in slopes[0])
    count = 0
    for part, true, theirs, ours in outcomes:
        step = 0.0 if part == "context" else torch.finfo(torch.bfloat16).eps * scale
        budget = 2 * error(theirs, true) + step
        fine = error(ours, true) <= budget
        count += not fine
        if part == "context" or not fine:
            verdict = "" if fine else "TOO MUCH"
            print(f"{label(shape)} {mask}: {part} errs by {error(ours, true):.2e}, allowed {budget:.2e} {verdict}")
    return count


def equation(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, mask: Mask | None) -> Tensor:
    """The equation written down plainly, all in the dtype of the inputs."""
    energy = (torch.tanh(query.unsqueeze(3) + key.unsqueeze(2)) * weight[:, None, None]).sum(-1)
    if mask is not None:
        energy = energy.masked_fill(
            ~mask.to(energy.device).allowed(tuple(energy.shape), device=energy.device), -torch.inf
        )
    return energy.softmax(-1).nan_to_num(0.0) @ value


def fit_for(turns: list[list[Tensor]], tolerance: float) -> HarmonicFit:
    """The fit that covers all of these inputs."""
    fit = choose(max(harmonic_reference.span(*ready[:2])[0] for ready in turns), tolerance)
    assert fit is not None
    return fit


def products(shape: Shape, fit: HarmonicFit) -> list[str]:
    """The matrix product of the scores alone, as a ceiling."""
    batch, queries, keys, width = shape
    left, right = (
        torch.randn(batch, rows, 2 * fit.terms * width, device="cuda", dtype=torch.float16) for rows in (queries, keys)
    )
    return [row(shape, "product, scores only", fit.terms, graph_ms(lambda turn: left @ right.mT))]


def sweep(
    turns: dict[Shape, list[list[Tensor]]], fits: dict[Shape, HarmonicFit], *, until: float
) -> dict[Shape, HarmonicTile]:
    """The fastest tile at each shape, in the time given: features with the first tile, others with the best."""
    best = {shape: (float("inf"), choose_tile(shape[1], shape[2], dense=False, interpreted=False)) for shape in SHAPES}
    steps: list[HarmonicTile | FeatureTile] = [TILES[0], *FEATURES, *TILES[1:]]
    for step in steps:
        if time.perf_counter() > until:
            print(f"no time left for {step} and what follows", flush=True)
            break
        for shape in SHAPES:
            tile = combined(best[shape][1], step)
            try:
                check(turns[shape], fits[shape], tile)
                took = graph_ms(read(turns[shape], fits[shape], tile))
            except Exception as problem:  # a tile that does not compile or does not fit is no candidate
                print(f"{describe(tile)}: {type(problem).__name__} {str(problem)[:80]}", flush=True)
                break
            print(row(shape, describe(tile), fits[shape].terms, took), flush=True)
            best[shape] = min(best[shape], (took, tile), key=lambda pair: pair[0])
    return {shape: tile for shape, (_, tile) in best.items()}


def combined(tile: HarmonicTile, step: HarmonicTile | FeatureTile) -> HarmonicTile:
    """A tile with other features, or another tile with the features of this one."""
    if isinstance(step, FeatureTile):
        return replace(tile, features=step)
    return replace(step, features=tile.features)


def check(turns: list[list[Tensor]], fit: HarmonicFit, tile: HarmonicTile) -> None:
    """A tile reads what the gated one reads, but for roundings."""
    rule = choose_tile(turns[0][0].shape[2], turns[0][1].shape[2], dense=False, interpreted=False)
    gated = harmonic.attention(*turns[0], None, span=fit.span, tolerance=fit.error, tile=rule).context
    largest = float(gated.abs().max())
    if not error(read(turns, fit, tile)(0), gated.double()) <= torch.finfo(gated.dtype).eps * largest:
        raise ValueError("reads something else than the gated tile")


def terms(shape: Shape, turns: list[list[Tensor]], tile: HarmonicTile) -> list[str]:
    """The best tile with as many terms as several tolerances ask for."""
    rows = []
    span = fit_for(turns, TOLERANCE[torch.bfloat16]).span
    first = [tensor[:1] for tensor in turns[0]]
    truth = plain_read(*(tensor.double() for tensor in first), None)
    plain = error(equation(*first, None), truth)
    for fit in (fit for fit in fits() if fit.span == span and 1e-4 <= fit.error <= 1e-2):
        run = read(turns, fit, tile)
        device, eager = graph_ms(run), eager_ms(run, budget_s=0.2)

        def measured(turn: int, tolerance: float = fit.error) -> Tensor:
            return harmonic.attention(*turns[turn % 4], None, tolerance=tolerance, tile=tile).context

        took = eager_ms(measured, budget_s=0.2)
        off = error(run(0)[:1], truth)
        way = f"harmonic, tanh within {fit.error:.1e}"
        rows.append(f"{row(shape, way, fit.terms, device)} {eager:>9.3f} {took:>12.3f} {off:>9.1e} {off / plain:>9.2f}")
    return rows


def in_one_kernel(shape: Shape, turns: list[list[Tensor]]) -> list[str]:
    """The kernel that makes features on the way, where it can read; the promise is checked."""
    query, key, value, _ = turns[0]
    fit = choose(_PROMISE, TOLERANCE[torch.bfloat16], even=True)
    if fit is None or not harmonic.fits_one_kernel(query, key, value, None):
        return []

    def run(turn: int) -> Tensor:
        return harmonic.attention(*turns[turn % len(turns)], None, span=_PROMISE).context

    first = [tensor[:1] for tensor in turns[0]]
    truth = plain_read(*(tensor.double() for tensor in first), None)
    device, eager = graph_ms(run), eager_ms(run, budget_s=0.2)
    off, plain = error(run(0)[:1], truth), error(equation(*first, None), truth)
    way = f"in one kernel, tanh within {fit.error:.1e} up to {_PROMISE:.0f}"
    return [f"{row(shape, way, fit.terms, device)} {eager:>9.3f} {'':>12} {off:>9.1e} {off / plain:>9.2f}"]


def read(turns: list[list[Tensor]], fit: HarmonicFit, tile: HarmonicTile) -> Callable[[int], Tensor]:
    """A forward pass with a promised span, over inputs that take turns."""

    def run(turn: int) -> Tensor:
        ready = turns[turn % len(turns)]
        return harmonic.attention(*ready, None, span=fit.span, tolerance=fit.error, tile=tile).context

    return run


def row(shape: Shape, way: str, count: int, took: float) -> str:
    batch, queries, keys, width = shape
    return f"{label(shape):>20} {way:>52} {count:>3} {took:>10.4f} {batch * queries * keys * width / took / 1e9:>8.2f}"


def label(shape: Shape) -> str:
    return ", ".join(map(str, shape))


def describe(tile: HarmonicTile) -> str:
    """A tile in a few words."""
    flat = ", flat" if tile.flatten else ""
    at_once = f", {tile.processors} programs" if tile.processors else ""
    made = tile.features
    other = "" if made == FeatureTile() else f", features {made.elements}/{made.columns}, {made.warps} warps"
    sizes = f"{tile.rows} x {tile.columns} x {tile.depth}, {tile.warps} warps, {tile.stages} stages"
    return f"{sizes}{flat}{at_once}{other}"


if __name__ == "__main__":
    main()
