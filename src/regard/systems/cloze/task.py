"""Answers to cloze questions: the word of the passage, or the candidate, that fills the blank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from regard.data.batching.batch import Batch, padded
from regard.data.batching.corpus import Corpus
from regard.data.example import Example, Examples, Value
from regard.data.fields.field import Field
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import TextError
from regard.decode.search import Search
from regard.models.outputs import Predicted
from regard.ops.pointer_sum import pointer_candidates
from regard.recipes.data_section import Reading
from regard.recipes.sections import Recipe
from regard.specials import PAD, UNK
from regard.systems.cloze.field import ClozeField, WithCloze
from regard.systems.cloze.question import BLANK, KEYS, Cloze, cloze_of, parsed_cloze, renamed
from regard.systems.cloze.reading import ABSENT, ClozeReading, Numbered
from regard.systems.cloze.sections import ClozeData, Names
from regard.tasks.loss import Loss
from regard.tasks.prediction import Prediction
from regard.tasks.task import Encoders, Fields, Task
from regard.tasks.tokenizers import learned_tokenizer

_LEAST = 1e-30
"""Probability of an answer below which nothing is learned from it."""


@dataclass(frozen=True)
class ClozeBatch:
    """Passages and questions side by side."""

    passage: Tensor  # [B, S]
    passage_lengths: Tensor  # [B]
    passage_words: Tensor  # [B, S], equal words have one number
    passage_question: Tensor  # [B, T]
    passage_question_lengths: Tensor  # [B]
    passage_answer: Tensor  # [B], number of the answer's word


@dataclass(frozen=True)
class ClozeAnswering(Task):
    """Cloze questions: the loss of a reader, -log P(answer), and its n likeliest candidates.

    A model takes the words of passages [B, S] and of questions [B, T] with their lengths, and gives a distribution over
    the words of the passage. Equal words add up. In training all words of the passage compete; of an answer only the
    candidates do, if there are any.

    Attributes:
        encoders: the tokenizer of "passage", for questions too.
        placeholder, keys, slots, hide: of the data section.
    """

    context: ClassVar[str | None] = "question"
    question: ClassVar[str] = "passage"
    answer: ClassVar[str | None] = "answer"
    unit: ClassVar[str] = "answer"
    outline_sizes: ClassVar[tuple[int, int | None]] = (8, None)

    encoders: Encoders
    placeholder: str = BLANK
    keys: tuple[str, ...] = KEYS
    slots: int = 0
    hide: bool = False

    @classmethod
    def of(cls, recipe: Recipe, encoders: Encoders) -> ClozeAnswering:
        data = recipe.data
        assert isinstance(data, Names)
        keys = data.keys if isinstance(data, ClozeData) else KEYS
        return cls(encoders, data.placeholder, keys, data.slots, data.hide)

    @classmethod
    def reading(cls, recipe: Recipe) -> Reading:
        return replace(super().reading(recipe), group="passage")

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        assert isinstance(recipe.data, Names)
        return {"passage": ClozeField(slots=recipe.data.slots, hide=recipe.data.hide)}

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: Encoders) -> Encoders:
        texts = chain.from_iterable((*one.fields["passage"], one.fields["question"]) for one in train)
        return {"passage": known.get("passage") or learned_tokenizer(recipe.tokenizer, texts)}

    @classmethod
    def corpus(cls, recipe: Recipe, found: Examples, fields: Fields, cache: Path) -> Corpus | None:
        return Corpus.build(WithCloze.of(found), fields, cache)

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of passages and questions."""
        found = self.encoders["passage"]
        assert isinstance(found, Tokenizer)
        return found

    @property
    def sizes(self) -> tuple[int, int | None]:
        return self.tokenizer.size + self.slots, None

    @property
    def target_field(self) -> str:
        return "passage"

    @property
    def input_fields(self) -> tuple[str, ...]:
        return ("passage", "question")

    def embeddings(self, model: nn.Module) -> dict[str, Any]:
        """Return the module with the table of words, whose last rows are the slots of unknown ones."""
        words = getattr(getattr(model, "encoder", None), "words", None)
        table = getattr(words, "table", None)
        fits = isinstance(table, nn.Embedding) and table.num_embeddings == self.sizes[0]
        return {"passage": words} if fits else {}

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        asked = batch.view(ClozeBatch)
        passage, question = asked.passage, asked.passage_question
        if update is not None and self.slots:
            passage, question = dealt(passage, question, first=self.tokenizer.size, slots=self.slots)
        predicted: Predicted = model(passage, asked.passage_lengths, question, asked.passage_question_lengths)
        likely = pointer_candidates(_weights(predicted), asked.passage_words, asked.passage_answer.unsqueeze(1))
        there = asked.passage_answer != ABSENT
        total = -likely[:, 0].clamp(min=_LEAST).log().masked_fill(~there, 0.0).sum()
        return Loss(total, total.detach(), int(there.sum()), attended=predicted.attended)

    def parse(self, given: Any) -> Cloze:
        """Return a cloze question: from a text, a JSON object, a mapping, a path, or the bytes of a file."""
        if isinstance(given, Cloze):
            return given
        try:
            if isinstance(given, Mapping):
                return cloze_of(renamed(given, self.keys), self.placeholder)
            return parsed_cloze(super().parse(given), self.placeholder)
        except TextError:
            raise
        except ValueError as problem:
            raise TextError(str(problem)) from None

    def ask(self, fields: Mapping[str, Value]) -> Cloze:
        return self.parse(dict(fields))

    def predict(self, model: Any, texts: Sequence[Any], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        asked = [self.parse(one) for one in texts]
        read = self.numbering
        rows = [read(one) for one in asked]
        order = sorted(range(len(rows)), key=lambda index: len(rows[index].passage))
        answers: list[list[Prediction]] = [[] for _ in rows]
        for begin in range(0, len(order), batch):
            part = order[begin : begin + batch]
            weights = self._pointed(model, [rows[index] for index in part])
            for index, row in zip(part, weights, strict=True):
                answers[index] = self._ranked(asked[index], rows[index], row)[: search.n_best]
        return answers

    @property
    def numbering(self) -> ClozeReading:
        """From texts to numbers."""
        return ClozeReading(self.tokenizer, self.slots, self.hide)

    @torch.inference_mode()
    def _pointed(self, model: Any, rows: Sequence[Numbered]) -> list[Tensor]:
        """Return s of each question, over the words of its passage."""
        device = next(model.parameters()).device
        texts = [[row.passage or [UNK] for row in rows], [row.question or [UNK] for row in rows]]
        lengths = [torch.tensor([len(row) for row in text], device=device) for text in texts]
        ids = [padded(text, PAD).to(device) for text in texts]
        weights = _weights(model(ids[0], lengths[0], ids[1], lengths[1])).float().cpu()
        return [weights[index, : len(row.passage)] for index, row in enumerate(rows)]

    def _ranked(self, asked: Cloze, row: Numbered, weights: Tensor) -> list[Prediction]:
        """Return the candidates, or all words of the passage, by their summed weights."""
        names = asked.candidates or tuple(row.names)
        numbers = row.candidates if asked.candidates else list(range(len(row.names)))
        summed = pointer_candidates(weights[None], torch.tensor([row.words]), torch.tensor([numbers]))[0]
        shares = (summed / summed.sum().clamp(min=_LEAST)).tolist()
        scores = dict(sorted(zip(names, shares, strict=True), key=lambda one: -one[1]))
        tokens = tuple(row.names[number] for number in row.words)
        logs = {name: float(torch.tensor(share).clamp(min=_LEAST).log()) for name, share in scores.items()}
        return [
            Prediction(
                str(asked),
                name,
                log,
                tokens,
                (name,),
                (log,),
                weights[None],
                labels=(name,),
                scores=scores,
            )
            for name, log in logs.items()
        ]


def dealt(passage: Tensor, question: Tensor, *, first: int, slots: int) -> tuple[Tensor, Tensor]:
    """Return ids with the slots of unknown words in another order, a random one for each example.

    Args:
        passage, question: [B, S] and [B, T].
        first: id of the first slot; all larger ones are slots.
        slots: number of slots.
    """
    order = torch.rand(len(passage), slots, device=passage.device).argsort(dim=1) + first

    def turned(ids: Tensor) -> Tensor:
        return torch.where(ids >= first, order.gather(1, (ids - first).clamp(min=0)), ids)

    return turned(passage), turned(question)


def _weights(predicted: Predicted) -> Tensor:
    """s [B, S]."""
    assert predicted.attended is not None
    return predicted.attended.weights()[:, 0]
