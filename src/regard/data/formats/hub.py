"""Reader of data sets of the `datasets` library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from regard.data.example import BadLine, DataReader, Example
from regard.data.formats.jsonl import select_fields
from regard.data.problems import DataError


@dataclass(frozen=True)
class Hub(DataReader):
    """A split of a data set of the `datasets` library (the extra `regard[data]`).

    Args:
        name: argument of `datasets.load_dataset`: a name on the hub, or a folder.
        split: "train", "validation", "train[:1000]", ...
        keys: mapping from field to column; nested columns are written with a dot, "translation.de".
        config: configuration of the data set, if it has several.
    """

    PATHS: ClassVar[tuple[str, ...]] = ()

    name: str
    split: str
    keys: Mapping[str, str] = field(default_factory=lambda: {"source": "source", "target": "target"})
    config: str | None = field(default=None, kw_only=True)

    @cached_property
    def _rows(self) -> Any:
        try:
            import datasets
        except ImportError:
            raise DataError(f"to read {self.name!r} from the hub, pip install 'regard[data]'") from None
        try:
            return datasets.load_dataset(self.name, self.config, split=self.split)
        except (OSError, ValueError) as error:
            raise DataError(f"{self.name!r} could not be loaded by the datasets library: {error}") from error

    @property
    def files(self) -> tuple[Path, ...]:
        """No files: the library manages its own cache."""
        return ()

    def settings(self) -> str:
        """Return the settings, including the library's fingerprint of the content."""
        return f"{super().settings()} {getattr(self._rows, '_fingerprint', '')}"

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per row."""
        for number, row in enumerate(self._rows):
            yield select_fields(_flat(row), self.keys, f"{self.name}[{self.split}]:{number}", self.may_be_blank)

    def _emptiness(self) -> str:
        return f"{self.name}[{self.split}] has no usable rows ({self.skipped})"


def _flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in row.items():
        flat.update(_flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value})
    return flat
