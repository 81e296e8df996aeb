"""Structured self-attention with and without its penalty, and max pooling, on five sets of labelled sentences.

    python -m benchmarks.self_attentive --data PATH/sentiment --runs runs/self_attentive --jobs 8

The recipe `sentence_sst2` learns SST-2, SST-5, MR, SUBJ and TREC: by max pooling, by hops without a penalty, and by
hops with each coefficient, 5 seeds each, some runs side by side. Everything else is the same. MR and SUBJ come in one
file: a tenth of the sentences, chosen by the hash of the text (`data.split`, the same for all seeds), is tested on, and
a tenth validated on; TREC has a test file, and a tenth of its training file is validated on. What is done already is
not done again. The last lines are the table: accuracy on the test split in per cent, mean and standard deviation over
seeds. The gain is of the coefficient that is best on the validation split, over none; the test split chooses nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from benchmarks.pretraining import train
from regard.compare.trial import Trial
from regard.data import LabelledLines
from regard.recipes.data_sections import SplitSection
from regard.recipes.load import load
from regard.runs.run import Run

RECIPE, BATCH, VALIDATIONS = "sentence_sst2", 64, 10
DIVIDED = "data.split={valid: 0.1, test: 0.1}"
SETS: dict[str, tuple[str, ...]] = {
    "sst2": (),
    "sst5": ("data.train=stsa.fine.train", "data.valid=stsa.fine.dev", "data.test=stsa.fine.test"),
    "mr": ("data.train=rt-polarity.all", "data.valid=null", "data.test=null", "data.encoding=latin-1", DIVIDED),
    "subj": ("data.train=subj.all", "data.valid=null", "data.test=null", "data.encoding=cp1252", DIVIDED),
    "trec": (
        "data.train=TREC.train.all",
        "data.valid=null",
        "data.test=TREC.test.all",
        "data.encoding=latin-1",
        "data.split={valid: 0.1}",
    ),
}
"""What the recipe reads, as `regard train` takes it."""


class Measured(NamedTuple):
    """Accuracies of a run: the best on the validation split, and that model's on the test split."""

    valid: float
    test: float


def main() -> None:
    options = arguments()
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    ways = ["max", *(f"{one:g}" for one in (0.0, *options.penalties))]
    seeds = range(1, options.seeds + 1)
    trials = {(data, way): [begun(data, way, seed, options) for seed in seeds] for data in options.sets for way in ways}
    train([trial for group in trials.values() for trial in group], options.jobs)
    print("\n" + table({key: [measured(trial.folder) for trial in group] for key, group in trials.items()}))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with stsa.*, rt-polarity.all, subj.all, TREC.*"
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="which sets of sentences")
    parser.add_argument("--penalties", nargs="+", type=float, default=[0.01, 0.03, 0.1], help="coefficients")
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--epochs", type=float, default=10, help="of each run")
    parser.add_argument("--runs", type=Path, default=Path("runs/self_attentive"), help="where runs are, and go on")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="where to compute; a GPU if there is one")
    parser.add_argument("--further", nargs="*", default=[], help=f"further keys of {RECIPE}: model.num_hops=10")
    return parser.parse_args()


def begun(data: str, way: str, seed: int, options: argparse.Namespace) -> Trial:
    """The run of one way to read one set: its folder, begun or found."""
    steps = max(1, round(options.epochs * learned_from(data, options.data) / BATCH))
    chosen = "model.pooling=max" if way == "max" else f"model.penalty={way}"
    fixed = [f"data.root={options.data}", f"train.steps={steps}", f"train.valid_every={max(1, steps // VALIDATIONS)}"]
    name = f"{data}-{way}-{seed}"
    overrides = [*SETS[data], *fixed, chosen, *options.further, f"train.seed={seed}", f"run={name}"]
    recipe, folder = load(RECIPE, overrides).recipe, options.runs / name
    Run(folder).begin(recipe)
    return Trial({}, name, recipe, folder, (RECIPE, *overrides, "--runs", str(options.runs)))


def learned_from(data: str, folder: Path) -> int:
    """About how many sentences a run learns from."""
    given = dict(one.partition("=")[::2] for one in SETS[data])
    file, encoding = given.get("data.train", "stsa.binary.train"), given.get("data.encoding", "utf-8")
    split = SplitSection(**yaml.safe_load(given["data.split"])) if "data.split" in given else None
    share = 1.0 if split is None else 1.0 - split.valid - split.test
    return round(share * sum(1 for _ in LabelledLines(folder / file, encoding=encoding)))


def measured(run: Path) -> Measured:
    """What a run reached."""
    rows = [json.loads(row) for row in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    valid, test = ([row["accuracy"] for row in rows if row["split"] == split] for split in ("valid", "test"))
    return Measured(max(valid), test[-1])


def table(found: Mapping[tuple[str, str], Sequence[Measured]]) -> str:
    """Accuracy in per cent; the gain of the penalty that validation prefers, over none.

    >>> seen = {"max": (0.8, 0.81), "0": (0.8, 0.8), "0.03": (0.83, 0.82), "0.1": (0.82, 0.9)}
    >>> print(table({("trec", way): [Measured(*both)] * 2 for way, both in seen.items()}))
    | data | max pooling | no penalty | penalty 0.03 | penalty 0.1 | gain |
    |---|---|---|---|---|---|
    | trec | 81.0 ± 0.0 | 80.0 ± 0.0 | 82.0 ± 0.0 | 90.0 ± 0.0 | +2.0 (0.03) |
    """
    ways = list(dict.fromkeys(way for _, way in found))
    named = {"max": "max pooling", "0": "no penalty"}
    heads = ["data", *(named.get(way, f"penalty {way}") for way in ways), "gain"]
    rows = [heads, ["---"] * len(heads)]
    for data in dict.fromkeys(data for data, _ in found):
        cells = [_cell([100 * one.test for one in found[data, way]]) for way in ways]
        best = max((way for way in ways if way not in named), key=lambda way: _mean(found[data, way], "valid"))
        gain = 100 * (_mean(found[data, best], "test") - _mean(found[data, "0"], "test"))
        rows.append([data, *cells, f"{gain:+.1f} ({best})"])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines[1] = lines[1].replace(" ", "")
    return "\n".join(lines)


def _mean(runs: Sequence[Measured], split: str) -> float:
    return statistics.mean(getattr(run, split) for run in runs)


def _cell(values: Sequence[float]) -> str:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.1f} ± {spread:.1f}"


if __name__ == "__main__":
    main()
