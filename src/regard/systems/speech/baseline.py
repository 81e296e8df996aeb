"""Baselines for the data of a recipe, for comparison with its results: `python -m benchmarks.baselines RECIPE`.

A recording is represented by the mean and standard deviation of its log-mel bands. Single words are classified by
logistic regression. Strings have too many transcripts for classes; they get the transcript of the nearest training
recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.data.example import Examples
from regard.evaluate.metrics import metric
from regard.recipes.sections import Recipe
from regard.systems.speech.features import SoundFeatures, SoundField
from regard.systems.speech.sounds import sound_of
from regard.systems.speech.task import Transcription
from regard.tasks.splits import examples

_CLASSES = 100
"""Maximum number of classes of the classifier."""


def pooled(found: Examples, features: SoundFeatures) -> tuple[Tensor, list[str]]:
    """Return mean and standard deviation of the bands of each recording, [N, 2F], and the transcripts."""
    rows, texts = [], []
    for example in found:
        bands = torch.from_numpy(features.bands(sound_of(example.fields["recording"]))).double()
        rows.append(torch.cat((bands.mean(0), bands.std(0, unbiased=False))))
        texts.append(str(example.fields["transcript"]))
    return torch.stack(rows), texts


def logistic(train: Tensor, labels: list[str], test: Tensor, *, decay: float = 1e-3) -> list[str]:
    """Predict the transcript of each row by logistic regression, fitted to convergence by L-BFGS.

    >>> rows = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]]).double()
    >>> logistic(rows, ["no", "no", "yes", "yes"], torch.tensor([[-3.0], [0.5]]).double())
    ['no', 'yes']
    """
    names = sorted(set(labels))
    target = torch.tensor([names.index(label) for label in labels])
    mean, deviation = train.mean(0), train.std(0).clamp(min=1e-6)
    rows = (train - mean) / deviation
    weight = torch.zeros(rows.shape[1], len(names), dtype=rows.dtype, requires_grad=True)
    bias = torch.zeros(len(names), dtype=rows.dtype, requires_grad=True)
    solver = torch.optim.LBFGS([weight, bias], max_iter=500, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        solver.zero_grad()
        total = F.cross_entropy(rows @ weight + bias, target) + decay * weight.square().sum()
        total.backward()
        return total

    solver.step(loss)
    with torch.no_grad():
        best = (((test - mean) / deviation) @ weight + bias).argmax(1)
    return [names[one] for one in best.tolist()]


def nearest(train: Tensor, labels: list[str], test: Tensor) -> list[str]:
    """Return the transcript of the nearest training row."""
    mean, deviation = train.mean(0), train.std(0).clamp(min=1e-6)
    best = torch.cdist((test - mean) / deviation, (train - mean) / deviation).argmin(1)
    return [labels[one] for one in best.tolist()]


def scores(train: Examples, test: Examples, features: SoundFeatures) -> dict[str, dict[str, float]]:
    """Return the word error rate and the exact match of each baseline on the test split."""
    (known, labels), (asked, right) = pooled(train, features), pooled(test, features)
    said = {"most frequent": [Counter(labels).most_common(1)[0][0]] * len(right)}
    said["nearest neighbour"] = nearest(known, labels, asked)
    if len(set(labels)) <= _CLASSES:
        said["logistic regression"] = logistic(known, labels, asked)
    references = [[text] for text in right]
    return {
        name: {kind: metric(kind)(texts, references).value for kind in ("wer", "exact_match")}
        for name, texts in said.items()
    }


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and metrics of each baseline on the test split."""
    field = Transcription.fields(recipe)["recording"]
    assert isinstance(field, SoundField)
    assert field.settings is not None
    train, test = examples(recipe, "train"), examples(recipe, "test")
    assert train is not None
    if test is None:
        raise SystemExit("the recipe names no test split")
    yield from scores(train, test, field.settings).items()
