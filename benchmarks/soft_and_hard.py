"""Soft attention beside hard attention: exactness and variance of the gradient, cost, and updates to the same loss.

    python -m benchmarks.soft_and_hard --folder runs/soft_and_hard            # all parts, about 25 minutes of one core
    python -m benchmarks.soft_and_hard --folder runs/soft_and_hard --parts variance
    python -m benchmarks.soft_and_hard --quick                                # a minute: does it run?

One network (`lookers.py`) looks at its source in eight ways; the data are generated: dates in many languages to ISO
dates, and captions of pictures of coloured shapes. On one thread of a CPU, without dropout.

- `variance`: Σ_i Var(g_i) / |E g|² over the parameters of the score (of CTC, its output layer), for repeated draws at
  the same parameters and the same 32 dates, before training and after 200 updates. E g is exact: the gradient of the
  expectation, summed over all places. `bias` is |mean of the draws - E g|² over its expected square, 1 without bias.
- `cost`: forward and backward of a read of S states, one of 16. The row `glimpse` is a retina of a fixed size, whose
  places depend on no scores of all places (Mnih et al. 2014).
- `ctc`: the gradient of the loss of CTC after 400 updates on dates, beside softmax - occupancy; draws ctc_gradient.png.
- `dates`, `scenes`: updates until -log p(y | x) of 256 held-out texts is below a level; the same Adam for all, median
  and range of 3 seeds. Hard attention is measured by its exact likelihood, which sums over all places.

What is done already (`results.json` in the folder) is not done again. Writes table.md and soft_and_hard.png there.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.lookers import (
    FRAMES,
    WAYS,
    WIDTH,
    Batch,
    Loss,
    Network,
    Way,
    ctc_frames,
    dates_network,
    expected_loss,
    padded,
    rows_of,
    scenes_network,
    shuffled,
)
from benchmarks.looking_table import GLIMPSE, LATER, LEVELS, READS, SIZES, Results, draw, draw_ctc, table
from regard.data import Tokenizer
from regard.models.encoded import Encoded
from regard.nn.glimpse import Glimpse
from regard.ops.ctc import ctc_alignment, ctc_losses
from regard.specials import BOS, EOS, PAD
from regard.systems.captions.scenes import Scenes
from regard.systems.translation.dates import Dates

RATE, CLIP, SENTENCES, HELD_OUT = 4e-3, 1.0, 32, 256
EVERY = 20
"""Updates between two measurements."""
PARTS = ("variance", "cost", "ctc", "dates", "scenes")


class Given(nn.Module):
    """An encoder that returns the states that it is given."""

    output_dim = WIDTH

    def forward(self, states: Tensor, lengths: Tensor | None = None) -> Encoded:
        return Encoded(states, states.mean(1), None)


class Task:
    """Training and held-out examples of one kind of data, and networks for them."""

    def __init__(self, name: str, examples: int) -> None:
        texts: list[str]
        if name == "dates":
            pairs = [one.fields for one in Dates("train", size=examples)]
            texts = [one["target"] for one in pairs]
            sources = [one["source"].lower() for one in pairs]
            reader = Tokenizer.train(iter(sources), kind="characters")
            rows, self.letters = reader.encode_all(sources), reader.vocabulary()
            source, lengths = padded(rows), torch.tensor([len(row) for row in rows])
            self.make: Callable[[Way], Network] = lambda way: dates_network(way, reader.size, self.size)
        else:
            pictured = [one.fields for one in Scenes("train", size=examples)]
            texts = [one["caption"] for one in pictured]
            source = torch.from_numpy(np.stack([one["picture"].source for one in pictured]))
            lengths = None
            self.make = lambda way: scenes_network(way, self.size)
        writer = Tokenizer.train(iter(texts), kind="characters" if name == "dates" else "words")
        self.size, self.symbols = writer.size, writer.vocabulary()
        target = padded([[BOS, *row, EOS] for row in writer.encode_all(texts)])
        whole = Batch(source, lengths, target)
        self.train = rows_of(whole, torch.arange(examples - HELD_OUT))
        self.held_out = rows_of(whole, torch.arange(examples - HELD_OUT, examples))


def trained(network: Network, loss: Loss, task: Task, seed: int, updates: int, clip: float = CLIP) -> Iterator[int]:
    """Train a network; yield the number of updates before each, and once behind the last."""
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    for update, batch in enumerate(islice(shuffled(task.train, SENTENCES, seed), updates)):
        yield update
        network.train()
        optimizer.zero_grad()
        loss(network, batch).backward()
        nn.utils.clip_grad_norm_(network.parameters(), clip)
        optimizer.step()
    yield updates


def curve(way: Way, task: Task, seed: int, updates: int, level: float) -> list[tuple[int, float]]:
    """Return the held-out loss by the number of updates, until it is below the level."""
    torch.manual_seed(seed)
    network, loss = task.make(way), way.loss()
    found: list[tuple[int, float]] = []
    for update in trained(network, loss, task, seed, updates):
        if update % EVERY == 0:
            network.eval()
            with torch.no_grad():
                found.append((update, way.nll(network, task.held_out).item()))
            if found[-1][1] <= level:
                break
    return found


def gradient(network: Network, loss: Loss, batch: Batch, *, ctc: bool) -> Tensor:
    """Return the gradient of the parameters that decide where the network looks."""
    part = network.ctc if ctc else network.attention.score
    network.zero_grad()
    loss(network, batch).backward()
    return torch.cat([one.grad.flatten() for one in part.parameters() if one.grad is not None])


def variance(way: Way, network: Network, batch: Batch, draws: int, *, ctc: bool) -> dict[str, float]:
    """Return variance and bias of the estimate of a gradient, relative to what it estimates."""
    loss = way.loss()
    drawn = network.attention.align.__class__.__name__ == "Hard"
    exact = gradient(network, expected_loss if drawn else loss, batch, ctc=ctc)
    for _ in range(40 if drawn else 0):  # a moving baseline arrives at the rewards of this batch
        with torch.no_grad():
            loss(network, batch)
    if isinstance(baseline := getattr(loss, "baseline", None), nn.Module):
        baseline.eval()  # and is a constant from here on, as between two batches
    seen = torch.stack([gradient(network, loss, batch, ctc=ctc) for _ in range(draws)])
    spread = seen.var(0).sum().item()
    bias = (seen.mean(0) - exact).square().sum().item()
    norm = exact.square().sum().item()
    return {
        "variance": spread / norm,
        "bias": bias / (spread / draws) if spread > 1e-9 * norm else math.sqrt(bias / norm),
        "deterministic": float(spread <= 1e-9 * norm),
    }


def variances(draws: int, before: Sequence[int]) -> dict[str, Any]:
    """Return the variance of each way after some updates of the exact expectation."""
    task, found = Task("dates", 2000), dict[str, Any]()
    for updates in before:
        for name, way in WAYS.items():
            torch.manual_seed(1)
            network = task.make(way)
            exact = WAYS["hard, expectation summed"] if "hard" in name else way
            for _ in trained(network, exact.loss(), task, 1, updates):
                pass
            batch = next(shuffled(task.train, SENTENCES, 99))
            found[f"{name} after {updates}"] = variance(way, network, batch, draws, ctc=name == "CTC")
            print(f"{name}, {updates} updates: {found[f'{name} after {updates}']}", flush=True)
    return found


def costs(sizes: Sequence[int], repeats: int) -> dict[str, Any]:
    """Return the milliseconds of forward and backward of a read, by the number of states."""
    found: dict[str, Any] = {}
    for name, way in WAYS.items():
        torch.manual_seed(1)
        network = Network(Given(), 32, way.align())
        found[name] = {size: _milliseconds(partial(_read, network, way.loss(), size), repeats) for size in sizes}
        print(f"{name}: {found[name]}", flush=True)
    retina = Glimpse(1, size=8, hidden_dim=WIDTH, output_dim=WIDTH)
    found[GLIMPSE] = {size: _milliseconds(partial(_look, retina, size), repeats) for size in sizes}
    return found


def _read(network: Network, loss: Loss, size: int) -> Callable[[], None]:
    """Return what reads that many states: forward and backward of `READS` symbols."""
    states = torch.randn(1, size, WIDTH, requires_grad=True)
    batch = Batch(states, None, torch.randint(4, 32, (1, READS + 1)))
    return lambda: loss(network, batch).backward()


def _look(retina: Glimpse, pixels: int) -> Callable[[], None]:
    """Return what looks at a picture of that many pixels, `READS` times."""
    side, places = math.isqrt(pixels), torch.rand(READS, 1, 2) * 2 - 1
    picture = torch.rand(1, 1, side, side)
    return lambda: torch.stack([retina(picture, place) for place in places]).sum().backward()


def _milliseconds(make: Callable[[], Callable[[], None]], repeats: int) -> float:
    """Return the processor time per read, the best of several."""
    run, best = make(), math.inf
    run()
    for _ in range(repeats):
        begin = time.process_time()
        run()
        best = min(best, time.process_time() - begin)
    return 1e3 * best / READS


def learning(name: str, seeds: int, updates: int, examples: int) -> dict[str, Any]:
    """Return the curves of each way, one per seed."""
    task, found = Task(name, examples), dict[str, Any]()
    for way_name, way in WAYS.items():
        if name == "scenes" and not way.pictures:
            continue
        found[way_name] = [curve(way, task, seed, updates, LEVELS[name]) for seed in range(1, seeds + 1)]
        print(f"{name}, {way_name}: {[one[-1] for one in found[way_name]]}", flush=True)
    return found


def tractable(folder: Path, updates: int) -> dict[str, Any]:
    """Return the largest difference of the gradient of CTC from softmax - occupancy, and draw both for one date."""
    task, way = Task("dates", 2000), WAYS["CTC"]
    torch.manual_seed(1)
    network = task.make(way)
    for _ in trained(network, way.loss(), task, 1, updates):
        pass
    batch = rows_of(task.held_out, torch.arange(8))
    frames, lengths, symbols = ctc_frames(network, batch)
    logits = network.ctc.label_map(frames).detach().requires_grad_()
    log_probs = logits.log_softmax(-1)
    ctc_losses(log_probs, batch.wanted[:, :-1], lengths, symbols, blank=PAD).sum().backward()
    assert logits.grad is not None
    occupancy = ctc_alignment(log_probs.detach(), batch.wanted[:, :-1], lengths, symbols).occupancy
    inside = torch.arange(logits.shape[1]) < lengths.unsqueeze(1)
    difference = log_probs.detach().exp() - occupancy
    chosen = slice(0, int(lengths[0]))
    shown = [log_probs[0, chosen].detach().exp(), occupancy[0, chosen], logits.grad[0, chosen]]
    letters = [task.letters[index] for index in batch.source[0, : int(lengths[0]) // FRAMES].tolist()]
    draw_ctc(shown, letters, task.symbols, folder / "ctc_gradient.png")
    return {"largest difference": (logits.grad - difference)[inside].abs().max().item()}


def parts(folder: Path, *, quick: bool) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what measures each part."""
    if quick:
        return {
            "variance": lambda: variances(8, (0,)),
            "cost": lambda: costs((64, 256), 1),
            "ctc": lambda: tractable(folder, 20),
            "dates": lambda: learning("dates", 1, 20, 400),
            "scenes": lambda: learning("scenes", 1, 20, 400),
        }
    return {
        "variance": lambda: variances(400, (0, LATER)),
        "cost": lambda: costs(SIZES, 7),
        "ctc": lambda: tractable(folder, 400),
        "dates": lambda: learning("dates", 3, 1000, 4000),
        "scenes": lambda: learning("scenes", 3, 600, 4000),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/soft_and_hard"), help="where results are kept")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="few draws, updates and seeds")
    options = parser.parse_args()
    torch.set_num_threads(1)
    folder = options.folder / "quick" if options.quick else options.folder
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "results.json"
    results: Results = json.loads(kept.read_text()) if kept.exists() else {}
    for name in options.parts:
        if name not in results:
            begun = time.perf_counter()
            results[name] = parts(folder, quick=options.quick)[name]()
            print(f"{name}: {time.perf_counter() - begun:.0f} s", flush=True)
            kept.write_text(json.dumps(results))
    results = json.loads(kept.read_text())  # with strings for keys, as a later call has them
    (folder / "table.md").write_text(table(results) + "\n")
    print(table(results), flush=True)
    draw(results, folder / "soft_and_hard.png")


if __name__ == "__main__":
    main()
