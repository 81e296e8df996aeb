"""Word translation dictionaries."""

from __future__ import annotations

from pathlib import Path

from regard.data.formats.lines import lines
from regard.data.problems import DataError, shortened


def read_dictionary(path: Path) -> dict[str, str]:
    """Read a dictionary with a source word, a tab and its translation per line; blank lines are ignored.

    The first of several translations of a word is used. A translation may have several words.

    Raises:
        DataError: a line has another format; the message has file and line number.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "words.tsv"
    >>> _ = path.write_text("Haus\\thouse\\nUS\\tUnited States\\n")
    >>> read_dictionary(path)
    {'Haus': 'house', 'US': 'United States'}
    """
    found: dict[str, str] = {}
    for line in lines(path):
        if line.problem is not None:
            raise DataError(f"{path}:{line.number}: not UTF-8; convert it with iconv -t utf-8")
        if not line.text.strip():
            continue
        word, _, translation = (part.strip() for part in line.text.partition("\t"))
        if word.split() != [word] or not translation:
            given = shortened(line.text)
            raise DataError(
                f"{path}:{line.number}: {given!r} is no entry; write one source word, a tab and its translation"
            )
        found.setdefault(word, " ".join(translation.split()))
    return found
