"""Speed and size of views beside bertviz and circuitsvis: time to make, size of the page, time until it is drawn.

    python benchmarks/viewer.py [--chromium PATH] [--sizes 128x12x12,512x12x12,2048x1x1,10000x1x1] [--rivals]
    python benchmarks/viewer.py --sizes 100000x1x1              # minutes: 10^10 weights, made row by row
    python benchmarks/viewer.py --run runs/bert --text FILE     # weights of a trained BERT that reads a text

Weights are softmaxes of random energies with a band around the diagonal and a sink on the first token, the same in all
viewers. Seconds to make are those of a clock, which other programs on the machine lengthen, and those of a core without
the making of weights row by row. Memory is the most that the process held. `--rivals` also makes pages
with bertviz and circuitsvis where they are installed; pages that need scripts from elsewhere are not opened. The time
until a page is drawn is `performance.now()` in the page, the best of five openings.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import regard
from regard.explain.panel import HeadsPanel

SIZES = "128x12x12,512x12x12,2048x1x1,10000x1x1"
REACH = 2_000
HELD = 10_000
"""Tokens above which weights are made while they are drawn."""
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def energies(size: int, first: int, last: int, generator: torch.Generator) -> Tensor:
    """Rows of random energies with a band and a sink."""
    made = torch.randn(last - first, size, generator=generator).mul_(2.0)
    made -= (torch.arange(first, last, dtype=torch.float32)[:, None] - torch.arange(size)).abs_().mul_(0.02)
    made[:, 0] += 6.0
    return made


@dataclass
class Long:
    """A map whose rows are made when they are asked for, each from a seed of its own; `seconds` is what that takes.

    Further than `REACH` from the diagonal, where weights would be below 1e-15, they are zero.
    """

    size: int
    seconds: float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """One layer, one head."""
        return 1, 1

    def make(self, first: int, last: int) -> Tensor:
        """Rows of weights."""
        began = time.process_time()
        made = torch.zeros(last - first, self.size)
        away = torch.arange(-REACH, REACH + 1, dtype=torch.float32).abs_().mul_(0.02)
        for row in range(first, last):
            band = torch.randn(2 * REACH + 2, generator=torch.Generator().manual_seed(row)).mul_(2.0)
            low, high = max(0, row - REACH), min(self.size, row + REACH + 1)
            near = band[1:][low - row + REACH : high - row + REACH] - away[low - row + REACH : high - row + REACH]
            found = torch.cat([band[:1] - 0.02 * row + 6.0, near[1:] if low == 0 else near]).softmax(0)
            made[row - first, 0], made[row - first, max(1, low) : high] = found[0], found[1:]
        self.seconds += time.process_time() - began
        return made


def weights(size: int, layers: int, heads: int) -> Tensor:
    """[L, H, T, T] of distributions."""
    generator = torch.Generator().manual_seed(0)
    made = torch.empty(layers, heads, size, size)
    for layer in range(layers):
        for head in range(heads):
            made[layer, head] = energies(size, 0, size, generator).softmax(-1)
    return made


def of_run(run: Path, text: str) -> tuple[Tensor, list[str]]:
    """[L, H, T, T] of a trained model's self-attention that reads a text, and its tokens."""
    panels = regard.load(run, device="cpu").view(text).panels
    panel = next(panel for panel in panels if isinstance(panel, HeadsPanel) and panel.kind == "self")
    return panel.weights, list(panel.columns)


def of_regard(given: Tensor | Long, tokens: list[str], path: Path) -> None:
    """Our own page."""
    if isinstance(given, Long):
        rows = regard.view.LazyRows((given.size, given.size), given.make)
        regard.view.heatmap(rows, tokens, tokens).save(path)
        return
    one = given.shape[:2] == (1, 1)
    view = regard.view.heatmap(given[0, 0], tokens, tokens) if one else regard.view.heads(given, tokens)
    view.save(path)


def of_bertviz(given: Tensor, tokens: list[str], path: Path) -> None:
    """The head view of bertviz."""
    from bertviz import head_view

    page = head_view([layer[None] for layer in given], tokens, html_action="return")
    path.write_text(page.data, encoding="utf-8")


def of_circuitsvis(given: Tensor, tokens: list[str], path: Path) -> None:
    """The attention patterns of circuitsvis, of the first layer."""
    from circuitsvis.attention import attention_patterns

    path.write_text(str(attention_patterns(tokens=tokens, attention=given[0])), encoding="utf-8")


def opened(path: Path, chromium: str) -> Iterator[float]:
    """Seconds until everything is drawn, at each opening."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for _ in range(5):
            page = browser.new_page()
            page.goto(path.as_uri(), timeout=300_000)
            page.wait_for_selector("section.regard[data-drawn]", timeout=300_000)
            yield float(page.locator("section.regard").get_attribute("data-drawn") or "nan") / 1000
            page.close()
        browser.close()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--run", type=Path, help="folder of a run with self-attention, in place of random weights")
    parser.add_argument("--text", type=Path, help="file of a text that it reads")
    given = parser.parse_args()
    print(
        "| viewer | tokens x layers x heads | seconds to make | of a core | MB | seconds until drawn | MB of memory |"
    )
    print("|---|---|---|---|---|---|---|")
    if given.run is not None:
        held, tokens = of_run(given.run, " ".join(given.text.read_text(encoding="utf-8").split()))
        measure("regard, trained", of_regard, held, tokens, given.chromium)
        return
    for size in given.sizes.split(","):
        length, layers, heads = map(int, size.split("x"))
        made, tokens = made_of(length, layers, heads), [f"t{number}" for number in range(length)]
        measure("regard", of_regard, made, tokens, given.chromium)
        if given.rivals:
            measure("bertviz", of_bertviz, made, tokens, None)
            measure("circuitsvis (one layer)", of_circuitsvis, made, tokens, None)


def made_of(length: int, layers: int, heads: int) -> Tensor | Long:
    """Weights, of a very long text those that are made while they are drawn."""
    if length <= HELD:
        return weights(length, layers, heads)
    if (layers, heads) != (1, 1):
        raise SystemExit(f"{length} tokens are for one layer and one head: --sizes {length}x1x1")
    return Long(length)


def measure(name: str, maker: Callable[..., Any], given: Any, tokens: list[str], chromium: str | None) -> None:
    """Print a line of the table: a page made, and opened where there is a browser."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "view.html"
        began = time.perf_counter(), time.process_time()
        maker(given, tokens, path)
        seconds, of_a_core = time.perf_counter() - began[0], time.process_time() - began[1]
        of_a_core -= getattr(given, "seconds", 0.0)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        drawn = f"{min(opened(path, chromium)):.2f}" if chromium else "not opened"
        size = " x ".join(map(str, (len(tokens), *given.shape[:2])))
        megabytes = path.stat().st_size / 1e6
        line = f"{seconds:.1f} | {of_a_core:.1f} | {megabytes:.1f} | {drawn} | {memory:.0f}"
        print(f"| {name} | {size} | {line} |", flush=True)


if __name__ == "__main__":
    main()
