"""Cost of labels for pictures of several sizes: a glimpse network beside networks that read every pixel.

    python benchmarks/glimpses.py

Prints, per side of a picture, the multiplications and additions for one picture, the parameters, and the processor time
per picture in batches of 32 on one thread (the best of several).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from regard.systems.glimpses.glimpse_network import GlimpseNetwork
from regard.systems.glimpses.whole_image import Convolutional, FullyConnected

SIDES = (28, 60, 100, 200, 400)
BATCH, REPEATS = 32, 7
MODELS: dict[str, Callable[[int], nn.Module]] = {
    "glimpse_network, 8 glimpses of 12 x 12, 3 scales": lambda side: GlimpseNetwork(
        1, 10, size=12, scales=3, glimpses=8
    ),
    "fully_connected, 2 x 256": lambda side: FullyConnected(1, 10, height=side, width=side),
    "convolutional, 8 filters and 256": lambda side: Convolutional(1, 10, height=side, width=side),
}


def measured(model: nn.Module, side: int) -> tuple[float, float, float]:
    """Millions of operations per picture, millions of parameters, and milliseconds per picture."""
    pictures = torch.rand(BATCH, 1, side, side)
    with torch.inference_mode():
        with FlopCounterMode(display=False) as counter:
            model(pictures[:1])
        best = float("inf")
        for _ in range(REPEATS):
            begin = time.process_time()
            model(pictures)
            best = min(best, time.process_time() - begin)
    count = sum(parameter.numel() for parameter in model.parameters())
    return counter.get_total_flops() / 1e6, count / 1e6, 1e3 * best / BATCH


def main() -> None:
    """Print a table per model."""
    torch.set_num_threads(1)
    for name, made in MODELS.items():
        print(f"{name}\n  side  Mflop  Mparameters  ms")
        for side in SIDES:
            flops, parameters, milliseconds = measured(made(side).eval(), side)
            print(f"  {side:4}  {flops:5.1f}  {parameters:11.2f}  {milliseconds:.2f}")


if __name__ == "__main__":
    main()
