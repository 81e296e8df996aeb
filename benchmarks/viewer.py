"""Speed and size of views beside bertviz and circuitsvis: seconds to make, size of the page, seconds until it is drawn.

    python benchmarks/viewer.py [--chromium PATH] [--sizes 128x12x12,512x12x12,2048x1x1,10000x1x1] [--rivals]

Weights are softmaxes of random energies with a band around the diagonal and a sink on the first token, the same in all
viewers. `--rivals` also makes pages with bertviz and circuitsvis where they are installed; pages that need scripts from
elsewhere are not opened. The time until a page is drawn is `performance.now()` in the page, the best of five openings.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import regard

SIZES = "128x12x12,512x12x12,2048x1x1,10000x1x1"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def energies(size: int, first: int, last: int, generator: torch.Generator) -> Tensor:
    """Rows of random energies with a band and a sink."""
    made = 2.0 * torch.randn(last - first, size, generator=generator)
    made -= 0.02 * (torch.arange(first, last)[:, None] - torch.arange(size)).abs()
    made[:, 0] += 6.0
    return made


def weights(size: int, layers: int, heads: int) -> Tensor:
    """[L, H, T, T] of distributions."""
    generator = torch.Generator().manual_seed(0)
    made = torch.empty(layers, heads, size, size)
    for layer in range(layers):
        for head in range(heads):
            made[layer, head] = energies(size, 0, size, generator).softmax(-1)
    return made


def of_regard(given: Tensor, tokens: list[str], path: Path) -> None:
    """Our own page."""
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
    given = parser.parse_args()
    print("| viewer | tokens x layers x heads | seconds to make | MB | seconds until drawn |\n|---|---|---|---|---|")
    makers: dict[str, Callable[[Tensor, list[str], Path], Any]] = {"regard": of_regard}
    if given.rivals:
        makers |= {"bertviz": of_bertviz, "circuitsvis (one layer)": of_circuitsvis}
    for size in given.sizes.split(","):
        length, layers, heads = map(int, size.split("x"))
        made, tokens = weights(length, layers, heads), [f"t{number}" for number in range(length)]
        for name, maker in makers.items():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "view.html"
                began = time.perf_counter()
                maker(made, tokens, path)
                seconds, mega = time.perf_counter() - began, path.stat().st_size / 1e6
                ours = name == "regard" and given.chromium
                drawn = f"{min(opened(path, given.chromium)):.2f}" if ours else "not opened"
            print(f"| {name} | {length} x {layers} x {heads} | {seconds:.1f} | {mega:.1f} | {drawn} |", flush=True)


if __name__ == "__main__":
    main()
