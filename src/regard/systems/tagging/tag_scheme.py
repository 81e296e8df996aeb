"""Chunk tag schemes: the allowed transitions between tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from regard.nn.crf import LabelOrder

SCHEMES = {"bio": "BIO", "bioes": "BIOESLU"}
"""Chunk positions in each scheme; L and U are aliases of E and S."""
_SAME = {"L": "E", "U": "S"}


class _Tag(NamedTuple):
    """A parsed tag: its position (B, I, O, E or S) and its chunk type."""

    place: str
    kind: str

    @property
    def begins(self) -> bool:
        return self.place in "BOS"

    @property
    def goes_on(self) -> bool:
        """True if the chunk must continue after this tag, in a scheme with end tags."""
        return self.place in "BI"


def tag_order(names: Sequence[str], scheme: str) -> LabelOrder:
    """Return the allowed transitions, first tags and last tags of a scheme.

    Args:
        names: all tags, "B-NP", "I-NP", "O", ...
        scheme: `"bio"` (IOB2: every chunk begins with B) or `"bioes"` (chunks of several words end with E, chunks of
            one word are S; BILOU tags are accepted as aliases).

    Raises:
        ValueError: the scheme does not exist, or a tag does not belong to it.

    >>> tag_order(["B-X", "I-X", "O"], "bio").transitions[2]       # after O
    (True, False, True)
    """
    if scheme not in SCHEMES:
        raise ValueError(f"tag_scheme is {' or '.join(SCHEMES)}; got {scheme!r}")
    tags = [_parted(name, scheme) for name in names]
    ends = scheme != "bio"
    return LabelOrder(
        tuple(tuple(_follows(first, second, ends=ends) for second in tags) for first in tags),
        tuple(tag.begins for tag in tags),
        tuple(not (ends and tag.goes_on) for tag in tags),
    )


def _parted(name: str, scheme: str) -> _Tag:
    place, _, kind = name.partition("-")
    if place not in tuple(SCHEMES[scheme]) or (place == "O") == bool(kind):
        wanted = ", ".join("O" if place == "O" else f"{place}-KIND" for place in SCHEMES[scheme][:5])
        raise ValueError(f"the tag {name!r} is not of the tag_scheme {scheme!r}, which has {wanted}")
    return _Tag(_SAME.get(place, place), kind)


def _follows(first: _Tag, second: _Tag, *, ends: bool) -> bool:
    """Return True if the second tag may follow the first."""
    if second.begins:
        return not (ends and first.goes_on)
    return first.goes_on and first.kind == second.kind
