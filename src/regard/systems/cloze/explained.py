"""Cloze readers as subjects of explanations."""

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
    """Encoded passages and questions, word numbers of the passages [B, S], and the count of distinct numbers."""

    passage: Encoded
    question: Encoded
    words: Tensor
    size: int


class ClozeSubject(StagedSubject):
    """A cloze reader, explained by its weights s over the words of the passage.

    An answer is one of the distinct words of the passage, with the sum of its weights. It depends on the weights alone,
    so gradients must flow through them. Leaving out a word does not change the numbers of the others.

    Args:
        model: reader in evaluation mode.
        number: function that encodes a question.
        parse: function that parses an input into a question.
    """

    detachable = False

    def __init__(self, model: ClozeReader, number: Callable[[Cloze], Numbered], parse: Callable[[Any], Cloze]) -> None:
        self.model, self.number, self.parse = model, number, parse
        self.device = device_of(model)
        self.embeddings = (embeddings_of(model.encoder),)

    def read(self, inputs: Sequence[Any]) -> SubjectBatch:
        """Return passages as ids and word numbers, [B, S, 2], with their questions in `beside`."""
        rows = [self.number(self.parse(given)) for given in inputs]
        passages, words = ([getattr(row, part) or [0] for row in rows] for part in ("passage", "words"))
        questions = [row.question or [UNK] for row in rows]
        # In one tensor, so that leaving out a word removes both its id and its number.
        ids = torch.stack((padded(passages, PAD), padded(words, PAD)), 2)  # [B, S, 2]
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
        """Return the question with its blank filled by the answer."""
        asked = self.parse(given)
        return asked.filled(list(self.number(asked).names.values())[answer])

    def encode(self, texts: SubjectBatch) -> _Read:
        """Encode passages and questions."""
        question, asked, sizes = texts.beside
        passage: Encoded = self.model.encoder(texts.ids[..., 0], texts.lengths)
        return _Read(passage, self.model.question_encoder(question, asked), texts.ids[..., 1], int(sizes[0]))

    def attend(self, encoded: _Read) -> Tensor:
        """Return s, [B, 1, S]."""
        return self.model.point(encoded.passage, encoded.question)[0].weights()

    def answer(self, encoded: _Read, weights: Tensor) -> Tensor:
        """Return the probabilities of the words of each passage, [B, K]."""
        return pointer_sum(weights.squeeze(1), encoded.words, encoded.size)
