"""Dialogues in files: readers that leave out those which training has too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from regard.data.example import DataReader, Examples


class DialogueReader(DataReader):
    """Examples from dialogues; a subclass has the fields below, `kw_only` but for the first.

    Attributes:
        path: the file.
        without: files whose dialogues are left out, compared without regard to case and white space.
        pairs: also leave out dialogues that have two turns in a row in common with those of `without`.
    """

    path: str | Path
    without: tuple[Path, ...]
    pairs: bool

    @property
    def files(self) -> tuple[Path, ...]:
        return (Path(self.path), *self.without)

    def apart_from(self, files: tuple[Path, ...], *, pairs: bool = False) -> Self:
        """Return a reader that leaves out the dialogues of these files, or all that share a pair of turns with them."""
        changes: dict[str, Any] = {"without": files, "pairs": pairs}
        return replace(self, **changes)

    def asking(self, columns: Mapping[str, Any]) -> Self:
        """Return a reader of whole dialogues without answers."""
        changes: dict[str, Any] = {"questions": True, "without": ()}
        return replace(self, **changes)


def without_overlap(found: Examples | None, overlap: str, training: tuple[Path, ...]) -> Examples | None:
    """Return the examples of a split without dialogues of the training files.

    Args:
        found: the examples; None of a split that is not there.
        overlap: `"keep"` leaves nothing out, `"pairs"` all that share two turns in a row too.
        training: the files of the split train.
    """
    if overlap == "keep" or not isinstance(found, DialogueReader):
        return found
    return found.apart_from(training, pairs=overlap == "pairs")


def dialogue_parts(turns: Sequence[str], *, pairs: bool) -> Iterator[tuple[str, ...]]:
    """Yield all turns of a dialogue without case and white space, and with `pairs` each two turns in a row.

    >>> list(dialogue_parts(["Hi !", "Hello .", "Tea ?"], pairs=True))
    [('hi!', 'hello.', 'tea?'), ('hi!', 'hello.'), ('hello.', 'tea?')]
    """
    plain = ["".join(turn.lower().split()) for turn in turns]
    yield tuple(plain)
    if pairs:
        yield from pairwise(plain)
