"""The base of sections `data` whose examples are generated."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

from regard.recipes.data_section import DataSection, FieldLayout, SplitName

if TYPE_CHECKING:
    from regard.data.example import Examples


class GeneratedData(DataSection):
    """Keys of generated data: the sizes of the splits, and the arguments of what generates them.

    Attributes:
        made: the `Generated` class, "module:Class".
    """

    made: ClassVar[str]

    def arguments(self, split: SplitName) -> dict[str, Any]:
        """Return the arguments of the class for a split, by name."""
        rule = self.model_dump(exclude={"format", "train_size", "valid_size", "test_size"}, exclude_none=True)
        return {"split": split, "size": getattr(self, f"{split}_size"), **rule}

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        return reading.adapt(self._made(**self.arguments(split)))

    def _made(self, **arguments: Any) -> Examples:
        module, _, name = self.made.partition(":")
        found: Examples = getattr(importlib.import_module(module), name)(**arguments)
        return found
