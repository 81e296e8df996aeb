"""Readers of stories as explanations see them: words or sentences with weights, and an answer of one word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from regard.data.batching.batch import padded
from regard.data.fields.padding import nested
from regard.data.fields.sentences import Sentences, encoded_sentences
from regard.data.fields.tokenizer import Tokenizer
from regard.explain.embeddings import embeddings_of
from regard.explain.subject import StagedSubject, SubjectBatch
from regard.masks import Mask
from regard.nn.hops import StoryMemory
from regard.protocol import device_of
from regard.specials import PAD, SPECIALS, UNK
from regard.systems.answering.attentive_reader import AttentiveReader, ReadStory, StoryWords
from regard.systems.answering.memory_network import MemoryNetwork


def subject_of(model: nn.Module, tokenizer: Tokenizer) -> StagedSubject:
    """Return a reader of stories as a subject.

    Args:
        model: the reader.
        tokenizer: of stories, questions and answers.

    Raises:
        ValueError: it does not attend to its story, or learns by energies without a softmax.
    """
    if isinstance(model, AttentiveReader):
        return WordSubject(model, tokenizer)
    if not isinstance(model, MemoryNetwork):
        raise ValueError(f"{type(model).__name__} reads no memory of the story's sentences, so it is not explained")
    if model.linear:
        raise ValueError("the hops are still without their softmax (model.linear_start); train the network further")
    return SentenceSubject(model, tokenizer)


class _StorySubject(StagedSubject):
    """A reader of stories; the question stays whole.

    Args:
        model: in evaluation mode.
        tokenizer: of stories, questions and answers.
    """

    def __init__(self, model: nn.Module, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.device = tokenizer, device_of(model)

    def read(self, inputs: Sequence[str]) -> SubjectBatch:
        """Return stories as sentences [B, N, J], their questions beside them."""
        asked = [Sentences.of(given) or Sentences([given]) for given in inputs]
        rows = encoded_sentences([text[:-1] for text in asked], self.tokenizer.encode_all)
        story, sentences = map(torch.from_numpy, nested(rows))
        questions = self.tokenizer.encode_all([text[-1] for text in asked])
        question = padded([row or [UNK] for row in questions], PAD)
        return SubjectBatch(story.to(self.device), sentences.to(self.device), PAD, beside=(question.to(self.device),))

    def name(self, given: str, texts: SubjectBatch, answer: int) -> str:
        """Return the question with its answer."""
        question = (Sentences.of(given) or [given])[-1]
        return f"{question}? {self.tokenizer.tokens([answer + len(SPECIALS)])[0]}"


def _answers(logits: Tensor) -> Tensor:
    """Return the probabilities of words [B, V - 4]: special ids are no answers."""
    return logits[:, len(SPECIALS) :].softmax(-1)


class SentenceSubject(_StorySubject):
    """A memory network, by the weights of sentences in each hop."""

    unit: ClassVar[str] = "sentence"

    def __init__(self, model: MemoryNetwork, tokenizer: Tokenizer) -> None:
        super().__init__(model, tokenizer)
        self.model, self.embeddings = model, list(model.hops.encoders)

    def words(self, given: str) -> list[str]:
        """Return the sentences of the story."""
        return list(Sentences.of(given)[:-1])

    def encode(self, texts: SubjectBatch) -> StoryMemory:
        """Return question and memories."""
        (question,) = texts.beside
        return self.model.ready_hops().remember(texts.ids, question, Mask.padding(texts.lengths))

    def attend(self, encoded: StoryMemory) -> Tensor:
        """Return the weights of each hop, [B, K, N]."""
        return torch.cat([read.weights() for read in self.model.hops.read(encoded).reads], 1)

    def answer(self, encoded: StoryMemory, weights: Tensor) -> Tensor:
        """Return the probabilities of words."""
        return _answers(self.model.answer(self.model.hops.recall(encoded, weights)))


class WordSubject(_StorySubject):
    """An attentive reader, by the weights of the words of the story."""

    def __init__(self, model: AttentiveReader, tokenizer: Tokenizer) -> None:
        super().__init__(model, tokenizer)
        self.model, self.embeddings = model, (embeddings_of(model.encoder),)

    def read(self, inputs: Sequence[str]) -> SubjectBatch:
        """Return stories as words [B, T], their questions beside them."""
        texts = super().read(inputs)
        words = StoryWords.of(texts.ids)
        return texts._replace(ids=words.ids, lengths=words.lengths)

    def words(self, given: str) -> list[str]:
        """Return the words of the story."""
        return self.tokenizer.tokens(self.read([given]).ids[0].tolist())

    def encode(self, texts: SubjectBatch) -> ReadStory:
        """Return the states of words and question."""
        (question,) = texts.beside
        return self.model.read(texts.ids, texts.lengths, question)

    def attend(self, encoded: ReadStory) -> Tensor:
        """Return the weights of the words, [B, 1, T]."""
        return self.model.attend(encoded).weights()

    def answer(self, encoded: ReadStory, weights: Tensor) -> Tensor:
        """Return the probabilities of words."""
        return _answers(self.model.answer(encoded, weights @ encoded.states))
