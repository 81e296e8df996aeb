"""Keys of older recipes, read as what they are called now."""

from __future__ import annotations

from regard.recipes.document import Document


def renamed(document: Document) -> tuple[Document, tuple[str, ...]]:
    """A document with the present names of its keys, and a note for each old one that says something.

    >>> document, notes = renamed(Document.parse("train: {tensorboard: true}", "mine.yaml"))
    >>> document.content, notes
    ({'train': {'trackers': ['tensorboard']}}, ('mine.yaml, line 1: train.tensorboard is now train.trackers: ...',))
    """
    train = document.content.get("train")
    if not isinstance(train, dict) or not isinstance(asked := train.get("tensorboard"), bool):
        return document, ()
    place = document.place(("train", "tensorboard"))
    if not asked:
        return document.without(("train", "tensorboard")), ()
    given = train.get("trackers") or []
    named = [given] if isinstance(given, str) else [one for one in given if one != "tensorboard"]
    document = document.moved(("train", "tensorboard"), ("train", "trackers"), [*named, "tensorboard"])
    return document, (f"{place}: train.tensorboard is now train.trackers: [tensorboard]",)
