"""Adapters of story readers for explanation methods: attention over words or sentences, one-word answers."""

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
    """Wrap a story reader as a subject of explanations.

    Args:
        model: an attentive reader or a memory network.
        tokenizer: tokenizer of stories, questions and answers.

    Raises:
        ValueError: the model does not attend to the story, or its linear start is not over (no softmax yet).
    """
    if isinstance(model, AttentiveReader):
        return WordSubject(model, tokenizer)
    if not isinstance(model, MemoryNetwork):
        raise ValueError(f"{type(model).__name__} reads no memory of the story's sentences, so it is not explained")
    if model.linear:
        raise ValueError("the hops are still without their softmax (model.linear_start); train the network further")
    return SentenceSubject(model, tokenizer)


class _StorySubject(StagedSubject):
    """Base class of story readers; only the story is perturbed, never the question.

    Args:
        model: model in evaluation mode.
        tokenizer: tokenizer of stories, questions and answers.
    """

    def __init__(self, model: nn.Module, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.device = tokenizer, device_of(model)

    def read(self, inputs: Sequence[str]) -> SubjectBatch:
        """Encode stories as sentences [B, N, J]; the questions [B, J'] are in `beside`."""
        asked = [Sentences.of(given) or Sentences([given]) for given in inputs]
        rows = encoded_sentences([text[:-1] for text in asked], self.tokenizer.encode_all)
        story, sentences = map(torch.from_numpy, nested(rows))
        questions = self.tokenizer.encode_all([text[-1] for text in asked])
        question = padded([row or [UNK] for row in questions], PAD)
        return SubjectBatch(story.to(self.device), sentences.to(self.device), PAD, beside=(question.to(self.device),))

    def name(self, given: str, texts: SubjectBatch, answer: int) -> str:
        """Return the question followed by its answer."""
        question = (Sentences.of(given) or [given])[-1]
        return f"{question}? {self.tokenizer.tokens([answer + len(SPECIALS)])[0]}"


def _answers(logits: Tensor) -> Tensor:
    """Return the probabilities of the answer words [B, V - 4], without the special tokens."""
    return logits[:, len(SPECIALS) :].softmax(-1)


class SentenceSubject(_StorySubject):
    """Memory network, explained by the weights of the sentences in each hop."""

    unit: ClassVar[str] = "sentence"

    def __init__(self, model: MemoryNetwork, tokenizer: Tokenizer) -> None:
        super().__init__(model, tokenizer)
        self.model, self.embeddings = model, list(model.hops.encoders)

    def words(self, given: str) -> list[str]:
        """Return the sentences of the story."""
        return list(Sentences.of(given)[:-1])

    def encode(self, texts: SubjectBatch) -> StoryMemory:
        """Embed the question and the memories of each hop."""
        (question,) = texts.beside
        return self.model.ready_hops().remember(texts.ids, question, Mask.padding(texts.lengths))

    def attend(self, encoded: StoryMemory) -> Tensor:
        """Return the attention weights of each hop over the sentences, [B, K, N]."""
        return torch.cat([read.weights() for read in self.model.hops.read(encoded).reads], 1)

    def answer(self, encoded: StoryMemory, weights: Tensor) -> Tensor:
        """Return the probabilities of the answer words [B, V - 4] under the given weights."""
        return _answers(self.model.answer(self.model.hops.recall(encoded, weights)))


class WordSubject(_StorySubject):
    """Attentive reader, explained by the weights of the words of the story."""

    def __init__(self, model: AttentiveReader, tokenizer: Tokenizer) -> None:
        super().__init__(model, tokenizer)
        self.model, self.embeddings = model, (embeddings_of(model.encoder),)

    def read(self, inputs: Sequence[str]) -> SubjectBatch:
        """Encode stories as words [B, T]; the questions [B, J'] are in `beside`."""
        texts = super().read(inputs)
        words = StoryWords.of(texts.ids)
        return texts._replace(ids=words.ids, lengths=words.lengths)

    def words(self, given: str) -> list[str]:
        """Return the words of the story."""
        return self.tokenizer.tokens(self.read([given]).ids[0].tolist())

    def encode(self, texts: SubjectBatch) -> ReadStory:
        """Encode the story and the question."""
        (question,) = texts.beside
        return self.model.read(texts.ids, texts.lengths, question)

    def attend(self, encoded: ReadStory) -> Tensor:
        """Return the attention weights of the words, [B, 1, T]."""
        return self.model.attend(encoded).weights()

    def answer(self, encoded: ReadStory, weights: Tensor) -> Tensor:
        """Return the probabilities of the answer words [B, V - 4] under the given weights."""
        return _answers(self.model.answer(encoded, weights @ encoded.states))
