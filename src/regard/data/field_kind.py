"""Field kinds: the forms in which a field of an example is kept in a corpus and stands in a batch."""

from __future__ import annotations

from typing import Literal

FieldKind = Literal["tokens", "sentences", "spelling", "tags", "label", "labels", "number"]
"""Tokens of a text; of its sentences, with an end behind each; letters of its words
likewise; a label per word, or per text; any number of labels per text; a number per text."""

ONE_TARGET = frozenset[FieldKind](("label", "labels", "number"))
"""Kinds of which each example has one, however many values it is made of."""


def value_type(kind: FieldKind) -> Literal["float32", "int32"]:
    """Return the type of the values on disk, by NumPy's name."""
    return "float32" if kind == "number" else "int32"
