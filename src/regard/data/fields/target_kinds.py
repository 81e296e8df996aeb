"""Target kinds: single label, several labels or number, as parsed from a file."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from regard.data.fields.label_sets import LabelSetField, LabelSets
    from regard.data.fields.labels import LabelField, Labels
    from regard.data.fields.numbers import NumberField, Numbers

Written = str | list[str]


class TargetKind(ABC):
    """Form of the label in the data: its parser, and the kind of its field.

    Attributes:
        blank: whether an empty value is a valid label.
    """

    blank: ClassVar[bool] = False

    @abstractmethod
    def read(self, value: Written) -> Written:
        """Parse a label and return its normal form.

        Raises:
            ValueError: the value is not a valid label; the caller prepends file and line to the message.
        """

    @abstractmethod
    def field(self) -> LabelField | NumberField:
        """Return the field kind; imported here because readers must work without NumPy."""

    @property
    @abstractmethod
    def encoder(self) -> type[Labels | Numbers]:
        """Class of the encoder."""


@dataclass(frozen=True)
class OneLabel(TargetKind):
    """One label per text; white space is stripped and collapsed to single spaces.

    >>> OneLabel().read(" very  good ")
    'very good'
    """

    def read(self, value: Written) -> str:
        if isinstance(value, list):
            raise ValueError(
                f"the label is a list, {value!r}; a text has one (for several labels per text set data.target_kind to "
                "labels)"
            )
        return " ".join(value.split())

    def field(self) -> LabelField:
        from regard.data.fields.labels import LabelField

        return LabelField()

    @property
    def encoder(self) -> type[Labels]:
        from regard.data.fields.labels import Labels

        return Labels


@dataclass(frozen=True)
class SeveralLabels(TargetKind):
    """Any number of labels per text, including none: a list, or one text with a separator between labels.

    Labels are sorted and deduplicated, so that equal sets are equal lists.

    Args:
        separator: separator between labels in a text.

    >>> SeveralLabels(",").read("drama, comedy,drama"), SeveralLabels(",").read("")
    (['comedy', 'drama'], [])
    """

    blank: ClassVar[bool] = True
    separator: str = ","

    def read(self, value: Written) -> list[str]:
        parts = value if isinstance(value, list) else value.split(self.separator)
        names = {" ".join(part.split()) for part in parts} - {""}
        if (odd := next((name for name in names if self.separator in name), None)) is not None:
            raise ValueError(
                f"the label {odd!r} contains {self.separator!r}, which stands between labels; set data.label_separator "
                "to something that no label contains"
            )
        return sorted(names)

    def field(self) -> LabelSetField:
        from regard.data.fields.label_sets import LabelSetField

        return LabelSetField()

    @property
    def encoder(self) -> type[LabelSets]:
        from regard.data.fields.label_sets import LabelSets

        return LabelSets


@dataclass(frozen=True)
class OneNumber(TargetKind):
    """One number per text.

    >>> OneNumber().read(" 3.60 ")
    '3.60'
    """

    def read(self, value: Written) -> str:
        if isinstance(value, list):
            raise ValueError(f"the target is a list, {value!r}; a text has one number")
        text = value.strip()
        try:
            number = float(text)
        except ValueError:
            hint = f"; write {text.replace(',', '.')}" if text.count(",") == 1 and "." not in text else ""
            raise ValueError(f"{text!r} is not a number, and data.target_kind is number{hint}") from None
        if not math.isfinite(number):
            raise ValueError(f"{text!r} is not a finite number, which data.target_kind number needs")
        return text

    def field(self) -> NumberField:
        from regard.data.fields.numbers import NumberField

        return NumberField()

    @property
    def encoder(self) -> type[Numbers]:
        from regard.data.fields.numbers import Numbers

        return Numbers


ONE_LABEL = OneLabel()
