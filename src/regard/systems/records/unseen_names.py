"""Share of generated texts that reproduce names unseen in training.

`python -m regard.systems.records.unseen_names RUN name near` prints it for each of the fields `name` and `near`.

Each record of the test split is an input once, with its names replaced by invented ones: two capitalised words that do
not occur in the training data. A text is correct if it contains the name verbatim.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from regard.data.generated import SYLLABLES
from regard.data.random_draws import uniform_draws
from regard.predictor import Predictor, load
from regard.systems.records.readers import record_json
from regard.tasks.splits import examples

_WORDS, _LONG = 2, 3
"""Words of a name, and syllables of a word."""
_STREAM = 0x4A3E


def invented(count: int, known: set[str], *, seed: int = 0) -> Iterator[str]:
    """Yield names of two words, no word of which is known.

    >>> list(invented(2, set()))
    ['Sobufi Limobu', 'Redoda Sokaka']
    """
    found = index = 0
    while found < count:
        draws = uniform_draws([index], _WORDS * _LONG, seed, _STREAM)[0]
        index += 1
        syllables = [SYLLABLES[int(share * len(SYLLABLES))] for share in draws]
        words = ["".join(syllables[begin : begin + _LONG]) for begin in range(0, len(syllables), _LONG)]
        if not known.intersection(words):
            found += 1
            yield " ".join(word.capitalize() for word in words)


def renamed(records: Sequence[Mapping[str, str]], fields: Sequence[str], known: set[str]) -> list[dict[str, str]]:
    """Return records with invented values of some fields, where they have them."""
    names = invented(len(records) * len(fields), known)
    return [{field: next(names) if field in fields else value for field, value in record.items()} for record in records]


def shares(model: Predictor, records: Sequence[Mapping[str, str]], fields: Sequence[str]) -> dict[str, float]:
    """Return for each field the share of records with this field whose text contains its value."""
    texts = [found.text.lower() for found in model.predict([record_json(record) for record in records])]
    found = {}
    for field in fields:
        there = [
            (record[field].lower() in text) for record, text in zip(records, texts, strict=True) if field in record
        ]
        if there:
            found[field] = sum(there) / len(there)
    return found


def words_of(texts: Iterable[str]) -> set[str]:
    """Return all words in lower case."""
    return {word.lower() for text in texts for word in text.split()}


def main(arguments: list[str]) -> None:
    """Print the share of texts that have the invented values of each field."""
    model, fields = load(arguments[0]), arguments[1:] or ["name"]
    train, test = examples(model.recipe, "train"), examples(model.recipe, "test")
    assert train is not None
    if test is None:
        raise SystemExit("the recipe names no test split")
    known = words_of(text for one in train for text in (one.fields["text"], *one.fields["record"].values()))
    records = list({record_json(one.fields["record"]): one.fields["record"] for one in test}.values())
    for field, share in shares(model, renamed(records, fields, known), fields).items():
        sys.stdout.write(f"{field:10} {share:.4f} of {len(records):,} records\n")


if __name__ == "__main__":
    main(sys.argv[1:])
