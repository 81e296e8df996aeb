"""Word links of a sentence pair, and their file formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from regard.data.formats.lines import lines
from regard.data.problems import DataError, shortened

Link = tuple[int, int]
"""(source word, target word), both counted from 0."""
Links = frozenset[Link]

_LINK = re.compile(r"([0-9]+)([-p])([0-9]+)")


class GoldLinks(NamedTuple):
    """Human alignments: sure links, and possible links, which include the sure ones."""

    sure: Links
    possible: Links


def pharaoh(links: Iterable[Link]) -> str:
    """Format links in the Pharaoh format, sorted by target word.

    >>> pharaoh({(2, 1), (0, 0), (1, 1)})
    '0-0 1-1 2-1'
    """
    return " ".join(f"{source}-{target}" for source, target in sorted(links, key=lambda link: (link[1], link[0])))


def parse_pharaoh(text: str) -> Links:
    """Parse a line in the Pharaoh format.

    Raises:
        ValueError: a link of another form.

    >>> sorted(parse_pharaoh("0-0 2-1"))
    [(0, 0), (2, 1)]
    """
    return parse_gold(text).sure


def parse_gold(text: str, *, first: int = 0) -> GoldLinks:
    """Parse a line of gold alignments: `i-j` is a sure link, `ipj` a possible one.

    Args:
        text: the line.
        first: index of the first word, 0 or 1.

    Raises:
        ValueError: a link of another form, or before the first word.

    >>> gold = parse_gold("1-1 2p1", first=1)
    >>> sorted(gold.sure), sorted(gold.possible)
    ([(0, 0)], [(0, 0), (1, 0)])
    """
    found: dict[str, set[Link]] = {"-": set(), "p": set()}
    for one in text.split():
        match = _LINK.fullmatch(one)
        if match is None:
            raise ValueError(f"{shortened(one)!r} is no link; write source-target, 0-0 for the first two words")
        source, target = int(match[1]) - first, int(match[3]) - first
        if min(source, target) < 0:
            raise ValueError(f"the link {one} is before the first word, which has number {first}")
        found[match[2]].add((source, target))
    return GoldLinks(frozenset(found["-"]), frozenset(found["-"] | found["p"]))


def read_links(path: Path) -> list[Links]:
    """Read a file in the Pharaoh format: one sentence pair per line; a blank line has no links.

    Raises:
        DataError: a line that cannot be read, by file and number.
    """
    return [gold.sure for gold in read_gold(path, first=0)]


def read_gold(path: Path, *, first: int | None = None) -> list[GoldLinks]:
    """Read gold alignments, one sentence pair per line.

    Args:
        path: the file.
        first: index of the first word; None to detect it: 0 if index 0 occurs anywhere in the file, else 1.

    Raises:
        DataError: a line that cannot be read, by file and number.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "gold"
    >>> _ = path.write_text("1-1 2p1\\n\\n1-2\\n")
    >>> [sorted(gold.possible) for gold in read_gold(path)]
    [[(0, 0), (1, 0)], [], [(0, 1)]]
    """
    texts = [*_texts(path)]
    if first is None:
        zero = any(re.search(r"(?:^|[\sp-])0+(?:[\sp-]|$)", text) for text in texts)
        first = 0 if zero else 1
    found = []
    for number, text in enumerate(texts, start=1):
        try:
            found.append(parse_gold(text, first=first))
        except ValueError as problem:
            raise DataError(f"{path}:{number}: {problem}") from None
    return found


def check_links(path: Path, number: int, links: Iterable[Link], sizes: tuple[int, int]) -> None:
    """Check that the word indices of links are in range.

    Args:
        path, number: file and line of the links, for the message.
        links: the links of one sentence pair.
        sizes: number of source and target words.

    Raises:
        DataError: a link is out of range; the message names the first one.
    """
    for source, target in sorted(links):
        for side, word, size in (("source", source, sizes[0]), ("target", target, sizes[1])):
            if word >= size:
                raise DataError(
                    f"{path}:{number}: the link {source}-{target} (counted from 0) is outside: the {side} has {size} "
                    "words; see that links and texts belong together"
                )


def _texts(path: Path) -> Iterator[str]:
    for line in lines(path):
        if line.problem is not None:
            raise DataError(f"{path}:{line.number}: {line.problem}")
        yield line.text
