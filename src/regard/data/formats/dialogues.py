"""Base of dialogue readers, which can exclude dialogues that also occur in training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from regard.data.example import DataReader, Examples


class DialogueReader(DataReader):
    """Base of dialogue readers. Subclasses declare the fields below, all but the first as `kw_only`.

    Attributes:
        path: the file.
        without: files whose dialogues are excluded; case and white space are ignored in the comparison.
        pairs: also exclude dialogues that share two consecutive turns with a dialogue of `without`.
    """

    path: str | Path
    without: tuple[Path, ...]
    pairs: bool

    @property
    def files(self) -> tuple[Path, ...]:
        return (Path(self.path), *self.without)

    def apart_from(self, files: tuple[Path, ...], *, pairs: bool = False) -> Self:
        """Return a reader that excludes the dialogues of these files, or all that share a pair of turns with them."""
        changes: dict[str, Any] = {"without": files, "pairs": pairs}
        return replace(self, **changes)

    def asking(self, columns: Mapping[str, Any]) -> Self:
        """Return a reader of whole dialogues without targets."""
        changes: dict[str, Any] = {"questions": True, "without": ()}
        return replace(self, **changes)


def without_overlap(found: Examples | None, overlap: str, training: tuple[Path, ...]) -> Examples | None:
    """Return the examples of a split, without dialogues of the training files.

    Args:
        found: the examples; None if there is no such split.
        overlap: `"keep"` excludes nothing; `"pairs"` also excludes dialogues that share two consecutive turns.
        training: the files of the training split.
    """
    if overlap == "keep" or not isinstance(found, DialogueReader):
        return found
    return found.apart_from(training, pairs=overlap == "pairs")


def dialogue_parts(turns: Sequence[str], *, pairs: bool) -> Iterator[tuple[str, ...]]:
    """Yield the turns of a dialogue, normalised in case and white space; with `pairs`, also each two consecutive turns.

    >>> list(dialogue_parts(["Hi !", "Hello .", "Tea ?"], pairs=True))
    [('hi!', 'hello.', 'tea?'), ('hi!', 'hello.'), ('hello.', 'tea?')]
    """
    plain = ["".join(turn.lower().split()) for turn in turns]
    yield tuple(plain)
    if pairs:
        yield from pairwise(plain)
