"""What pretraining is worth: a small BERT, with and without having read WikiText-2 first, on few labels and many.

    python benchmarks/pretraining.py --wikitext PATH/wikitext2 --sentiment PATH/sentiment --runs runs --jobs 8

First the recipe `bert_wikitext2` is trained, unless the folder of runs has it, and its perplexity over hidden pieces is
taken with the fixed masks. Then the recipe `bert_sst2` learns SST-2 and TREC from 500, 1,000 and all labels, 5 seeds
each, anew and pretrained, some runs side by side; a seed also chooses which labels. TREC has no split to validate on: a
tenth of what it trains on is kept for that. What is done already is not done again. The last lines are the table:
accuracy on the test split, mean and standard deviation over seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from regard.compare.comparison import compare
from regard.compare.pool import Pool
from regard.compare.trial import Trial
from regard.data.batching.order import permutation

PRETRAINED = "bert_wikitext2"
LABELS: tuple[int | None, ...] = (500, 1000, None)
HELD_OUT = 0.1
ENCODINGS = {"sst2": "utf-8", "trec": "latin-1"}
Key = tuple[str, int | None, str]


def main() -> None:
    options = arguments()
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    pretrained = options.runs / PRETRAINED
    pretrain(options.wikitext, options.runs, options.pretrain)
    perplexity = measured(pretrained)
    trials: dict[Key, list[Trial]] = {}
    for data, labels, seed in product(("sst2", "trec"), LABELS, range(1, options.seeds + 1)):
        folder = subset(data, options.sentiment, options.runs / "labels", labels, seed)
        name = f"pretraining-{data}-{folder.name}"
        found = compare("bert_sst2", overrides(folder, pretrained, seed, options.finetune), options.runs, name)
        found.begin()
        for begun, trial in zip(("anew", "pretrained"), found.trials, strict=True):
            trials.setdefault((data, labels, begun), []).append(trial)
    train([trial for group in trials.values() for trial in group], options.jobs)
    print(f"\nperplexity over hidden pieces of WikiText-2, test: {perplexity:.2f}\n")
    print(table({key: [accuracy(trial.folder) for trial in group] for key, group in trials.items()}))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What pretraining is worth.")
    parser.add_argument(
        "--wikitext", type=Path, required=True, help="folder with train.txt.gz, valid.txt.gz, test.txt.gz"
    )
    parser.add_argument("--sentiment", type=Path, required=True, help="folder with stsa.binary.* and TREC.*")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where runs are, and go on")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="where to compute; a GPU if there is one")
    parser.add_argument("--jobs", type=int, default=1, help="fine-tunings at a time")
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--pretrain", nargs="*", default=[], help="further keys of bert_wikitext2: train.steps=100")
    parser.add_argument("--finetune", nargs="*", default=[], help="further keys of bert_sst2: train.steps=100")
    return parser.parse_args()


def overrides(folder: Path, pretrained: Path, seed: int, further: Sequence[str]) -> list[str]:
    """The two runs of a set of labels, as `regard compare` takes them."""
    files = [f"data.{split}={split}.txt" for split in ("train", "valid", "test")]
    return [f"init=null,{pretrained}", f"train.seed={seed}", f"data.root={folder}", *files, *further]


def pretrain(data: Path, runs: Path, further: Sequence[str]) -> None:
    """Train the BERT, or go on, or see that it is done."""
    command = [sys.executable, "-m", "regard", "train", PRETRAINED, f"data.root={data}", "--runs", str(runs), *further]
    subprocess.run(command, check=True)


def measured(run: Path) -> float:
    """Its perplexity on the test split."""
    command = [sys.executable, "-m", "regard", "evaluate", str(run), "--json"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(found)["perplexity"])


def subset(data: str, source: Path, target: Path, labels: int | None, seed: int) -> Path:
    """A folder with train.txt, valid.txt and test.txt: so many labels, chosen by the seed."""
    names = {"sst2": "stsa.binary.{}", "trec": "TREC.{}.all"}[data]
    encoding = ENCODINGS[data]
    read = {split: lines(source / names.format(split), encoding) for split in ("train", "test")}
    if data == "sst2":
        read["valid"] = lines(source / names.format("dev"), encoding)
    else:
        order, kept = permutation(len(read["train"]), 0), round(HELD_OUT * len(read["train"]))
        read["valid"] = [read["train"][place] for place in order[:kept]]
        read["train"] = [read["train"][place] for place in order[kept:]]
    chosen: np.ndarray = permutation(len(read["train"]), seed)[:labels]  # type: ignore[type-arg]
    read["train"] = [read["train"][place] for place in chosen]
    folder = target / f"{data}-{labels or 'all'}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    for split, content in read.items():
        (folder / f"{split}.txt").write_text("\n".join(content) + "\n", encoding="utf-8")
    return folder


def lines(path: Path, encoding: str = "utf-8") -> list[str]:
    return path.read_text(encoding=encoding).removesuffix("\n").split("\n")


def train(trials: Sequence[Trial], jobs: int) -> None:
    """All of them, some at a time, with a line for each that is done."""
    pool, said = Pool(trials, jobs), set()

    def watch(pool: Pool) -> None:
        for number, state in enumerate(pool.states):
            if state in ("done", "failed") and number not in said:
                said.add(number)
                print(
                    f"{len(said)} of {len(trials)}: {trials[number].folder} {pool.reasons.get(number, state)}",
                    flush=True,
                )

    pool.train(watch, lambda: print("stopping; the same command goes on", flush=True))
    if pool.reasons:
        sys.exit(f"{len(pool.reasons)} runs failed")


def accuracy(run: Path) -> float:
    """On the test split."""
    rows = [json.loads(row) for row in (run / "metrics.jsonl").read_text().splitlines()]
    return float(next(row["accuracy"] for row in rows if row["split"] == "test"))


def table(found: dict[Key, list[float]]) -> str:
    """Accuracy in per cent.

    >>> print(table({("sst2", 500, "anew"): [0.6, 0.62], ("sst2", 500, "pretrained"): [0.7, 0.7]}))
    | data | labels | anew | pretrained | gain |
    |---|---|---|---|---|
    | sst2 | 500 | 61.0 ± 1.4 | 70.0 ± 0.0 | +9.0 |
    """
    rows = ["| data | labels | anew | pretrained | gain |", "|---|---|---|---|---|"]
    for data, labels in dict.fromkeys((data, labels) for data, labels, _ in found):
        both = [[100 * value for value in found[data, labels, begun]] for begun in ("anew", "pretrained")]
        means = [statistics.mean(values) for values in both]
        spreads = [statistics.stdev(values) if len(values) > 1 else 0.0 for values in both]
        cells = [f"{mean:.1f} ± {spread:.1f}" for mean, spread in zip(means, spreads, strict=True)]
        rows.append(f"| {data} | {labels or 'all'} | {' | '.join(cells)} | {means[1] - means[0]:+.1f} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
