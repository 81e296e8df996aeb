"""Linear bag-of-words baselines for classification: `python -m benchmarks.baselines RECIPE`.

- Features of one text: presence of its words and bigrams.
- Features of two texts: words that occur in only one of them, per text; common words; pairs of a word of one and a
  word of the other; numbers: the fraction of common words, lengths, negations.

Three losses over the same features are minimised to convergence; the penalty is selected on the validation split.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.data.example import Example
from regard.recipes.sections import Recipe
from regard.systems.classification.checks import target_of
from regard.tasks.splits import examples

COSTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Candidates for C, the weight of the loss relative to half the squared norm of the weights."""
LEAST = 2
"""Minimum number of training texts with a feature."""
CROSSED = 60
"""Number of pairs of a word of one text and a word of the other that are used."""
_NEGATIONS = frozenset(("no", "not", "n't", "nobody", "none", "without", "nothing", "never"))
_WORDS = re.compile(r"\w+|[^\w\s]")

Features = dict[str, float]


def text_features(words: Sequence[str]) -> Features:
    """Return the words and bigrams of a text as binary features.

    >>> text_features(["not", "a", "gem"])
    {'not': 1.0, 'a': 1.0, 'gem': 1.0, 'not a': 1.0, 'a gem': 1.0}
    """
    return dict.fromkeys([*words, *map(" ".join, pairwise(words))], 1.0)


def pair_features(first: Sequence[str], second: Sequence[str]) -> Features:
    """Return features that compare two texts.

    >>> pair_features(["a", "dog"], ["a", "cat"])["x:dog>cat"], pair_features(["a", "dog"], ["a", "cat"])["n:common"]
    (1.0, 0.3333333333333333)
    """
    mine, yours = set(first), set(second)
    only, other, common = sorted(mine - yours), sorted(yours - mine), sorted(mine & yours)
    named = [*(f"a:{word}" for word in only), *(f"b:{word}" for word in other), *(f"i:{word}" for word in common)]
    crossed = [f"x:{one}>{two}" for one in only for two in other][:CROSSED]
    return {**dict.fromkeys([*named, *crossed], 1.0), **_numbers(first, second)}


def _numbers(first: Sequence[str], second: Sequence[str]) -> Features:
    mine, yours = set(first), set(second)
    both, pairs = mine & yours, [set(pairwise(text)) for text in (first, second)]
    negated = [float(bool(words & _NEGATIONS)) for words in (mine, yours)]
    share = len(both) / max(1, len(mine | yours))
    return {
        "n:common": share,
        "n:common of first": len(both) / max(1, len(mine)),
        "n:common of second": len(both) / max(1, len(yours)),
        "n:common neighbours": len(pairs[0] & pairs[1]) / max(1, len(pairs[0] | pairs[1])),
        "n:longer": float(len(first) - len(second)),
        "n:difference of lengths": float(abs(len(first) - len(second))),
        "n:only in first": float(len(mine - yours)),
        "n:only in second": float(len(yours - mine)),
        "n:equal": float(list(first) == list(second)),
        "n:first negated": negated[0],
        "n:second negated": negated[1],
        "n:one negated": float(negated[0] != negated[1]),
        "n:one negated, common": float(negated[0] != negated[1]) * share,
    }


class SparseFeatures(NamedTuple):
    """Sparse feature matrix of N texts in CSR format: column indices, values and row offsets."""

    columns: Tensor
    values: Tensor
    begins: Tensor

    @classmethod
    def of(cls, found: Sequence[Features], columns: Mapping[str, int]) -> SparseFeatures:
        """Build the matrix from the features that have a column."""
        kept = [[(columns[name], value) for name, value in one.items() if name in columns] for one in found]
        flat = [cell for row in kept for cell in row]
        begins = torch.tensor([0, *(len(row) for row in kept)]).cumsum(0)[:-1]
        return cls(
            torch.tensor([column for column, _ in flat], dtype=torch.long),
            torch.tensor([value for _, value in flat], dtype=torch.double),
            begins,
        )

    def times(self, weights: Tensor) -> Tensor:
        """Return the product with weights [V, K] as [N, K]."""
        return F.embedding_bag(self.columns, weights, self.begins, mode="sum", per_sample_weights=self.values)


def columns_of(found: Sequence[Features]) -> dict[str, int]:
    """Assign a column to each feature that occurs in at least `LEAST` texts."""
    counts = Counter(name for one in found for name in one)
    return {name: column for column, name in enumerate(sorted(n for n, count in counts.items() if count >= LEAST))}


Loss = Callable[[Tensor, Tensor], Tensor]


def logistic(scores: Tensor, wanted: Tensor) -> Tensor:
    """Return the summed cross-entropy of scores [N, K] with one-hot targets [N, K]."""
    return -(scores.log_softmax(1) * wanted).sum()


def squared_hinge(scores: Tensor, wanted: Tensor) -> Tensor:
    """Return Σ max(0, 1 - t s)², with t = ±1 one-versus-rest: the loss of a linear SVM."""
    return (1 - (2 * wanted - 1) * scores).clamp(min=0).square().sum()


def log_count_ratios(rows: SparseFeatures, wanted: Tensor, size: int) -> Tensor:
    """Return r = log((p / |p|) / (q / |q|)) per feature and class, [size, K]; p counts inside the class, q outside.

    Wang & Manning 2012, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification", equation 2; one is
    added to each count.

    >>> rows = SparseFeatures.of([{"good": 1.0}, {"bad": 1.0}], {"bad": 0, "good": 1})
    >>> log_count_ratios(rows, torch.eye(2).double(), 2)                    # log 2 for a word of its class
    tensor([[-0.6931,  0.6931],
            [ 0.6931, -0.6931]], dtype=torch.float64)
    """
    text = torch.bucketize(torch.arange(len(rows.columns)), rows.begins, right=True) - 1
    present = (rows.values > 0).double().unsqueeze(1)
    inside, outside = (
        torch.ones(size, wanted.shape[1], dtype=torch.double).index_add(0, rows.columns, part[text] * present)
        for part in (wanted, 1 - wanted)
    )
    return (inside / inside.sum(0)).log() - (outside / outside.sum(0)).log()


def fit_linear(
    rows: SparseFeatures, wanted: Tensor, loss: Loss, cost: float, *, scale: Tensor
) -> tuple[Tensor, Tensor]:
    """Return weights [V, K] and biases [K] that minimise ½‖w‖² + C loss, by L-BFGS.

    Args:
        rows: features of N texts.
        wanted: one-hot targets [N, K].
        loss: function of scores and targets.
        cost: weight C of the loss.
        scale: [V, K], factors of the features.
    """
    weights = torch.zeros_like(scale, requires_grad=True)
    biases = torch.zeros(wanted.shape[1], dtype=scale.dtype, requires_grad=True)
    solver = torch.optim.LBFGS([weights, biases], max_iter=100, line_search_fn="strong_wolfe")

    def objective() -> Tensor:
        solver.zero_grad()
        total = 0.5 * weights.square().sum() + cost * loss(rows.times(weights * scale) + biases, wanted)
        total.backward()
        return total

    solver.step(objective)
    return (weights * scale).detach(), biases.detach()


@dataclass(frozen=True)
class LabelledFeatures:
    """Feature matrix and labels of one split."""

    found: Sequence[Features]
    labels: Sequence[str]


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and metrics of each linear model on the test split, or on validation data if there is no test.

    Yields nothing for label sets and numbers.
    """
    target = target_of(recipe)
    if target is not None and target.target_kind != "label":
        return
    train, valid, test = (_measured(recipe, name) for name in ("train", "valid", "test"))
    assert train is not None
    chosen_on = valid or train
    test = test or chosen_on
    columns, names = columns_of(train.found), sorted(set(train.labels))
    known, tried, asked = (SparseFeatures.of(part.found, columns) for part in (train, chosen_on, test))
    wanted = F.one_hot(torch.tensor([names.index(label) for label in train.labels]), len(names)).double()  # [N, K]
    plain = torch.ones(len(columns), len(names), dtype=torch.double)
    ratios = log_count_ratios(known, wanted, len(columns))
    models: dict[str, tuple[Loss, Tensor]] = {
        "logistic": (logistic, plain),
        "NB-logistic": (logistic, ratios),
        "linear SVM": (squared_hinge, plain),
        "NB-SVM": (squared_hinge, ratios),
    }
    for name, (loss, scale) in models.items():
        trials = []
        for cost in COSTS:
            weights, biases = fit_linear(known, wanted, loss, cost, scale=scale)
            said, answers = (_said(rows.times(weights) + biases, names) for rows in (tried, asked))
            right = sum(one == label for one, label in zip(said, chosen_on.labels, strict=True))
            trials.append((right, answers))
        _, answers = max(trials, key=lambda trial: trial[0])
        yield name, {one.label: one(answers, [[label] for label in test.labels]).value for one in recipe.metrics}


def _said(scores: Tensor, names: Sequence[str]) -> list[str]:
    return [names[index] for index in scores.argmax(1).tolist()]


def _measured(recipe: Recipe, split: str) -> LabelledFeatures | None:
    found = examples(recipe, split)  # type: ignore[arg-type]
    if found is None:
        return None
    read = list(found)
    return LabelledFeatures([features_of(recipe, one) for one in read], [str(one.fields["label"]) for one in read])


def features_of(recipe: Recipe, example: Example) -> Features:
    """Return the features of a text, or of two texts separated by a tab."""
    value = example.fields["text"]
    texts = (value if isinstance(value, str) else " ".join(value)).lower().split("\t")
    words = [text.split() if recipe.tokenizer.split == "whitespace" else _WORDS.findall(text) for text in texts]
    return pair_features(*words) if recipe.system.joins_texts(recipe) else text_features(words[0])
