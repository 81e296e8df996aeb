"""Baselines of a recipe on its own data; nothing is trained but counts and linear models.

    python -m benchmarks.baselines airs
    python -m benchmarks.baselines dailydialog data.root=PATH/dailydialog

Texts to texts or labels: the most frequent answer, the answer of the nearest training example by the cosine of TF-IDF
vectors, and the first words of the input, in the metrics of the recipe. Further ones are those of the system:
`baselines(recipe)` in the module `baseline` of its folder, such as n-grams of language models and linear models of
texts. The CRF of taggers needs python-crfsuite. Measured on the split test, or on valid where there is none.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from regard.data.example import Example, Value
from regard.data.fields.labels import TagsField
from regard.data.fields.tokens import TokensField
from regard.recipes.load import load
from regard.recipes.sections import Recipe
from regard.systems.summaries.mail import OTHERS
from regard.tasks.task import Task, task_class

LEADING = (3, 5, 8)
"""Words of the input that are tried as an answer."""


class Nearest:
    """The nearest of some texts, by the cosine of TF-IDF vectors: idf is log(N / n) + 1.

    Args:
        texts: to choose from.

    >>> Nearest(["a red bird", "a blue fish", "the sea"]).of("one fish")
    1
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(text.lower().split()) for text in texts]
        there = Counter(word for count in counts for word in count)
        self.idf = {word: math.log(len(texts) / number) + 1 for word, number in there.items()}
        found: dict[str, list[tuple[int, float]]] = {word: [] for word in there}
        for index, count in enumerate(counts):
            length = math.sqrt(sum((number * self.idf[word]) ** 2 for word, number in count.items())) or 1.0
            for word, number in count.items():
                found[word].append((index, number * self.idf[word] / length))
        self.postings = {word: _columns(rows) for word, rows in found.items()}
        self.size = len(texts)

    def of(self, text: str) -> int:
        """Return the number of the nearest text, the first of equals."""
        scores = np.zeros(self.size)
        for word, number in Counter(text.lower().split()).items():
            if word in self.postings:
                indices, weights = self.postings[word]
                scores[indices] += number * self.idf[word] * weights
        return int(scores.argmax())


def _columns(rows: list[tuple[int, float]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    indices, weights = zip(*rows, strict=True)
    return np.array(indices, np.int64), np.array(weights)


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and values of each baseline that fits a recipe: those of texts, then those of its system."""
    task = task_class(recipe.task)
    fields = task.fields(recipe)
    reads_text = task.context is None and isinstance(fields.get(task.question), TokensField)
    if reads_text and task.answer is not None and not isinstance(fields.get(task.answer), TagsField):
        train, measured = _examples(recipe, task)
        references = [[_text(one.fields[task.answer]), *one.fields.get(OTHERS, [])] for one in measured]
        for name, answers in _answers(task, train, measured):
            yield name, {one.label: one(answers, references).value for one in recipe.metrics}
    module = task.__module__.rpartition(".")[0] + ".baseline"
    if find_spec(module) is not None:
        yield from import_module(module).baselines(recipe)


def _examples(recipe: Recipe, task: type[Task]) -> tuple[list[Example], list[Example]]:
    """Return what is learned from and what is measured."""
    reading = task.reading(recipe)
    train = recipe.data.examples("train", reading)
    measured = recipe.data.examples("test", reading) or recipe.data.examples("valid", reading)
    assert train is not None
    assert measured is not None
    return list(train), list(measured)


def _answers(
    task: type[Task], train: Sequence[Example], measured: Sequence[Example]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the answers of each baseline."""
    assert task.answer is not None
    right = [_text(one.fields[task.answer]) for one in train]
    asked = [_text(one.fields[task.question]) for one in measured]
    yield "most frequent", [Counter(right).most_common(1)[0][0]] * len(asked)
    nearest = Nearest([_text(one.fields[task.question]) for one in train])
    yield "nearest", [right[nearest.of(text)] for text in asked]
    if task.answer != "label":
        for count in LEADING:
            yield f"first {count} words", [" ".join(text.split()[:count]) for text in asked]


def _text(value: Value) -> str:
    return value if isinstance(value, str) else " ".join(map(str, value))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", help="name of a recipe, or a file")
    parser.add_argument("overrides", nargs="*", help="such as data.root=PATH")
    given = parser.parse_args()
    for name, values in baselines(load(given.recipe, given.overrides).recipe):
        print(f"{name:26}", "  ".join(f"{label} {value:.4f}" for label, value in values.items()), flush=True)


if __name__ == "__main__":
    main()
