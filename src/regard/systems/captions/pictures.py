"""Readers of picture files with captions."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from regard.data.example import BadLine, DataReader, Example, good_lines
from regard.data.formats.lines import Line
from regard.data.problems import DataError
from regard.systems.captions.field import PictureSource


@dataclass(frozen=True)
class Pictures(DataReader):
    """Reader of files with one picture and one caption per line; several lines may have the same picture.

    A line consists of the path of a picture, a tab and a caption. In a .jsonl file, it is an object with `picture` and
    `caption`, which may be a list. A path may name a member of an archive, `photos.zip:dog.jpg`.

    Args:
        path: file of pictures and captions.
        folder: folder or zip archive of the pictures; None for the folder of the file.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "mine.tsv"
    >>> _ = path.write_text("dog.jpg\\ta dog runs\\ndog.jpg\\ta brown dog\\n")
    >>> [(Path(one.fields["picture"].name).name, one.fields["caption"]) for one in Pictures(path)]
    [('dog.jpg', 'a dog runs'), ('dog.jpg', 'a brown dog')]
    """

    path: str | Path
    folder: Path | None = None

    def read(self) -> Iterator[Example | BadLine]:
        path = Path(self.path)
        jsonl = path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))
        for line in good_lines(path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                yield line
                continue
            where = f"{path}:{line.number}"
            row = _object(line) if jsonl else _columns(line, self.questions)
            if isinstance(row, str):
                yield BadLine(where, row)
                continue
            name, captions = row
            picture = self._named(name)
            for caption in captions or ([""] if self.questions else []):
                yield Example({"picture": picture, "caption": caption}, where)

    def _named(self, name: str) -> PictureSource:
        folder = Path(self.path).parent if self.folder is None else self.folder
        full = f"{folder}:{name}" if folder.suffix == ".zip" else str(folder / name)
        return PictureSource(full, full)


@dataclass(frozen=True)
class Flickr8k(DataReader):
    """Reader of Flickr8k: a list of picture names, the captions of all pictures as JSON, and an archive of pictures.

    Args:
        path: file with the names of the pictures of a split, one per line.
        captions: JSON file, `{"1.jpg": ["a dog", ...]}`, optionally compressed (`.gz`).
        images: zip archive of the pictures.
    """

    PATHS: ClassVar[tuple[str, ...]] = ("path", "captions", "images")

    path: Path
    captions: Path
    images: Path

    def read(self) -> Iterator[Example | BadLine]:
        known = _captions(self.captions)
        for line in good_lines(self.path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                yield line
                continue
            name, where = line.text.strip(), f"{self.path}:{line.number}"
            if name not in known:
                yield BadLine(where, f"there is no caption of {name!r} in {self.captions}")
                continue
            full = f"{self.images}:{name}"
            for caption in known[name]:
                yield Example({"picture": PictureSource(full, full), "caption": caption}, where)


def _columns(line: Line, questions: bool) -> tuple[str, list[str]] | str:
    """Return name and captions of a tab-separated line, or an error message."""
    name, _, caption = (part.strip() for part in line.text.partition("\t"))
    if not name or not (caption or questions):
        return "a line has the path of a picture, a tab and a caption"
    return name, [caption] if caption else []


def _object(line: Line) -> tuple[str, list[str]] | str:
    """Return name and captions of a JSON object, or an error message."""
    try:
        row = json.loads(line.text)
    except (ValueError, RecursionError) as problem:
        return f"is no JSON ({problem})"
    name = row.get("picture") if isinstance(row, dict) else None
    given = row.get("caption", []) if isinstance(row, dict) else None
    captions = [given] if isinstance(given, str) else given
    if not isinstance(name, str) or not isinstance(captions, list) or not all(isinstance(c, str) for c in captions):
        return "an object has 'picture', a path, and 'caption', a text or a list of texts"
    return name, [caption.strip() for caption in captions if caption.strip()]


def _captions(path: Path) -> Mapping[str, list[str]]:
    """Load the captions by name of the picture.

    Raises:
        DataError: the file is not valid JSON of this format.
    """
    try:
        content = path.read_bytes()
        found: Any = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as problem:
        raise DataError(f"{path}: cannot be read as JSON ({problem})") from None
    if not isinstance(found, dict) or not all(isinstance(texts, list) for texts in found.values()):
        raise DataError(f"{path}: should be an object from names of pictures to lists of captions")
    return found
