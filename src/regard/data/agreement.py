"""Whether the fields of an example belong together."""

from __future__ import annotations

from collections.abc import Mapping


def disagreement(fields: Mapping[str, str | list[str]]) -> str | None:
    """What is wrong with labels or tags; None if nothing is.

    A text has one label. A sentence has as many tags as words; a tag is one word, because answers are written with
    spaces between.

    >>> disagreement({"text": ["He", "reckons"], "tags": ["PRP"]})
    'there are 2 words and 1 tags; each word needs one'
    >>> disagreement({"text": "a gem", "label": ["good", "short"]})
    "the label is a list, ['good', 'short']; a text has one"
    """
    if isinstance(label := fields.get("label"), list):
        return f"the label is a list, {label!r}; a text has one"
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
