"""Table and pictures of `soft_and_hard.py`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from benchmarks.lookers import FRAMES, WAYS
from regard.specials import EOS, PAD

LEVELS = {"dates": 3.0, "scenes": 4.5}
"""Nats per text that count as learned; a date alone has 11, a caption 10."""
SIZES = (128, 1024, 8192)
READS = 16
LATER = 200
"""Updates before the second measurement of the variance."""
GLIMPSE = "glimpse"
Results = dict[str, dict[str, Any]]


def table(results: Results) -> str:
    """Return the table in Markdown."""
    head = ["way", "deterministic", "exact gradient", f"ms per read, S = {SIZES[0]}", f"S = {SIZES[-1]}", "grows as",
            "variance at the beginning", f"after {LATER} updates", "updates on dates", "on scenes"]  # fmt: skip
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {name} | {' | '.join(_cells(name, results))} |" for name in (*WAYS, GLIMPSE)]
    return "\n".join(lines)


def _cells(name: str, results: Results) -> Iterator[str]:
    variance = results.get("variance", {})
    begin, later = (variance.get(f"{name} after {updates}") for updates in (0, LATER))
    yield "" if begin is None else ("yes" if begin["deterministic"] else "no")
    yield "" if begin is None else ("yes" if begin["deterministic"] else "unbiased estimate")
    times = {int(size): value for size, value in results.get("cost", {}).get(name, {}).items()}
    small, large = (times.get(size) for size in (SIZES[0], SIZES[-1]))
    yield "" if small is None else f"{small:.2f}"
    yield "" if large is None else f"{large:.2f}"
    yield "" if len(times) < 2 else f"S^{_exponent(times):.2f}"
    yield "" if begin is None else f"{begin['variance']:.3g}"
    yield "" if later is None else f"{later['variance']:.3g}"
    for data in LEVELS:
        yield _reached(results.get(data, {}).get(name, []), LEVELS[data])


def _exponent(times: Mapping[int, float]) -> float:
    """Return x of time ~ S^x between the two largest sizes."""
    before, last = sorted(times)[-2:]
    return math.log(times[last] / times[before]) / math.log(last / before)


def _reached(curves: Sequence[Sequence[Sequence[float]]], level: float) -> str:
    """Return median and range of the updates to a level; the loss where most seeds did not reach it."""
    if not curves:
        return ""
    ends = [one[-1] for one in curves]
    most = max(int(update) for update, _ in ends)
    counts = sorted(update if loss <= level else math.inf for update, loss in ends)
    if (median := statistics.median(counts)) == math.inf:
        return f"> {most:,} ({statistics.median(loss for _, loss in ends):.1f} nats then)"
    last = f"> {most:,}" if counts[-1] == math.inf else f"{counts[-1]:.0f}"
    return f"{median:.0f} ({counts[0]:.0f} to {last})"


def draw(results: Results, path: Path) -> None:
    """Draw curves of both data, cost by length, and variances."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(11, 7.5), layout="constrained")
    colours = {name: f"C{number}" for number, name in enumerate((*WAYS, GLIMPSE))}
    for axis, data in zip(axes[0], LEVELS, strict=True):
        for name, curves in results.get(data, {}).items():
            for one in curves:
                axis.plot(*zip(*one, strict=True), color=colours[name], lw=1, label=name if one is curves[0] else None)
        axis.axhline(LEVELS[data], color="0.6", lw=0.8, ls="--")
        axis.set(xlabel="updates", ylabel="-log p(y | x), nats per text", title=data, ylim=(0, 20))
    axes[0, 0].legend(fontsize=7)
    for name, times in results.get("cost", {}).items():
        axes[1, 0].loglog(
            [int(size) for size in times], list(times.values()), "o-", ms=3, color=colours[name], label=name
        )
    axes[1, 0].set(xlabel="states S (glimpse: pixels)", ylabel="ms per read", title="forward and backward")
    axes[1, 0].legend(fontsize=7)
    drawn = [
        name
        for name in WAYS
        if not results.get("variance", {}).get(f"{name} after 0", {"deterministic": 1})["deterministic"]
    ]
    for shift, updates in ((-0.2, 0), (0.2, LATER)):
        values = [results["variance"].get(f"{name} after {updates}", {"variance": 0})["variance"] for name in drawn]
        axes[1, 1].barh(
            [place + shift for place in range(len(drawn))], values, height=0.38, label=f"after {updates} updates"
        )
    axes[1, 1].set_yticks(range(len(drawn)), [name.replace(", ", ",\n") for name in drawn], fontsize=8)
    axes[1, 1].set(
        xscale="log",
        xlabel="variance / squared norm of the exact gradient",
        title="variance of the gradient (all others: 0)",
    )
    axes[1, 1].legend(fontsize=7)
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_ctc(parts: Sequence[Tensor], letters: Sequence[str], symbols: Sequence[str], path: Path) -> None:
    """Draw softmax, occupancy and gradient of one date, frames from left to right under the letters of the source."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(3, 1, figsize=(8, 7.5), layout="constrained", sharex=True)
    titles = ("y = softmax of the logits", "γ = occupancy, by forward-backward", "∂L/∂logits, by autograd")
    for axis, part, title in zip(axes, parts, titles, strict=True):
        used = [PAD, *sorted(range(EOS + 1, len(symbols)), key=lambda index: symbols[index])]  # the blank, and dates
        least = -1.0 if part.min() < 0 else 0.0
        shown = axis.imshow(part[:, used].T, aspect="auto", cmap="RdBu" if least else "Blues", vmin=least, vmax=1.0)
        axis.set_yticks(range(len(used)), ["blank", *(symbols[index] for index in used[1:])], fontsize=7)
        axis.set_title(title, fontsize=9, loc="left")
        figure.colorbar(shown, ax=axis, pad=0.01, fraction=0.03)
    axes[-1].set_xticks([FRAMES * place + 0.5 for place in range(len(letters))], letters)
    axes[-1].set_xlabel(f"frames, {FRAMES} per character of the source", fontsize=8)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
