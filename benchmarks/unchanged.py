"""Two checkouts side by side: the same recipes give the same metrics to the last bit, and old runs still load.

    git worktree add ../before COMMIT
    python -m benchmarks.unchanged ../before

Each recipe that ships in both and learns from generated data is trained for a few updates by both checkouts, on the CPU
and with few examples. Every row of `metrics.jsonl` must be equal. Then this checkout evaluates the run of the other
one, whose recipe, tokenizers and weights it must read: the loss must be that of the last row.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parents[1]
FEW = {"train_size": 300, "valid_size": 24, "test_size": 24}
"""Sizes of generated splits, where the data of a recipe have such keys."""
SCHEDULE = ("steps=6", "log_every=1", "valid_every=3", "checkpoint_every=6", "patience=null", "average=1")


def main() -> None:
    options = parse()
    there = dict(offline(options.before.resolve()))
    wanted = options.recipes or there
    recipes = {name: path for name, path in offline(HERE) if name in there and name in wanted}
    table = Table("recipe", "rows", "metrics", "old run read")
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        for name, path in recipes.items():
            rows, equal, read = compared(name, overrides(path), options.before.resolve(), Path(scratch))
            table.add_row(name, str(rows), "equal" if equal else "[red]differ[/]", "yes" if read else "[red]no[/]")
            failed |= not (equal and read)
            print(f"{name}: {'equal' if equal and read else 'DIFFERS'}", file=sys.stderr)
    Console(width=100).print(table)
    sys.exit(int(failed))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("--recipes", nargs="+", default=[], help="only these")
    return parser.parse_args()


def offline(tree: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and file of each shipped recipe whose command needs no data."""
    for path in sorted((tree / "src" / "regard").rglob("*.yaml"), key=lambda path: path.stem):
        command = path.read_text(encoding="utf-8").partition("\n")[0]
        if command.startswith("# regard train") and "data.root" not in command:
            yield path.stem, path


def overrides(path: Path) -> list[str]:
    """Return the assignments that make a recipe small."""
    text = path.read_text(encoding="utf-8")
    episodes = any(f"format: {name}" in text for name in ("copy", "repeat_copy", "associative_recall", "ngrams"))
    sizes = {} if "graph" in path.stem else FEW
    if episodes or "priority_sort" in text:  # whose training data has no size
        sizes = {name: size for name, size in FEW.items() if name != "train_size"}
    return [f"train.{each}" for each in SCHEDULE] + [f"data.{key}={value}" for key, value in sizes.items()]


def compared(name: str, assigned: Sequence[str], before: Path, scratch: Path) -> tuple[int, bool, bool]:
    """Return the rows of one recipe, whether both checkouts have the same, and whether this one reads the other's."""
    rows = []
    for tree, folder in ((before, scratch / "before"), (HERE, scratch / "after")):
        folder.mkdir(exist_ok=True)
        regard(tree, folder, "train", name, *assigned)
        log = folder / "runs" / name / "metrics.jsonl"
        rows.append([json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()])
    return len(rows[0]), rows[0] == rows[1], reads(name, rows[0][-1], scratch / "before")


def reads(name: str, last: dict[str, Any], folder: Path) -> bool:
    """Return whether this checkout measures a run of the other one as that has measured itself."""
    said = regard(HERE, folder, "evaluate", f"runs/{name}", "--split", last["split"], "--json")
    return bool(json.loads(said)["loss"] == last["loss"])


def regard(tree: Path, folder: Path, *arguments: str) -> str:
    """Run a command of a checkout in a folder; its standard output."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "regard", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{tree}: regard {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
