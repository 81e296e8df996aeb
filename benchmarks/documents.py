"""Hierarchical attention, other poolings, a flat encoder and a linear model: ten-fold cross-validation on film reviews.

    python -m benchmarks.documents --data PATH/movie_reviews --runs runs/documents
    python -m benchmarks.documents --data PATH/movie_reviews --models linear
    python -m benchmarks.documents --data PATH/movie_reviews --vectors PATH/glove.6B.100d.txt --models hierarchical flat

Each fold of the recipe `movie_reviews` tests once: the next fold validates (the best update; the penalty of the linear
model), the other eight train. The linear model is logistic regression on the presence of words. What is done already
(`results.jsonl` in the folder of runs) is not done again. The last lines are the table: accuracy in per cent, mean and
standard deviation over the folds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.recipes.load import load
from regard.runs.run import Run
from regard.systems.classification.movie_reviews import FOLDS, MovieReviews
from regard.train.screen import Screen
from regard.train.trainer import Trainer

RECIPE, ARCHIVE = "movie_reviews", "movie_reviews.zip"
FLAT = (
    "model={kind: acceptor, pooling: attention, dropout: 0.5, word_dropout: 0.2, encoder: {kind: rnn, cells: lstm, "
    "embedding_dim: 100, hidden_dim: 100, bidirectional: true, dropout: 0.5}}"
)
MODELS: dict[str, tuple[str, ...]] = {
    "hierarchical": (),
    "mean": ("model.pooling=mean",),
    "max": ("model.pooling=max",),
    "flat": (FLAT,),
    "linear": (),
}
"""Keys of each model beyond those of the recipe."""
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
LEAST = 4
"""Occurrences of a word that the linear model knows."""


def main() -> None:
    options = arguments()
    options.runs.mkdir(parents=True, exist_ok=True)
    results = options.runs / "results.jsonl"
    found = {(row["model"], row["fold"]): row for row in _rows(results)}
    for model in options.models:
        for fold in options.folds:
            key = (_name(model, options), fold)
            if key not in found:
                found[key] = {"model": key[0], "fold": fold, **_timed(model, fold, options)}
                with results.open("a") as file:
                    file.write(json.dumps(found[key]) + "\n")
                print(json.dumps(found[key]), flush=True)
    print("\n" + table(list(found.values())))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help=f"folder of {ARCHIVE}")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), help="which models")
    parser.add_argument("--folds", nargs="+", type=int, default=list(range(FOLDS)), help="which folds test")
    parser.add_argument("--runs", type=Path, default=Path("runs/documents"), help="where runs are, and go on")
    parser.add_argument("--vectors", help="file of pretrained vectors of width 100")
    parser.add_argument("--tuned", action="store_true", help="train the vectors, too")
    parser.add_argument("--seed", type=int, default=1, help="of parameters and batches")
    parser.add_argument("--further", nargs="*", default=[], help="further keys of the recipe: train.steps=100")
    return parser.parse_args()


def _timed(model: str, fold: int, options: argparse.Namespace) -> dict[str, Any]:
    begun = time.perf_counter()
    row = linear(options.data / ARCHIVE, fold) if model == "linear" else trained(model, fold, options)
    return row | {"seconds": round(time.perf_counter() - begun, 1)}


def trained(model: str, fold: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return the accuracies of a model on the validation and the test fold, and its number of parameters."""
    keys = [f"data.root={options.data}", f"data.fold={fold}", f"train.seed={options.seed}", *MODELS[model]]
    if options.vectors and options.tuned:
        keys.append(f"tokenizer.vectors={{file: {options.vectors}, tuned: true}}")
    elif options.vectors:  # a fixed vector is as good for a word that training does not have
        keys += [
            f"tokenizer.vectors={{file: {options.vectors}, tuned: false, unseen: true}}",
            "tokenizer.min_frequency=1",
        ]
    recipe = load(RECIPE, [*keys, *options.further]).recipe
    folder = options.runs / f"{_name(model, options).replace(' ', '_')}-{fold}"
    outcome = Trainer(recipe, Run(folder), screen=Screen(quiet=True)).fit()
    assert outcome.valid is not None
    assert outcome.test is not None
    accuracies = {
        name: one.scores["accuracy"].value for name, one in (("valid", outcome.valid), ("test", outcome.test))
    }
    return accuracies | {"parameters": outcome.parameters}


def linear(path: Path, fold: int) -> dict[str, Any]:
    """Return the accuracies of logistic regression on the presence of words; validation chooses the penalty."""
    train, valid, test = (
        [one.fields for one in MovieReviews(path, split, fold)] for split in ("train", "valid", "test")
    )
    counts = Counter(word for one in train for word in one["text"].lower().split())
    columns = {word: place for place, word in enumerate(sorted(w for w, n in counts.items() if n >= LEAST))}
    learned, *asked = (_presence(part, columns) for part in (train, valid, test))
    trials = []
    for penalty in PENALTIES:
        weights = _fitted(*learned, penalty)
        trials.append([_accuracy(*one, weights) for one in asked])
    valid_accuracy, test_accuracy = max(trials, key=lambda trial: trial[0])
    return {"valid": valid_accuracy, "test": test_accuracy, "parameters": len(columns) + 1}


def _presence(examples: Sequence[Mapping[str, str]], columns: Mapping[str, int]) -> tuple[Tensor, Tensor]:
    """Return the words that each text has, in rows of length 1 with a one behind [N, V + 1], and its label [N]."""
    found = torch.zeros(len(examples), len(columns) + 1)
    for row, one in enumerate(examples):
        found[row, [columns[word] for word in set(one["text"].lower().split()) if word in columns]] = 1.0
    found = F.normalize(found)
    found[:, -1] = 1.0
    return found, torch.tensor([float(one["label"] == "pos") for one in examples])


def _fitted(features: Tensor, labels: Tensor, penalty: float) -> Tensor:
    """Return the weights [V + 1] that minimise the logistic loss, summed, and penalty / 2 times their square."""
    weights = torch.zeros(features.shape[1], requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=100, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(features @ weights, labels, reduction="sum")
        total: Tensor = loss + 0.5 * penalty * weights[:-1].square().sum()
        total.backward()
        return total

    optimizer.step(closure)
    return weights.detach()


def _accuracy(features: Tensor, labels: Tensor, weights: Tensor) -> float:
    return ((features @ weights > 0) == labels.bool()).float().mean().item()


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return mean and standard deviation over the folds, in per cent."""
    lines = ["| model | folds | validation | test | parameters |", "|---|---|---|---|---|"]
    for model in dict.fromkeys(row["model"] for row in rows):
        mine = [row for row in rows if row["model"] == model]
        valid, test = (_shown([row[split] for row in mine]) for split in ("valid", "test"))
        lines.append(f"| {model} | {len(mine)} | {valid} | {test} | {mine[0]['parameters']:,} |")
    return "\n".join(lines)


def _shown(values: Sequence[float]) -> str:
    spread = f" ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * statistics.mean(values):.1f}{spread}"


def _name(model: str, options: argparse.Namespace) -> str:
    if model == "linear" or not options.vectors:
        return model
    return f"{model} {'tuned' if options.tuned else 'fixed'} vectors"


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from map(json.loads, path.read_text().splitlines())


if __name__ == "__main__":
    main()
