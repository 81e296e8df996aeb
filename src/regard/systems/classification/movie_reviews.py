"""Reader of the film reviews of the polarity data set, version 2.0, in ten folds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from regard.data.example import BadLine, DataReader, Example
from regard.data.hash_split import Part
from regard.data.pictures.members import members, read_bytes
from regard.data.problems import DataError

FOLDS = 10
_NAME = re.compile(r"cv(\d)\d\d")


@dataclass(frozen=True)
class MovieReviews(DataReader):
    """Reader of reviews labelled by their folder: fields "text", with line breaks as spaces, and "label".

    The folds are those of the data set, the first digit of the number in a file name: `neg/cv713_29002.txt` belongs to
    fold 7. One fold is for testing, the next for validation, the other eight for training.

    Args:
        path: zip archive or folder, with one folder of .txt files per label, at any depth.
        split: "train", "valid" or "test".
        fold: number of the test fold.

    >>> from tempfile import mkdtemp
    >>> import zipfile
    >>> path = Path(mkdtemp()) / "reviews.zip"
    >>> with zipfile.ZipFile(path, "w") as archive:
    ...     archive.writestr("reviews/neg/cv713_29002.txt", "too long .\\ntoo loud .\\n")
    >>> [example.fields for example in MovieReviews(path, "test", 7)]
    [{'text': 'too long . too loud .', 'label': 'neg'}]
    """

    path: str | Path
    split: Part = "train"
    fold: int = 0

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Paths of the texts of this split, sorted by label and number; archive members as `archive:member`."""
        path = Path(self.path)
        if path.is_dir():
            names = [str(one) for one in path.rglob("*.txt")]
        elif path.is_file():
            names = [f"{path}:{name}" for name in members(path)]
        else:
            raise DataError(f"{path}: there is no such archive or folder; set data.archive to its name in data.root")
        found = tuple(sorted(name for name in names if self._is_here(name)))
        if not found:
            raise DataError(
                f"{path}: has no reviews of the split {self.split}; the names of .txt files in folders pos and neg "
                "begin with cv and three digits"
            )
        return found

    @property
    def files(self) -> tuple[Path, ...]:
        path = Path(self.path)
        return tuple(map(Path, self.texts)) if path.is_dir() else (path,)

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per file."""
        for name in self.texts:
            try:
                text = " ".join(read_bytes(name).decode(self.encoding).split())
            except UnicodeDecodeError as problem:
                yield BadLine(
                    name, f"is not {self.encoding} ({problem.reason} at byte {problem.start})", "data.encoding"
                )
                continue
            label = PurePosixPath(name.replace("\\", "/")).parent.name
            yield Example({"text": text, "label": label}, name) if text else BadLine(name, "it is blank")

    def _is_here(self, name: str) -> bool:
        found = _NAME.match(PurePosixPath(name.replace("\\", "/")).name) if name.endswith(".txt") else None
        if found is None:
            return False
        number = (int(found[1]) - self.fold) % FOLDS
        return self.split == ("test" if number == 0 else "valid" if number == 1 else "train")
