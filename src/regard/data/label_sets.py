"""Sets of classes to ids and back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from regard.data.labels import Labels, names_of
from regard.data.problems import DataError


@dataclass(frozen=True)
class LabelSets(Labels):
    """The classes of texts that have any number of them; otherwise as `Labels`.

    Attributes:
        threshold: the probability from which on a label is part of an answer, as it was tuned on the validation data;
            None where it was not.

    >>> labels = LabelSets.train([["drama"], [], ["comedy", "drama"]])
    >>> labels.names, labels.encode(["drama"]), labels.encode([])
    (('comedy', 'drama'), [1], [])
    """

    FILE: ClassVar[str] = "label_sets"

    threshold: float | None = field(default=None, compare=False)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """From a file that `save` wrote."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(f"{path} is not a list of labels: {error}") from error
        threshold = content.get("threshold") if isinstance(content, dict) else 0
        if not isinstance(content, dict) or not isinstance(threshold, float | None):
            raise DataError(f"{path} does not have the labels and the threshold of sets of labels")
        return cls(names_of(content.get("labels"), path), threshold=threshold)

    def save(self, path: str | Path) -> None:
        """Write the names and the threshold as JSON."""
        content = {"labels": self.names, "threshold": self.threshold}
        Path(path).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
