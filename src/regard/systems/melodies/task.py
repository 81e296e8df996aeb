"""The task of melodies: character language modelling of tunes in ABC notation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.decode.search import Search
from regard.systems.language_model.task import LanguageModelling
from regard.systems.melodies.tune_files import playable_part
from regard.tasks.prediction import Prediction

_INLINE = re.compile(r"\s*([MLK]:(?![|:])\S+)\s*")
SHOWN = 16
"""Number of prompt characters of a sample, about the length of the header fields."""


@dataclass(frozen=True)
class Melodies(LanguageModelling):
    """Language modelling of tunes; a prompt is a header or the beginning of a tune."""

    def parse(self, given: Any) -> Any:
        """Parse the beginning of a tune; its fields may be on one line: `M:6/8 K:G |:G2A`."""
        parsed = super().parse(given)
        return plain_prompt(parsed) if isinstance(parsed, str) else parsed

    def samples(self, model: Any, texts: Sequence[str], search: Search, *, tokens: int = SHOWN) -> list[Prediction]:
        return super().samples(model, texts, search, tokens=tokens)


def plain_prompt(text: str) -> str:
    """Return the beginning of a tune in the layout of the training texts.

    >>> plain_prompt("M:6/8 K:G |:G2A"), plain_prompt("T:Mine\\nM:6/8\\nK:G")
    ('M:6/8\\nK:G\\n|:G2A', 'M:6/8\\nK:G\\n')
    """
    fields, rest = [], text
    while (found := _INLINE.match(rest)) is not None:
        fields.append(found[1])
        rest = rest[found.end() :]
    whole = playable_part("\n".join([*fields, rest]), chords=True)
    return whole + "\n" if whole and _INLINE.fullmatch(whole.splitlines()[-1]) else whole
