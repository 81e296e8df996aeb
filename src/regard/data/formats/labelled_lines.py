"""Reader of labelled texts, one per line or file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from regard.data.example import BadLine, DataReader, Example, good_lines
from regard.data.formats.pairs import Pairs
from regard.data.problems import DataError


@dataclass(frozen=True)
class LabelledLines(DataReader):
    """One text per line with its label: fields "text" and "label". Blank lines are skipped.

    Args:
        path: the file, or the folder for `label="file"`.
        label: "first" or "last" column of the line, or "file": the name of each .txt file in the folder is the label of
            its lines. If the folder has subfolders of .txt files, the name of a subfolder is the label of its files,
            and each file is one text, with line ends replaced by spaces.
        labels: a separate file with one label per line; `label` is then ignored.
        separator: separator between label and text; None for any white space.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "reviews"
    >>> _ = path.write_text("1 a gem\\n0 far too long\\n")
    >>> [example.fields for example in LabelledLines(path)]
    [{'text': 'a gem', 'label': '1'}, {'text': 'far too long', 'label': '0'}]
    """

    path: str | Path
    label: Literal["first", "last", "file"] = "first"
    labels: str | Path | None = field(default=None, kw_only=True)
    separator: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.label not in ("first", "last", "file"):
            raise DataError(f"label is {self.label!r}; it can be 'first', 'last' or 'file'")

    @property
    def files(self) -> tuple[Path, ...]:
        """The text file and the file of labels, if any; or all files of the folder."""
        path = Path(self.path)
        if self.labels is not None:
            return path, Path(self.labels)
        if self.label != "file":
            return (path,)
        if not path.is_dir():
            raise DataError(f"{path}: there is no such folder")
        inner = [file for folder in sorted(path.iterdir()) if folder.is_dir() for file in _texts(folder)]
        found = inner or _texts(path)
        if not found:
            raise DataError(
                f"{path}: there are no .txt files in it, whose names would be the labels, and no folders of .txt files"
            )
        return tuple(found)

    def settings(self) -> str:
        """Return the settings; if names are labels, including the number of files per label."""
        apart = self.labels is not None
        by_name = self.label == "file" and not apart
        named = dict(Counter((self._name(path), self._one_text(path)) for path in self.files)) if by_name else {}
        how = f"{self.encoding}, {self.bad_lines}"
        more = f"{self.target_setting}{self.limit_setting}"
        return f"Labelled({self.label}, {apart}, {self.separator!r}, {how}, {named}){more}"

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per labelled text."""
        if self.labels is not None:
            for item in Pairs(self.path, self.labels, encoding=self.encoding, max_line=self.max_line).read():
                yield item if isinstance(item, BadLine) else _renamed(item)
            return
        for path in self.files:
            if self._one_text(path):
                yield self._whole(path)
                continue
            for line in good_lines(path, self.encoding, self.max_line):
                if isinstance(line, BadLine):
                    yield line
                elif line.text.strip():
                    yield self._example(path, line.text, f"{path}:{line.number}")

    def _example(self, path: Path, line: str, where: str) -> Example | BadLine:
        if self.label == "file":
            return Example({"text": line, "label": self._name(path)}, where)
        parts = line.split(self.separator, 1) if self.label == "first" else line.rsplit(self.separator, 1)
        label, text = ("", "") if len(parts) < 2 else parts if self.label == "first" else reversed(parts)
        if not text.strip() or not (label.strip() or self.may_be_blank("label")):
            return BadLine(where, f"the line has a label or a text, not both (the label comes {self.label})")
        return Example({"text": text.strip(), "label": label.strip()}, where)

    def _one_text(self, path: Path) -> bool:
        """Return whether a file is a single text, because it is in a subfolder."""
        return self.label == "file" and path.parent != Path(self.path)

    def _name(self, path: Path) -> str:
        """Return the label in the name of a file or its folder."""
        if self._one_text(path):
            return path.parent.name
        return path.name.removesuffix(".gz").removesuffix(".txt")

    def _whole(self, path: Path) -> Example | BadLine:
        """Return a whole file as one example."""
        read: list[str] = []
        size = 0
        for line in good_lines(path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                return line
            size += len(line.text)
            if size > self.max_line:
                return BadLine(
                    str(path), f"the text has more than {self.max_line:,} bytes; cut it, or set data.max_line"
                )
            read.append(line.text.strip())
        text = " ".join(filter(None, read))
        return (
            Example({"text": text, "label": self._name(path)}, str(path)) if text else BadLine(str(path), "it is blank")
        )


def _texts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.txt")) + sorted(folder.glob("*.txt.gz"))


def _renamed(pair: Example) -> Example:
    label = pair.fields["target"]
    assert isinstance(label, str)
    return Example({"text": pair.fields["source"], "label": label.strip()}, pair.where)
