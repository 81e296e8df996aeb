"""Reader of the CMU pronouncing dictionary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.example import BadLine, DataReader, Example, good_lines

_ENTRY = re.compile(r"(\S+?)(?:\(\d+\))? +(\S.*?)(?:\s*#.*)?")


@dataclass(frozen=True)
class Cmudict(DataReader):
    """Words and their phonemes: fields "source" (the word) and "target" (phonemes separated by spaces).

    Variants such as `tomato(2)` are further examples of the same word: split the data by "source". Comments are
    skipped.

    Args:
        path: the file `cmudict.dict`.
        stress: whether to keep the stress digits of vowels (AH0, AH1, AH2).

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "cmudict.dict"
    >>> _ = path.write_text("tomato T AH0 M EY1 T OW2\\ntomato(2) T AH0 M AA1 T OW2 # British\\n")
    >>> [example.fields["target"] for example in Cmudict(path)]
    ['T AH M EY T OW', 'T AH M AA T OW']
    """

    path: str | Path
    stress: bool = field(default=False, kw_only=True)

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per entry."""
        path = Path(self.path)
        for line in good_lines(path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                yield line
            elif line.text.strip() and not line.text.startswith(";;;"):
                yield self._entry(line.text, f"{path}:{line.number}")

    def _entry(self, line: str, where: str) -> Example | BadLine:
        entry = _ENTRY.fullmatch(line.rstrip())
        if entry is None:
            return BadLine(where, "this is not a word and its phonemes")
        word, phonemes = entry.groups()
        return Example({"source": word, "target": phonemes if self.stress else re.sub(r"\d", "", phonemes)}, where)
