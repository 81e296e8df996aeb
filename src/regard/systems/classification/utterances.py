"""Utterances of dialogues with a label each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from regard.data.example import Bad, Example, Reader, good_lines
from regard.data.formats.jsonl import json_object


@dataclass(frozen=True)
class Utterances(Reader):
    """Each turn of a dialogue with its label, one JSON object with two lists per line.

    Args:
        path: the file; `.gz` too.
        turns: key of the texts.
        label: key of the labels, as many as turns.
        names: of labels that are numbers from 0; () keeps them as they are.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "talk.jsonl"
    >>> _ = path.write_text('{"turns": ["Hi .", "Oh no !"], "emotion": [0, 1]}\\n')
    >>> [example.fields for example in Utterances(path, names=("none", "anger"))]
    [{'text': 'Hi .', 'label': 'none'}, {'text': 'Oh no !', 'label': 'anger'}]
    """

    path: str | Path
    turns: str = field(default="turns", kw_only=True)
    label: str = field(default="emotion", kw_only=True)
    names: tuple[str, ...] = field(default=(), kw_only=True)

    def asking(self, columns: Mapping[str, Any]) -> Self:
        return replace(self, questions=True)

    def read(self) -> Iterator[Example | Bad]:
        path = Path(self.path)
        for line in good_lines(path, self.encoding, self.max_line):
            if isinstance(line, Bad):
                yield line
            elif line.text.strip():
                yield from self._examples(line.text, f"{path}:{line.number}")

    def _examples(self, text: str, where: str) -> Iterator[Example | Bad]:
        found = json_object(text, where)
        if isinstance(found, Bad):
            yield found
            return
        for key in (self.turns,) if self.questions else (self.turns, self.label):
            if not isinstance(found.get(key), list):
                yield Bad(where, f"there is no list under the key {key!r} among {', '.join(found) or 'none'}")
                return
        turns = found[self.turns]
        labels = [""] * len(turns) if self.questions else found[self.label]
        if len(labels) != len(turns):
            yield Bad(where, f"there are {len(turns)} turns and {len(labels)} labels; each turn needs one")
            return
        for turn, label in zip(turns, labels, strict=True):
            yield self._example(turn, label, where)

    def _example(self, turn: object, label: object, where: str) -> Example | Bad:
        if not isinstance(turn, str) or not (turn.strip() or self.questions):
            return Bad(where, f"the turn {turn!r} is not a text, or is blank")
        if self.questions:
            return Example({"text": turn}, where)
        if not self.names:
            return Example({"text": turn, "label": str(label)}, where)
        if not isinstance(label, int) or not 0 <= label < len(self.names):
            return Bad(where, f"the label {label!r} is no number from 0 to {len(self.names) - 1}, which have names")
        return Example({"text": turn, "label": self.names[label]}, where)
