"""Reader of audio files with transcripts in a table or in JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.data.example import BadLine, DataReader, Example, good_lines
from regard.data.formats.lines import Line
from regard.data.pictures.members import split_member


@dataclass(frozen=True)
class Recordings(DataReader):
    """Reads lines of path, tab and transcript, or a `.jsonl` file of objects with `recording` and `transcript`.

    Paths are relative to the folder of the file, and may name a member of an archive: `sounds.zip:name.wav`.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "mine.tsv"
    >>> _ = path.write_text("a.wav\\tseven one\\n"), (path.parent / "a.wav").write_bytes(b"")
    >>> [example.fields["transcript"] for example in Recordings(path)]
    ['seven one']
    """

    path: Path

    def read(self) -> Iterator[Example | BadLine]:
        in_json = self.path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))
        for line in good_lines(self.path, self.encoding, self.max_line):
            yield line if isinstance(line, BadLine) else self._example(line, in_json)

    def _example(self, line: Line, in_json: bool) -> Example | BadLine:
        where = f"{self.path}:{line.number}"
        found = self._of_json(line.text) if in_json else self._of_columns(line.text)
        if isinstance(found, str):
            return BadLine(where, found)
        name, transcript = found
        path = self.path.parent / name
        file, _ = split_member(path)
        if not file.is_file():
            return BadLine(where, f"there is no recording {file}")
        fields = {"recording": str(path), "transcript": transcript}
        return Example(fields if transcript or not self.questions else {"recording": str(path)}, where)

    def _of_columns(self, text: str) -> tuple[str, str] | str:
        """Return path and transcript, or an error message for an invalid line."""
        name, _, transcript = text.partition("\t")
        return self._both(name, transcript) or "a line has the path of a recording, a tab and its transcript"

    def _of_json(self, text: str) -> tuple[str, str] | str:
        try:
            row = json.loads(text)
        except ValueError as problem:
            return f"the line is no JSON: {problem}"
        if not isinstance(row, dict):
            return 'the line is no JSON object; write {"recording": "a.wav", "transcript": "..."}'
        values = (row.get("recording"), row.get("transcript", ""))
        if not all(isinstance(value, str) for value in values):
            return "an object has the strings 'recording', a path, and 'transcript'"
        return self._both(*map(str, values)) or "an object has 'recording', a path, and 'transcript', neither empty"

    def _both(self, name: str, transcript: str) -> tuple[str, str] | None:
        return (name.strip(), transcript.strip()) if name.strip() and (transcript.strip() or self.questions) else None
