"""Unfolding of repeats and endings of a melody."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from regard.systems.melodies.notes import Note


class Item(NamedTuple):
    """A note, or a mark between notes.

    Attributes:
        kind: a note or rest, a bar line, a double bar line, the start or the end of a repeat, or an ending.
        pitch: pitch of a note; None for a rest.
        length: length of a note in whole notes.
        number: number of an ending.
    """

    kind: Literal["note", "bar", "double", "open", "close", "ending"]
    pitch: int | None = None
    length: Fraction = Fraction(0)
    number: int = 0


def unfold_repeats(items: Sequence[Item], remarks: list[str]) -> list[Note]:
    """Return the notes in playing order.

    A repeat without a start mark starts after the previous repeat, or at the first note. At the end of the first ending
    the music repeats; the second pass skips to the second ending.

    Args:
        items: notes and marks in the order of the text.
        remarks: list to which a sentence is appended for a repeat that is never closed.

    >>> a, b, c = (Item("note", pitch, Fraction(1, 4)) for pitch in (60, 62, 64))
    >>> first, second, close = Item("ending", number=1), Item("ending", number=2), Item("close")
    >>> [note.pitch for note in unfold_repeats([a, first, b, close, second, c], [])]
    [60, 62, 60, 64]
    """
    played: list[Note] = []
    begin, turn, at, is_open, in_second = 0, 1, 0, False, False
    while at < len(items):
        item = items[at]
        at += 1
        if item.kind == "note":
            played.append(Note(item.pitch, float(4 * item.length)))
        elif item.kind == "open":
            begin, turn, is_open, in_second = at, 1, True, False
        elif item.kind == "close":
            if turn == 1 and not in_second:
                at, turn = begin, 2
            else:
                begin, turn, is_open, in_second = at, 1, False, False
        elif item.kind == "ending" and item.number == 1 and turn == 2:
            at = _behind_first(items, at)
        elif item.kind == "ending" and item.number == 2 and turn == 2:
            in_second, is_open = True, False
        elif item.kind == "double" and (in_second or not is_open):
            begin, turn, in_second = at, 1, False
    if is_open and turn == 1:
        remarks.append("a repeat that begins with |: has no end :|")
    return played


def _behind_first(items: Sequence[Item], at: int) -> int:
    """Return the index at which the second pass continues, after the first ending."""
    for place in range(at, len(items)):
        if items[place].kind == "close":
            return place + 1
        if items[place].kind == "ending":
            return place
    return len(items)
