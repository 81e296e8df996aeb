"""Baselines for the data of a recipe, for comparison with its results: `python -m benchmarks.baselines RECIPE`.

- Template: the most frequent delexicalised training text of records with the same fields, filled with the values.
- Nearest: the text of the training record that shares most facts, unchanged.
- Nearest, renamed: the same text, with differing values replaced by those of the record.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from regard.data.example import Example
from regard.recipes.sections import Recipe
from regard.systems.records.delexicalised import with_values, without_values
from regard.systems.records.readers import record_json
from regard.tasks.splits import examples

Record = Mapping[str, str]


class Templates:
    """Texts with placeholders, by the fields of their records.

    Args:
        train: examples to learn from.
    """

    def __init__(self, train: Iterable[Example]) -> None:
        self.by_fields: defaultdict[frozenset[str], Counter[str]] = defaultdict(Counter)
        for example in train:
            record = example.fields["record"]
            self.by_fields[frozenset(record)][without_values(example.fields["text"], record, tuple(record))] += 1

    def fill(self, record: Record) -> str:
        """Fill in the most frequent template for the set of fields most similar to that of the record."""
        given = frozenset(record)
        fields = max(self.by_fields, key=lambda known: (-len(known ^ given), sorted(known)))
        ((text, _),) = self.by_fields[fields].most_common(1)
        return with_values(text, record, tuple(fields | given))


class NearestRecords:
    """Nearest-neighbour retrieval of training records and their texts by shared facts.

    Args:
        train: examples to learn from.
    """

    def __init__(self, train: Iterable[Example]) -> None:
        self.texts: dict[str, tuple[Record, str]] = {}
        self.holders: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for example in train:
            record = example.fields["record"]
            key = record_json(record)
            if key not in self.texts:
                self.texts[key] = record, example.fields["text"]
                for fact in record.items():
                    self.holders[fact].append(key)

    def of(self, record: Record) -> tuple[Record, str]:
        """Return the training record with the most shared and the fewest other facts, and its first text."""
        shared = Counter(key for fact in record.items() for key in self.holders[fact])
        if not shared:
            return next(iter(self.texts.values()))
        best = max(shared, key=lambda key: (shared[key] - len(self.texts[key][0]) / 100, key))
        return self.texts[best]


def answers(train: Sequence[Example], asked: Sequence[Record]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each baseline and its texts."""
    templates, nearest = Templates(train), NearestRecords(train)
    yield "template", [templates.fill(record) for record in asked]
    found = [nearest.of(record) for record in asked]
    yield "nearest", [text for _, text in found]
    yield (
        "nearest, renamed",
        [
            with_values(without_values(text, near, tuple(near)), record, tuple(near))
            for (near, text), record in zip(found, asked, strict=True)
        ],
    )


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and metrics of each baseline on the test split; texts of equal records are multiple references."""
    train, test = examples(recipe, "train"), examples(recipe, "test")
    if train is None or test is None:
        raise SystemExit("the recipe names no test split")
    references: defaultdict[str, list[str]] = defaultdict(list)
    records: dict[str, Record] = {}
    for example in test:
        key = record_json(example.fields["record"])
        records[key] = example.fields["record"]
        references[key].append(example.fields["text"])
    for name, texts in answers(list(train), list(records.values())):
        values = {}
        for metric in recipe.metrics:
            right = [[key] for key in records] if metric.compares == "records" else list(references.values())
            values[metric.label] = metric(texts, right).value
        yield name, values
