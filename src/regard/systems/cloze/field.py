"""Field of cloze questions: encodes passage, question and answer, and collates them into a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.data.batching.mixture import Mixture
from regard.data.example import Example, Examples, WrappedExamples
from regard.data.fields.column import Column, EncodedRows, Ints, Part, concatenate_rows
from regard.data.fields.field import Field
from regard.data.fields.padding import PER_EXAMPLE, PaddedArray, PaddingRule, table
from regard.data.fields.tokenizer import Tokenizer
from regard.data.fields.tokens import Learner, learn_words
from regard.specials import PAD
from regard.systems.cloze.question import Cloze
from regard.systems.cloze.reading import ABSENT, ClozeReading


@dataclass(frozen=True)
class ClozeField(Field[Tokenizer]):
    """Passages as token ids [B, S], and their lengths [B].

    A batch also contains `<name>_words` [B, S], where equal words have the same number, `<name>_question` [B, T] with
    its lengths, and `<name>_answer` [B], the number of the answer's word.

    A value is a pair of a `Cloze` and its answer, which is None if unknown.

    Attributes:
        slots, hide: as in `ClozeReading`.
        learner: function that learns a tokenizer from texts.
    """

    slots: int = 0
    hide: bool = False
    learner: Learner = field(default=learn_words, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        return f"{super().fingerprint} {self.slots} {self.hide}"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("ids"), Part("words"), Part("question"), Part("answer", rows=1))

    def learn(self, values: Iterable[Any]) -> Tokenizer:
        return self.learner(values)

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        reading = ClozeReading(self.learned, self.slots, self.hide)
        rows = [reading(cloze) for cloze, _ in values]
        answers = [
            [ABSENT if answer is None else reading.number(answer, row)]
            for row, (_, answer) in zip(rows, values, strict=True)
        ]
        return {
            "ids": concatenate_rows([one.passage for one in rows], "int32"),
            "words": concatenate_rows([one.words for one in rows], "int32"),
            "question": concatenate_rows([one.question for one in rows], "int32"),
            "answer": concatenate_rows(answers, "int32"),
        }

    def cells(self, column: Column) -> Ints:
        return column.counts("ids")

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        found = {}
        for part, key, pad in (
            ("ids", name, PAD),
            ("words", f"{name}_words", 0),
            ("question", f"{name}_question", PAD),
        ):
            # Each part is stored as one flat array; these are its rows for the examples of the batch.
            begins = column.offsets[part][examples]
            counts = column.offsets[part][examples + 1] - begins
            found[key] = PaddedArray(table(column.values[part], begins, counts, pad=pad), PaddingRule(pad, (0, 0)))
            if part != "words":
                found[f"{key}_lengths"] = PaddedArray(counts, PER_EXAMPLE)
        answers = column.values["answer"][examples].astype(np.int64)
        return {**found, f"{name}_answer": PaddedArray(answers, PaddingRule(ABSENT, (0,)))}


@dataclass(frozen=True)
class WithCloze(WrappedExamples):
    """Examples whose field "passage" is the pair of a `Cloze` and its answer."""

    @classmethod
    def of(cls, examples: Examples) -> Examples:
        """Return examples with such a field; each part of a mixture is wrapped separately."""
        return examples.each(cls) if isinstance(examples, Mixture) else cls(examples)

    def settings(self) -> str:
        """Settings of the wrapped examples."""
        return f"WithCloze({self.examples.settings()})"

    def __iter__(self) -> Iterator[Example]:
        for example in self.examples:
            cloze = Cloze(
                tuple(example.fields["passage"]), example.fields["question"], tuple(example.fields["candidates"])
            )
            yield example._replace(fields={"passage": (cloze, example.fields.get("answer"))})
