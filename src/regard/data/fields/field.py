"""Base class of field kinds, from learning an encoder to collating padded tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from regard.data.fields.column import Column, EncodedRows, Ints, Part
from regard.data.fields.field_encoder import FieldEncoder
from regard.data.fields.padding import PaddedArray
from regard.data.problems import DataError

E = TypeVar("E", bound=FieldEncoder)


@dataclass(frozen=True)
class Field(ABC, Generic[E]):
    """Kind of a field. A new kind needs only a subclass: there is no registry.

    A task defines the kind of each of its fields (`Task.fields`). The steps are: `learn` an encoder from the training
    split, `encode` values into the files of a corpus, `collate` stored values to a batch. Fields use NumPy only;
    `Collator` converts the arrays to tensors.

    Attributes:
        encoder: learned from the training split; None before that, and for kinds without an encoder.
        LEARNS: whether the kind has an encoder, which is saved with the run.
        CHUNK: number of examples encoded at a time.
    """

    LEARNS: ClassVar[bool] = True
    CHUNK: ClassVar[int] = 4096

    encoder: E | None = None

    @property
    def learned(self) -> E:
        """The encoder; an error if there is none."""
        if self.encoder is None:
            raise DataError(f"{type(self).__name__} has no encoder yet; give it one, or learn it from examples")
        return self.encoder

    def learn(self, values: Iterable[Any]) -> E:
        """Learn the encoder from the values of the training split."""
        raise DataError(f"{type(self).__name__} has nothing to learn")

    def with_encoder(self, encoder: FieldEncoder | None) -> Self:
        """Return a copy with another encoder."""
        return replace(self, encoder=encoder)  # type: ignore[arg-type]  # a run keeps encoders of all kinds

    def lenient(self) -> Self:
        """Return a copy for evaluation data, which may contain values that do not occur in training."""
        return self

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that the stored values depend on."""
        return self.encoder.fingerprint if self.encoder is not None else ""

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The files of the field in a corpus, the main one first."""

    @abstractmethod
    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        """Encode values to the rows of each part.

        Raises:
            DataError: a value is invalid for this kind; the caller adds file and line.
        """

    def cells(self, column: Column) -> Ints | None:
        """Return the width of each example in a padded batch, [N]; None if the field does not count to the budget."""
        return None

    def predicted(self, column: Column) -> Ints:
        """Return the number of predicted tokens or values of each example, [N]."""
        return np.ones(len(column.offsets[self.parts[0].name]) - 1, np.int64)

    def known(self, column: Column) -> bool:
        """Return whether at least one value is known from training; True for an empty column."""
        return True

    def fits(self, column: Column) -> bool:
        """Return whether all stored values are in range, for example ids of the encoder.

        Called when a corpus is opened, since its files may be damaged or from another program.
        """
        return True

    @abstractmethod
    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        """Collate some examples to padded arrays, by tensor name.

        Args:
            name: name of the field and of its main tensor, and prefix of the names of its other tensors.
            column: the stored values.
            examples: indices of the examples, [B].
        """
