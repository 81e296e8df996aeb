"""Benchmark cases for timing and for the correctness gate."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from regard.bench.case import Case, Machine
from regard.bench.graph_case import GraphCase
from regard.bench.score_case import ScoreCase, Sizes

NAMES = ("scaled_dot", "bilinear", "cosine", "additive", "graph")
"""Mechanisms in table order."""


def check_mechanisms(names: Collection[str]) -> None:
    """Check that each name is a mechanism of the benchmark."""
    for name in names:
        if name not in NAMES:
            near = get_close_matches(name, NAMES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(NAMES)}"
            raise ValueError(f"nothing called {name!r} is timed; {hint}")


def timed_cases(machine: Machine, names: Collection[str], *, quick: bool) -> list[Case]:
    """Return the timed cases."""
    sizes = _QUICK if quick else _ON_GPU if machine.cuda else _ON_CPU
    return [case for case in sizes if case.mechanism in names]


def gate_cases(names: Collection[str], *, quick: bool) -> list[Case]:
    """Return the gate cases: odd sizes, every kind of mask, fully masked sequences and isolated nodes."""
    found: list[Case] = []
    for name in NAMES[:-1]:
        short = Sizes(2, 3, 7, 11, 13)
        found += [
            ScoreCase(name, short),
            ScoreCase(name, short, "padding", empty=True),
            ScoreCase(name, short, "causal"),
            ScoreCase(name, short._replace(queries=11), "causal"),
            ScoreCase(name, short._replace(queries=17), "causal"),
            ScoreCase(name, Sizes(2, 2, 33, 61, 64), "padding", empty=True),
            ScoreCase(name, Sizes(2, 1, 149, 151, 16), "window", window=5),
        ]
        if not quick:
            long = Sizes(2, 1, 547, 547, 40)
            found += [
                ScoreCase(name, long),
                ScoreCase(name, long, "causal"),
                ScoreCase(name, long, "padding", empty=True),
            ]
    found.append(GraphCase("graph", nodes=37, edges=101, heads=3, width=5))
    return [case for case in found if case.mechanism in names]


def _readings(name: str, *sizes: Sizes, window: int | None = None) -> list[Case]:
    """Return each size unmasked, padded, and causal for self-attention; the last size also with a window."""
    found: list[Case] = []
    for size in sizes:
        found += [ScoreCase(name, size), ScoreCase(name, size, "padding")]
        if size.queries == size.keys:
            found.append(ScoreCase(name, size, "causal"))
    if window is not None:
        found.append(ScoreCase(name, sizes[-1], "window", window=window))
    return found


_QUICK: list[Case] = [
    ScoreCase("scaled_dot", Sizes(2, 2, 32, 32, 16), "causal"),
    ScoreCase("bilinear", Sizes(2, 2, 32, 32, 16)),
    ScoreCase("cosine", Sizes(2, 2, 32, 32, 16)),
    ScoreCase("additive", Sizes(2, 1, 32, 32, 16), "padding"),
    GraphCase("graph", nodes=100, edges=500, heads=2, width=8),
]
_ON_CPU: list[Case] = [
    *_readings(
        "scaled_dot",
        Sizes(1, 4, 1, 30, 64),
        Sizes(32, 4, 1, 30, 64),
        Sizes(32, 4, 30, 30, 64),
        Sizes(4, 8, 256, 256, 64),
        Sizes(1, 8, 1024, 1024, 64),
        window=64,
    ),
    *_readings("bilinear", Sizes(32, 1, 1, 30, 256), Sizes(32, 1, 30, 30, 256), Sizes(4, 4, 256, 256, 64)),
    *_readings("cosine", Sizes(32, 1, 1, 128, 32), Sizes(4, 4, 256, 256, 64)),
    *_readings("additive", Sizes(32, 1, 1, 30, 256), Sizes(32, 1, 30, 30, 256), Sizes(4, 1, 256, 256, 128)),
    GraphCase("graph", nodes=1000, edges=5000, heads=8, width=8),
]
_ON_GPU: list[Case] = [
    *_readings(
        "scaled_dot",
        Sizes(64, 8, 32, 32, 64),
        Sizes(16, 16, 512, 512, 64),
        Sizes(4, 16, 4096, 4096, 128),
        window=256,
    ),
    *_readings("bilinear", Sizes(64, 1, 32, 32, 256), Sizes(16, 8, 512, 512, 64)),
    *_readings("cosine", Sizes(16, 8, 512, 512, 64)),
    *_readings("additive", Sizes(64, 1, 32, 32, 256), Sizes(16, 1, 512, 512, 128), Sizes(4, 1, 2048, 2048, 128)),
    GraphCase("graph", nodes=1000, edges=5000, heads=8, width=8),
    GraphCase("graph", nodes=4000, edges=400_000, heads=8, width=8),
]
