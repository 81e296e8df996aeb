"""Reader of ABC files: tunes as texts for a character model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from regard.data.example import BadLine, DataReader, Example
from regard.data.formats.encodings import lone_surrogate
from regard.data.formats.lines import opened
from regard.data.problems import DataError
from regard.systems.melodies.abc import parse, tunes

_KEPT = "MLK"  # fields that affect the sound, in their order in a text
_FIELD = re.compile(r"([A-Za-z]):(?![|:])\s*(.*)")
_CHORD = re.compile(r'"[^"]*"')


@dataclass(frozen=True)
class Tunes(DataReader):
    """Tunes of one ABC file, or of all files that match a pattern such as `*.abc`, in the field "text".

    A text contains the fields M, L and K, one per line, and then the music. Consecutive lines of music are joined.
    Titles, sources, parts and comments are removed.

    Args:
        path: the file or the pattern.
        chords: "drop" removes chord symbols, "keep" keeps them.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "reels.abc"
    >>> _ = path.write_text('X:1\\nT:The Clock\\nK:G\\nM:2/4\\n"G"G2 B2|"D7"A2 G2|\\nB4|\\n')
    >>> [example.fields["text"] for example in Tunes(path)]
    ['M:2/4\\nK:G\\nG2 B2|A2 G2|B4|']
    """

    path: str | Path
    chords: Literal["drop", "keep"] = field(default="drop", kw_only=True)

    @property
    def files(self) -> tuple[Path, ...]:
        path = Path(self.path)
        return tuple(sorted(path.parent.glob(path.name))) if "*" in path.name else (path,)

    def read(self) -> Iterator[Example | BadLine]:
        for path in self.files:
            with opened(path) as file:
                content = file.read()
            try:
                text = content.decode(self.encoding)
            except UnicodeDecodeError:
                raise DataError(f"{path}: it is not in the encoding {self.encoding}; set data.encoding") from None
            found = list(tunes(text))
            if not found:
                yield BadLine(f"{path}:1", "there is no tune; each begins with a line X: and its number")
            for line, tune in found:
                yield self._example(tune, f"{path}:{line}")

    def _example(self, tune: str, where: str) -> Example | BadLine:
        errors = parse(tune).errors
        if errors or lone_surrogate(tune) is not None:
            return BadLine(where, f"the tune that begins here is not ABC: {(*errors, 'a character is broken')[0]}")
        return Example({"text": playable_part(tune, chords=self.chords == "keep")}, where)


def playable_part(tune: str, *, chords: bool = False) -> str:
    """Return the parts of a tune that affect its sound: metre, length, key and music.

    >>> playable_part('X:1\\nT:A tune\\nM:3/4\\nK:D\\nP:A\\n"D"d2 f2 a2|\\\\\\nf6|\\nK:G\\nG6|')
    'M:3/4\\nK:D\\nd2 f2 a2|f6|\\nK:G\\nG6|'
    """
    header: dict[str, str] = {}
    body: list[str] = []
    joins = False  # True if the previous line was music
    for raw in tune.splitlines():
        line = raw.partition("%")[0].strip()
        if (named := _FIELD.match(line)) is not None:
            if named[1] not in _KEPT:
                continue
            if body:
                body.append(f"{named[1]}:{named[2]}")
                joins = False
            else:
                header[named[1]] = named[2]
        elif music := " ".join((line if chords else _CHORD.sub("", line)).replace("\\", "").split()):
            if joins:
                body[-1] += music
            else:
                body.append(music)
            joins = True
    return "\n".join([f"{name}:{header[name]}" for name in _KEPT if name in header] + body)
