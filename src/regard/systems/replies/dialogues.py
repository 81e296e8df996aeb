"""Reader of dialogues in JSON lines as pairs of history and reply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.data.example import BadLine, Example
from regard.data.formats.dialogues import DialogueReader, dialogue_parts
from regard.data.formats.jsonl import json_lines


@dataclass(frozen=True)
class Dialogues(DialogueReader):
    """Pairs of history and reply: each turn but the first is a reply to the last `turns` turns before it.

    Args:
        path: a file with a JSON object per line, `{"turns": ["Hi .", "Hello ."]}`; `.gz` too.
        key: JSON key of the list of turns.
        turns: maximum number of turns in a history.
        separator: token between turns.
        without: files whose dialogues are left out; the comparison ignores case and white space.
        pairs: also leave out dialogues that share two consecutive turns with those of `without`.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "talk.jsonl"
    >>> _ = path.write_text('{"turns": ["Hi .", "Hello .", "Tea ?"]}\\n')
    >>> [example.fields for example in Dialogues(path)]
    [{'source': 'Hi .', 'target': 'Hello .'}, {'source': 'Hi . | Hello .', 'target': 'Tea ?'}]
    """

    path: str | Path
    key: str = field(default="turns", kw_only=True)
    turns: int = field(default=4, kw_only=True)
    separator: str = field(default="|", kw_only=True)
    without: tuple[Path, ...] = field(default=(), kw_only=True)
    pairs: bool = field(default=False, kw_only=True)

    def read(self) -> Iterator[Example | BadLine]:
        known = {
            part
            for path in self.without
            for _, turns in self._dialogues(path)
            if not isinstance(turns, BadLine)
            for part in dialogue_parts(turns, pairs=self.pairs)
        }
        for where, turns in self._dialogues(Path(self.path)):
            if isinstance(turns, BadLine):
                yield turns
            elif self.questions:
                yield Example({"source": history(turns, self.turns, self.separator)}, where)
            elif not known or known.isdisjoint(dialogue_parts(turns, pairs=self.pairs)):
                for number in range(1, len(turns)):
                    before = history(turns[:number], self.turns, self.separator)
                    yield Example({"source": before, "target": turns[number]}, where)

    def _dialogues(self, path: Path) -> Iterator[tuple[str, list[str] | BadLine]]:
        for found, where in json_lines(path, self.encoding, self.max_line):
            yield where, found if isinstance(found, BadLine) else self._turns(found, where)

    def _turns(self, found: dict[str, Any], where: str) -> list[str] | BadLine:
        if self.key not in found:
            return BadLine(where, f"there is no key {self.key!r} among {', '.join(found) or 'none'}", "data.key")
        turns = found[self.key]
        if not isinstance(turns, list) or not all(isinstance(turn, str) and turn.strip() for turn in turns):
            return BadLine(where, f"the value of {self.key!r} is not a list of texts that are not blank")
        least = 1 if self.questions else 2
        if len(turns) < least:
            return BadLine(where, f"a dialogue has at least {least} turns; this one has {len(turns)}")
        return [" ".join(turn.split()) for turn in turns]


def history(turns: Sequence[str], most: int, separator: str) -> str:
    """Return the last turns as one text.

    >>> history(["Hi .", "Hello .", "Tea ?"], 2, "|")
    'Hello . | Tea ?'
    """
    return f" {separator} ".join(turns[-most:])


def parsed_turns(text: str) -> list[str]:
    """Parse the turns of an input: a JSON list, or one turn per line.

    Raises:
        ValueError: the input is a JSON list that contains anything but strings.

    >>> parsed_turns('["Hi .", "Hello ."]'), parsed_turns("Hi .\\nHello .")
    (['Hi .', 'Hello .'], ['Hi .', 'Hello .'])
    """
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, list):
            if not found or not all(isinstance(turn, str) for turn in found):
                raise ValueError("a history is a list of texts, one per turn")
            return [" ".join(turn.split()) for turn in found]
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]
