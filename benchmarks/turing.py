"""Neural Turing Machines with tapes of the size of the paper: every task, several seeds, the LSTM beside them.

    python -m benchmarks.turing --runs runs/turing --seeds 5 --jobs 5
    python -m benchmarks.turing --only "sort, NTM" --seeds 8

trains what is not trained yet, measures it, also on more than it was trained on, and prints a table with the median of
the seeds. The machines of a trial are trained as one (`side_by_side.py`); LSTMs have a process each, and go on where
they were interrupted.

Graves, Wayne & Danihelka 2014, section 4.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import torch

from benchmarks import side_by_side
from regard.recipes.load import load

LSTM = "model={kind: rnn, hidden_dim: WIDTH, cells: {kind: lstm, num_layers: 3}}"


class Trial(NamedTuple):
    """A recipe with a model, and what else it is asked beside its own test: options of `regard evaluate --data`."""

    name: str
    recipe: str
    settings: tuple[str, ...] = ()
    asked: tuple[tuple[str, ...], ...] = ((),)


LONG = ("train.steps=6000",)
LONGER = ((), *((f"shortest={size}", f"longest={size}", "test_size=64") for size in (50, 120)))
MORE = ((), *((f"fewest={size}", f"most={size}", "test_size=320") for size in (10, 15)))
OFTEN = ((), ("least=20", "most=20", "test_size=64"))
TRIALS = (
    Trial("copy, NTM", "ntm_copy_long", asked=LONGER),
    Trial(
        "copy, NTM with LSTM", "ntm_copy_long", ("model.controller=lstm", *LONG, "train.optimizer.rate=3.0e-3"), LONGER
    ),
    Trial("copy, LSTM", "ntm_copy_long", (LSTM.replace("WIDTH", "256"), *LONG, "train.optimizer.rate=1.0e-3"), LONGER),
    Trial("recall, NTM", "ntm_recall", asked=MORE),
    Trial("recall, LSTM", "ntm_recall", (LSTM.replace("WIDTH", "256"), "train.optimizer.rate=1.0e-3"), MORE),
    Trial("repeat copy, NTM", "ntm_repeat_copy", asked=OFTEN),
    Trial("repeat copy, LSTM", "ntm_repeat_copy", (LSTM.replace("WIDTH", "256"), "train.optimizer.rate=1.0e-3"), OFTEN),
    Trial("N-grams, NTM with LSTM", "ntm_ngrams"),
    Trial(
        "N-grams, LSTM",
        "ntm_ngrams",
        (LSTM.replace("WIDTH", "128"), "train.steps=15000", "train.optimizer.rate=1.0e-3"),
    ),
    Trial("sort, NTM with LSTM", "ntm_sort"),
    Trial("sort, LSTM", "ntm_sort", ("model={kind: rnn, hidden_dim: 256}", "train.optimizer.rate=3.0e-3")),
)


def main() -> None:
    options = parse()
    chosen = [trial for trial in TRIALS if any(part in trial.name for part in options.only)]
    found = [measured(trial, options) for trial in chosen]
    print(table(chosen, found))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("settings", nargs="*", help="keys of all recipes: train.steps=500")
    parser.add_argument("--runs", type=Path, default=Path("runs/turing"), help="where the runs go")
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--jobs", type=int, default=1, help="LSTMs that are trained at a time")
    parser.add_argument(
        "--compiled", action="store_true", help="compile a step of machines, on a CPU: several times as fast"
    )
    parser.add_argument("--only", action="append", help="trials whose name has this in it")
    options = parser.parse_args()
    options.only = options.only or [""]
    return options


def measured(trial: Trial, options: argparse.Namespace) -> list[list[dict[str, float]]]:
    """Train a trial with all seeds, and ask each all that it is asked."""
    own = [settings(trial, seed, options.settings) for seed in range(1, options.seeds + 1)]
    recipes = [load(trial.recipe, one).recipe for one in own]
    folders = [options.runs / recipe.run for recipe in recipes]
    if recipes[0].model.kind == "ntm":
        left = [
            recipe for recipe, run in zip(recipes, folders, strict=True) if not (run / "model.safetensors").exists()
        ]
        if left:
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            side_by_side.train(left, options.runs, device, compiled=options.compiled)
    else:
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda one: regard("train", trial.recipe, *one, "--runs", str(options.runs)), own))
    print(f"trained {trial.name}", flush=True)
    return [[ask(run, data) for data in trial.asked] for run in folders]


def settings(trial: Trial, seed: int, others: Sequence[str]) -> list[str]:
    """What the recipe of a trial is changed by for a seed."""
    name = "".join(letter if letter.isalnum() else "_" for letter in f"{trial.name} {seed}")
    return [*trial.settings, *others, f"train.seed={seed}", f"run={name}", "evaluate.examples=0"]


def ask(run: Path, data: Sequence[str]) -> dict[str, float]:
    options = [part for one in data for part in ("--data", one)]
    found: dict[str, float] = json.loads(regard("evaluate", str(run), "--json", *options))
    return found


def regard(*arguments: str) -> str:
    """Run a command; what it prints."""
    done = subprocess.run([sys.executable, "-m", "regard", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"regard {' '.join(arguments)}: {done.stderr[-2000:]}")
    return done.stdout


def table(trials: Sequence[Trial], found: Sequence[Sequence[Sequence[dict[str, float]]]]) -> str:
    """A row for each trial and each thing it was asked: medians of the seeds, and every seed's bits."""
    lines = ["| | asked | bits per sequence | of all seeds | exact | word edits |", "|---|---|---|---|---|---|"]
    for trial, seeds in zip(trials, found, strict=True):
        for place, data in enumerate(trial.asked):
            rows = [seed[place] for seed in seeds]
            bits = [row["bits_per_sequence"] for row in rows]
            least = f" (least {rows[0]['optimum']:.1f})" if "optimum" in rows[0] else ""
            others = [
                f"{statistics.median(row[name] for row in rows):.3g}" if name in rows[0] else ""
                for name in ("exact_match", "wer")
            ]
            every = ", ".join(f"{one:.3g}" for one in sorted(bits))
            cells = (trial.name, " ".join(data[:2]), f"{statistics.median(bits):.3g}{least}", every, *others)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
