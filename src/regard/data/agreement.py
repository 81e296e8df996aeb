"""Whether the fields of an example belong together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def disagreement(fields: Mapping[str, Any]) -> str | None:
    """Return what is wrong with tags; None if nothing is.

    A sentence has as many tags as words; a tag is one word, because answers are written with spaces between.

    >>> disagreement({"text": ["He", "reckons"], "tags": ["PRP"]})
    'there are 2 words and 1 tags; each word needs one'
    """
    return _tags(fields["text"], fields["tags"]) if {"text", "tags"} <= fields.keys() else None


def _tags(words: str | list[str], tags: str | list[str]) -> str | None:
    if isinstance(words, str) or isinstance(tags, str):
        return "words and tags must be two lists, a tag for each word"
    for kind, values in (("word", words), ("tag", tags)):
        for value in values:
            if not _word(value):
                return f"the {kind} {value!r} is empty or has white space in it"
    if len(words) != len(tags):
        return f"there are {len(words)} words and {len(tags)} tags; each word needs one"
    return None


def _word(value: str) -> bool:
    return value.split() == [value]
