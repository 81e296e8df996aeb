"""Cloze readers as explanations see them: words of a passage with weights that are the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.data.batching.batch import padded
from regard.explain.embeddings import embeddings_of
from regard.explain.subject import StagedSubject, SubjectBatch
from regard.models.encoded import Encoded
from regard.ops.pointer_sum import pointer_sum
from regard.protocol import device_of
from regard.specials import PAD, UNK
from regard.systems.cloze.cloze_reader import ClozeReader
from regard.systems.cloze.question import Cloze
from regard.systems.cloze.reading import Numbered


class _Read(NamedTuple):
    """Passages and questions, the number of each word of a passage [B, S], and how many numbers there are."""

    passage: Encoded
    question: Encoded
    words: Tensor
    size: int


class ClozeSubject(StagedSubject):
    """A cloze reader by its weights s of the words of the passage.

    An answer is one of the different words of the passage, with the sum of its weights. So gradients flow through the
    weights: with fixed ones the answer depends on nothing else. A word that is left out leaves the numbers of the
    others as they are.

    Args:
        model: in evaluation mode.
        number: from a question to its numbers.
        parse: from an input to a question.
    """

    detachable = False

    def __init__(self, model: ClozeReader, number: Callable[[Cloze], Numbered], parse: Callable[[Any], Cloze]) -> None:
        self.model, self.number, self.parse = model, number, parse
        self.device = device_of(model)
        self.embeddings = (embeddings_of(model.encoder),)

    def read(self, inputs: Sequence[Any]) -> SubjectBatch:
        """Return passages as ids and numbers of their words, [B, S, 2], their questions beside them."""
        rows = [self.number(self.parse(given)) for given in inputs]
        passages, words = ([getattr(row, part) or [0] for row in rows] for part in ("passage", "words"))
        questions = [row.question or [UNK] for row in rows]
        ids = torch.stack((padded(passages, PAD), padded(words, PAD)), 2)
        lengths = torch.tensor([len(row.passage) for row in rows])
        asked = torch.tensor([len(row) for row in questions])
        sizes = torch.full((len(rows),), max(len(row.names) for row in rows))
        beside = tuple(part.to(self.device) for part in (padded(questions, PAD), asked, sizes))
        return SubjectBatch(ids.to(self.device), lengths.to(self.device), PAD, beside=beside)

    def words(self, given: Any) -> list[str]:
        """Return the words of the passage."""
        row = self.number(self.parse(given))
        names = list(row.names.values())
        return [names[number] for number in row.words]

    def name(self, given: Any, texts: SubjectBatch, answer: int) -> str:
        """Return the question with the answer in its blank."""
        asked = self.parse(given)
        return asked.filled(list(self.number(asked).names.values())[answer])

    def encode(self, texts: SubjectBatch) -> _Read:
        """Return the states of passages and questions."""
        question, asked, sizes = texts.beside
        passage: Encoded = self.model.encoder(texts.ids[..., 0], texts.lengths)
        return _Read(passage, self.model.question_encoder(question, asked), texts.ids[..., 1], int(sizes[0]))

    def attend(self, encoded: _Read) -> Tensor:
        """Return s, [B, 1, S]."""
        return self.model.point(encoded.passage, encoded.question)[0].weights()

    def answer(self, encoded: _Read, weights: Tensor) -> Tensor:
        """Return the probabilities of the words of each passage, [B, K]."""
        return pointer_sum(weights.squeeze(1), encoded.words, encoded.size)
