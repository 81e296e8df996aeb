"""Question answering task: one word as the answer to a question about a story."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import torch
from rich.text import Text
from torch import Tensor, nn

from regard.data.batching.batch import Batch, padded
from regard.data.batching.corpus import Corpus
from regard.data.example import Examples, Value
from regard.data.fields.field import Field
from regard.data.fields.padding import nested
from regard.data.fields.sentences import Sentences, encoded_sentences
from regard.data.fields.story import StoryField
from regard.data.fields.tokenizer import Tokenizer
from regard.decode.search import Search
from regard.explain.panel import Panel
from regard.explain.subject import Subject
from regard.models.model_output import ModelOutput, log_softmax
from regard.recipes.sections import Recipe
from regard.specials import PAD, SPECIALS, UNK
from regard.systems.answering.explained import subject_of
from regard.tasks.input_output import no_head
from regard.tasks.loss import Loss, token_loss
from regard.tasks.prediction import Prediction
from regard.tasks.task import FieldEncoders, Task
from regard.tasks.tokenizers import field_values, learned_tokenizer, tokens_field
from regard.view.terminal import story_map
from regard.view.text import isolated

_UNKNOWN = UNK - len(SPECIALS)


@dataclass(frozen=True)
class StoryBatch:
    """Batch of stories, questions and one-word answers."""

    story: Tensor  # [B, N, J]
    story_lengths: Tensor  # [B], number of sentences
    question: Tensor  # [B, J']
    answer: Tensor  # [B, 1]


@dataclass(frozen=True)
class Answering(Task):
    """Question answering about a story: the loss of a reader, and its n most probable answer words.

    A model takes the words of the story [B, N, J], of the question [B, J'] and the number of sentences [B]. It returns
    logits [B, V] over one vocabulary shared by stories, questions and answers. In an input text, the question follows
    the story: "Mary went home. John left. Where is Mary?"; a tab may separate the sentences.

    Attributes:
        encoders: one tokenizer for "story", "question" and "answer".
        smoothing: label smoothing of the answers.
    """

    context: ClassVar[str | None] = "story"
    question: ClassVar[str] = "question"
    answer: ClassVar[str | None] = "answer"
    unit: ClassVar[str] = "answer"

    encoders: FieldEncoders
    smoothing: float = 0.0

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Answering:
        return cls(encoders, recipe.train.label_smoothing)

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        text = tokens_field(recipe.tokenizer)
        return {"story": StoryField(learner=text.learner), "question": text, "answer": text}

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: FieldEncoders) -> FieldEncoders:
        texts = chain(field_values(train, "story"), field_values(train, "question"), field_values(train, "answer"))
        joint = learned_tokenizer(recipe.tokenizer, texts)
        return {"story": joint, "question": joint, "answer": joint}

    @property
    def measured_in(self) -> str:
        """Return the display name of the unit of the loss."""
        return "nats an answer"

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of stories, questions and answers."""
        found = self.encoders[self.question]
        assert isinstance(found, Tokenizer)
        return found

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        asked = batch.view(StoryBatch)
        predicted: ModelOutput = model(asked.story, asked.question, asked.story_lengths)
        right = asked.answer[:, 0] - len(SPECIALS)  # [B]; class 0 is the first word after the special tokens
        smoothing = 0.0 if update is None else self.smoothing
        total, nll = token_loss(_words(predicted), right, padding=_UNKNOWN, smoothing=smoothing)
        return Loss(total, nll.detach(), int((right != _UNKNOWN).sum()))

    @property
    def input_fields(self) -> tuple[str, ...]:
        return ("story", "question")

    def ask(self, fields: Mapping[str, Value]) -> str:
        story = fields["story"]
        sentences = Sentences.of(story) if isinstance(story, str) else story
        return "\t".join((*sentences, str(fields["question"])))

    def reference(self, text: str) -> str:
        # Not through ids: an answer that does not occur in training must count as wrong, not as an unknown token.
        return self.tokenizer.normal(text)

    def drawing(self, prediction: Prediction) -> Text | None:
        """Return a terminal drawing of the attention of each hop over the story."""
        return None if prediction.alignment is None else story_map(prediction.alignment, prediction.source_tokens)

    def shown_input(self, prediction: Prediction) -> str:
        return prediction.source.rpartition("\t")[2]

    def data_warnings(self, model: nn.Module, corpus: Corpus | None) -> list[str]:
        forgotten = None if corpus is None else forgotten_stories(model, corpus)
        return [] if forgotten is None else [forgotten]

    def classes(self, text: str) -> list[str]:
        return [text]

    def input_warnings(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Return warnings about unknown words and about stories longer than the memory of the model."""
        asked = [Sentences.of(text) for text in texts]
        room = getattr(model, "memory_size", math.inf)
        return super().input_warnings(model, [" ".join(sentences) for sentences in asked]) + [
            f"a story of {len(sentences) - 1} sentences is longer than the memory of {room} (model.memory_size): its "
            "first ones are not read"
            for sentences in asked
            if len(sentences) - 1 > room
        ]

    def after_validation(self, model: Any, loss: float) -> str | None:
        said: str | None = model.observe(loss) if hasattr(model, "observe") else None
        return said

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        asked = [Sentences.of(text) or Sentences([text]) for text in texts]
        order = sorted(range(len(texts)), key=lambda index: len(asked[index]))  # similar lengths: less padding
        answers: list[list[Prediction]] = [[] for _ in texts]
        for begin in range(0, len(order), batch):
            part = order[begin : begin + batch]
            found = self._answers(model, [asked[index] for index in part], search.n_best)
            for index, (said, weights) in zip(part, found, strict=True):
                answers[index] = [
                    Prediction(texts[index], word, score, tuple(asked[index][:-1]), (word,), (score,), weights)
                    for word, score in said
                ]
        return answers

    def panels(self, model: Any, text: str, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return a panel with the attention of each hop over the story."""
        no_head(head)
        (answer,) = self.predict(model, [text], replace(search, n_best=1))[0]
        if answer.alignment is None or not answer.alignment.numel():
            raise ValueError("the model attends to nothing that could be drawn")
        question = (Sentences.of(text) or [text])[-1]
        hops = tuple(f"hop {number}" for number in range(1, len(answer.alignment) + 1))
        return [
            Panel(
                f"{isolated(f'{question}?')}\n{isolated(answer.text)}",
                answer.alignment.T,
                rows=answer.source_tokens,
                columns=hops,
            )
        ]

    def subject(self, model: Any) -> Subject:
        return subject_of(model, self.tokenizer)

    @torch.inference_mode()
    def _answers(
        self, model: Any, asked: Sequence[Sequence[str]], n_best: int
    ) -> list[tuple[list[tuple[str, float]], Tensor | None]]:
        """Return per text the n most probable words with log p, and the attention of each hop [K, N]."""
        device = next(model.parameters()).device
        rows = encoded_sentences([text[:-1] for text in asked], self.tokenizer.encode_all)
        story, sentences = map(torch.from_numpy, nested(rows))
        question = padded([row or [UNK] for row in self.tokenizer.encode_all([text[-1] for text in asked])], PAD)
        predicted: ModelOutput = model(story.to(device), question.to(device), sentences.to(device))
        log_probs = log_softmax(_words(predicted))
        ranked = log_probs.topk(min(n_best, log_probs.shape[-1]))
        weights = None if predicted.attended is None else predicted.attended.weights().float().cpu()
        found = []
        for row, text in enumerate(asked):
            words = self.tokenizer.tokens((ranked.indices[row] + len(SPECIALS)).tolist())
            looked = None if weights is None else weights[row, :, : len(text) - 1]
            found.append((list(zip(words, ranked.values[row].tolist(), strict=True)), looked))
        return found


def _words(predicted: ModelOutput) -> Tensor:
    """Return the logits of the answer words [B, V - 4], without the special tokens."""
    return predicted.logits[:, len(SPECIALS) :]


def forgotten_stories(model: nn.Module, corpus: Corpus) -> str | None:
    """Return a warning about stories longer than the memory of a model, or None if there are none.

    Args:
        model: any model; one with a `memory_size` reads only that many sentences, the last ones of a story.
        corpus: corpus whose story fields are checked.
    """
    size = getattr(model, "memory_size", math.inf)
    for name, kind in corpus.kinds.items():
        if not isinstance(kind, StoryField):
            continue
        sentences = kind.sentences(corpus.column(name))
        longer = int((sentences > size).sum())
        if longer:
            return (
                f"{longer:,} of {len(corpus):,} stories are longer than the memory (model.memory_size is {size}, the "
                f"longest has {int(sentences.max())} sentences): only their last {size} sentences are read"
            )
    return None
