"""Labels of the words of a text."""

from __future__ import annotations

from dataclasses import dataclass

from regard.data.fields.column import Column, Ints, Part
from regard.data.fields.labels import LabelField
from regard.data.fields.padding import PER_EXAMPLE, PaddedArray, PaddingRule, table
from regard.specials import IGNORE


@dataclass(frozen=True)
class TagsField(LabelField):
    """A label per word: ids [B, T] padded with -100, and their number per text [B].

    >>> from regard.data.fields.labels import Labels
    >>> TagsField(Labels(("DT", "NN"))).encode([["DT", "NN"], []])["ids"].counts
    array([2, 0])
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("ids"),)

    def predicted(self, column: Column) -> Ints:
        return column.counts("ids")

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        begins = column.offsets["ids"][examples]
        counts = column.offsets["ids"][examples + 1] - begins
        ids = table(column.values["ids"], begins, counts, pad=IGNORE)
        return {
            name: PaddedArray(ids, PaddingRule(IGNORE, (0, 0))),
            f"{name}_lengths": PaddedArray(counts, PER_EXAMPLE),
        }
