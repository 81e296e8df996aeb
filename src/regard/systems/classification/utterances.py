"""Reader of labelled dialogue turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.data.example import BadLine, Example
from regard.data.formats.dialogues import DialogueReader, dialogue_parts
from regard.data.formats.jsonl import json_lines


@dataclass(frozen=True)
class Utterances(DialogueReader):
    """Reader of dialogues, one JSON object with a list of turns and a list of labels per line; one example per turn.

    Args:
        path: file of dialogues; may be compressed (`.gz`).
        turns: key of the list of turns.
        label: key of the list of labels, one per turn.
        names: names of the labels if the file numbers them from 0; () keeps the labels unchanged.
        context: number of preceding turns that are prepended to each turn.
        separator: token between a turn and its context turns.
        without: files whose dialogues are excluded; case and white space are ignored in the comparison.
        pairs: also exclude dialogues that share two consecutive turns with those of `without`.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "talk.jsonl"
    >>> _ = path.write_text('{"turns": ["Hi .", "Oh no !"], "emotion": [0, 1]}\\n')
    >>> [example.fields for example in Utterances(path, names=("none", "anger"))]
    [{'text': 'Hi .', 'label': 'none'}, {'text': 'Oh no !', 'label': 'anger'}]
    >>> [example.fields["text"] for example in Utterances(path, context=1)]
    ['Hi .', 'Hi . | Oh no !']
    """

    path: str | Path
    turns: str = field(default="turns", kw_only=True)
    label: str = field(default="emotion", kw_only=True)
    names: tuple[str, ...] = field(default=(), kw_only=True)
    context: int = field(default=0, kw_only=True)
    separator: str = field(default="|", kw_only=True)
    without: tuple[Path, ...] = field(default=(), kw_only=True)
    pairs: bool = field(default=False, kw_only=True)

    def read(self) -> Iterator[Example | BadLine]:
        known = {part for path in self.without for found, _ in self._dialogues(path) for part in self._parts(found)}
        for found, where in self._dialogues(Path(self.path)):
            if isinstance(found, BadLine):
                yield found
            elif not known or known.isdisjoint(self._parts(found)):
                yield from self._examples(found, where)

    def _parts(self, found: dict[str, Any] | BadLine) -> Iterator[tuple[str, ...]]:
        """Yield the parts of a dialogue that must not occur in the files `without`."""
        turns = [] if isinstance(found, BadLine) else found.get(self.turns)
        if isinstance(turns, list):
            yield from dialogue_parts([str(turn) for turn in turns], pairs=self.pairs)

    def _dialogues(self, path: Path) -> Iterator[tuple[dict[str, Any] | BadLine, str]]:
        return json_lines(path, self.encoding, self.max_line)

    def _examples(self, found: dict[str, Any], where: str) -> Iterator[Example | BadLine]:
        for key in (self.turns,) if self.questions else (self.turns, self.label):
            if not isinstance(found.get(key), list):
                yield BadLine(where, f"there is no list under the key {key!r} among {', '.join(found) or 'none'}")
                return
        turns = found[self.turns]
        labels = [""] * len(turns) if self.questions else found[self.label]
        if len(labels) != len(turns):
            yield BadLine(where, f"there are {len(turns)} turns and {len(labels)} labels; each turn needs one")
            return
        for number, (turn, label) in enumerate(zip(turns, labels, strict=True)):
            if not isinstance(turn, str) or not (turn.strip() or self.questions):
                yield BadLine(where, f"the turn {turn!r} is not a text, or is blank")
                continue
            read = [one for one in turns[max(0, number - self.context) : number + 1] if isinstance(one, str)]
            yield self._example(f" {self.separator} ".join(read), label, where)

    def _example(self, text: str, label: object, where: str) -> Example | BadLine:
        if self.questions:
            return Example({"text": text}, where)
        if not self.names:
            return Example({"text": text, "label": str(label)}, where)
        if not isinstance(label, int) or not 0 <= label < len(self.names):
            return BadLine(where, f"the label {label!r} is no number from 0 to {len(self.names) - 1}, which have names")
        return Example({"text": text, "label": self.names[label]}, where)
