"""Overlap of dialogues: parts that those of a test must not have in common with those of training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise


def dialogue_parts(turns: Sequence[str], *, pairs: bool) -> Iterator[tuple[str, ...]]:
    """Yield all turns of a dialogue without case and white space, and with `pairs` each two turns in a row.

    >>> list(dialogue_parts(["Hi !", "Hello .", "Tea ?"], pairs=True))
    [('hi!', 'hello.', 'tea?'), ('hi!', 'hello.'), ('hello.', 'tea?')]
    """
    plain = ["".join(turn.lower().split()) for turn in turns]
    yield tuple(plain)
    if pairs:
        yield from pairwise(plain)
