"""Tagging baselines: the most frequent tag of each word, and a linear-chain CRF on words, affixes and features.

`python -m benchmarks.baselines conll2000_chunks data.root=PATH` prints them; the CRF is that of python-crfsuite, a
development extra.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.example import Example
from regard.data.fields.features import FEATURES
from regard.recipes.sections import Recipe
from regard.systems.tagging.checks import reads_features
from regard.tasks.splits import examples

AFFIXES = range(1, 5)
"""Lengths of prefixes and suffixes in letters."""
PENALTIES = (0.03, 0.3)
"""Candidate L2 penalties; the best one on the validation split is used."""
_AROUND = range(-2, 3)
_WORDS = ((-1, 0), (0, 1))
_FEATURES = ((-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2))
"""Offsets of the n-grams of words and of features."""


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and metrics of each baseline on the test split, or on the validation split without a test split."""
    train, valid = (list(examples(recipe, split) or ()) for split in ("train", "valid"))
    test = list(examples(recipe, "test") or valid)
    yield "most frequent tag", _scores(recipe, most_frequent(train, test), test)
    for name, features in (("CRF", False), ("CRF, with features", True)):
        if features and not reads_features(recipe):
            continue
        trials = [crf(train, (valid, test), penalty, features=features) for penalty in PENALTIES]
        chosen, first = [_scores(recipe, answers, valid) for answers, _ in trials], recipe.metrics[0].label
        best = max(range(len(trials)), key=lambda number: chosen[number][first])
        yield name, _scores(recipe, trials[best][1], test)


def _scores(recipe: Recipe, answers: Sequence[Sequence[str]], asked: Sequence[Example]) -> dict[str, float]:
    said, references = [" ".join(tags) for tags in answers], [[" ".join(one.fields["tags"])] for one in asked]
    return {one.label: one(said, references).value for one in recipe.metrics}


def most_frequent(train: Sequence[Example], asked: Sequence[Example]) -> list[list[str]]:
    """Return the most frequent training tag of each word; for unknown words the most frequent tag overall."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    every: Counter[str] = Counter()
    for one in train:
        every.update(one.fields["tags"])
        for word, tag in zip(one.fields["text"], one.fields["tags"], strict=True):
            counts[word][tag] += 1
    usual = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    other = every.most_common(1)[0][0]
    return [[usual.get(word, other) for word in one.fields["text"]] for one in asked]


def crf(
    train: Sequence[Example], asked: Sequence[Sequence[Example]], penalty: float, *, features: bool
) -> list[list[list[str]]]:
    """Predict the tags of several splits by a linear-chain CRF (Lafferty, McCallum & Pereira 2001)."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False, params={"c2": penalty, "max_iterations": 100})
    for one in train:
        trainer.append(_attributes(one, features=features), one.fields["tags"])
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.crfsuite")
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        return [[tagger.tag(_attributes(one, features=features)) for one in split] for split in asked]


def _attributes(example: Example, *, features: bool) -> list[list[str]]:
    return attributes(example.fields["text"], example.fields[FEATURES] if features else ())


def attributes(words: Sequence[str], features: Sequence[str] = ()) -> list[list[str]]:
    """Return the CRF attributes of each word: n-grams of words and features around it, affixes, and word shape.

    >>> attributes(["In", "1998"])[1]
    ['w-1=In', 'w0=1998', 'w-1,0=In 1998', 'ending-1=In', 'lower=1998', 'p1=1', 's1=8', 'p2=19', 's2=98', 'p3=199',
     's3=998', 'p4=1998', 's4=1998', 'digit']
    """
    return [
        [
            *_neighbours("w", words, place, _WORDS),
            *(f"ending{step}={words[place + step][-3:]}" for step in (-1, 1) if 0 <= place + step < len(words)),
            *_shape(words[place]),
            *(_neighbours("f", features, place, _FEATURES) if features else ()),
        ]
        for place in range(len(words))
    ]


def _neighbours(name: str, row: Sequence[str], place: int, groups: Sequence[Sequence[int]]) -> Iterator[str]:
    """Yield n-grams of the values around a position."""
    for offset in _AROUND:
        if 0 <= place + offset < len(row):
            yield f"{name}{offset}={row[place + offset]}"
    for group in groups:
        if place + group[0] >= 0 and place + group[-1] < len(row):
            yield f"{name}{','.join(map(str, group))}={' '.join(row[place + offset] for offset in group)}"


def _shape(word: str) -> Iterator[str]:
    """Yield attributes of the spelling of a word."""
    yield f"lower={word.lower()}"
    for size in AFFIXES:
        if size <= len(word):
            yield from (f"p{size}={word[:size]}", f"s{size}={word[-size:]}")
    marks = {"capital": word[0].isupper(), "capitals": word.isupper(), "digit": any(map(str.isdigit, word))}
    marks |= {"hyphen": "-" in word}
    yield from (name for name, there in marks.items() if there)
