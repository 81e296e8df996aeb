"""Texts of the data that look like a mistake: longer than anybody writes, or with bytes of no text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from regard.data.example import Value
from regard.tasks.splits import Split

LONG = 10_000
"""Characters of a text."""
_SEEN = 10_000  # examples of each split that are looked at, so that large data begin as fast as small ones


def odd_texts(splits: Mapping[str, Split | None], *, windows: bool) -> Iterator[str]:
    """Yield a sentence for each kind of odd text in each split, with the first of them.

    Args:
        splits: by name.
        windows: whether texts are read in windows, so that their length does not matter.
    """
    for name, split in splits.items():
        if split is None or split.encoded is None:
            continue
        found: dict[str, str] = {}
        for example in islice(split.examples, _SEEN):
            for kind in _kinds(example.fields, windows=windows):
                found.setdefault(kind, example.where)
        for kind, where in found.items():
            yield f"{name}: {where} {_SENTENCES[kind]}"


def _kinds(fields: Mapping[str, Value], *, windows: bool) -> Iterator[str]:
    for value in fields.values():
        texts = [value] if isinstance(value, str) else value
        if any("\0" in text for text in texts):
            yield "zero"
        if not windows and sum(map(len, texts)) > LONG:
            yield "long"


_SENTENCES = {
    "zero": "has a NUL byte, which no text has; is it another kind of file, or UTF-16 (data.encoding)?",
    "long": f"has more than {LONG:,} characters, which makes its batch slow and large; is a line end missing? "
    "train.batch.tokens bounds a batch",
}
