"""The recall task: questions answered from an exchangeable memory of precomputed texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import torch
from rich.text import Text
from torch import Tensor, nn

from regard.data.batching.batch import Batch, padded
from regard.data.example import Example, Examples
from regard.data.fields.field import Field
from regard.data.fields.tokenizer import Tokenizer
from regard.data.formats.lines import lines
from regard.data.problems import DataError
from regard.decode import generate
from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.explain.panel import Panel
from regard.models.model_output import ModelOutput
from regard.protocol import Step
from regard.recipes.section import own_keys
from regard.recipes.sections import Recipe
from regard.specials import BOS, PAD, UNK
from regard.systems.recall.memory_transformer import MemoryTransformer, Remembered
from regard.systems.recall.sections import RecallDecoding
from regard.systems.recall.text_store import TextStore
from regard.tasks.input_output import no_head
from regard.tasks.loss import Loss, token_loss
from regard.tasks.prediction import Prediction
from regard.tasks.scheduled_sampling import Exposure
from regard.tasks.task import FieldEncoders, Task, in_batches
from regard.tasks.tokenizers import field_values, learned_tokenizer, tokens_field
from regard.view.terminal import story_map
from regard.view.text import isolated

SHOWN = 5
"""Number of memory texts reported with an answer: those with the largest attention weights."""
_TOGETHER = 256  # texts per encoder batch


@dataclass(frozen=True)
class FactBatch:
    """Questions and answers (with BOS and EOS), and the facts that form the memory of the batch."""

    fact: Tensor  # [B, F]
    fact_lengths: Tensor  # [B]
    source: Tensor  # [B, S]
    source_lengths: Tensor  # [B]
    target: Tensor  # [B, T]


@dataclass(frozen=True)
class Recalling(Task):
    """Lookup in a memory of texts: the loss of a memory Transformer, and its predictions.

    In training, the memory of a batch contains the "fact" fields of all its examples; each fact is a distractor for the
    other examples. It is encoded in each update, with gradient. Evaluation uses all facts of a split as memory,
    prediction the texts of a file or the states that `regard remember` stored.

    Attributes:
        encoders: one tokenizer for "fact", "source" and "target".
        smoothing: label smoothing.
        exposure: decoder inputs in training (teacher forcing or scheduled sampling).
        memory: file with the memory: one text per line, or states in a .safetensors file; None for the facts of the
            evaluated split.
        stored, external: the memory as states, and as projected keys and values; None before `bind`.
    """

    context: ClassVar[str | None] = "fact"
    question: ClassVar[str] = "source"
    answer: ClassVar[str | None] = "target"

    encoders: FieldEncoders
    smoothing: float = 0.0
    exposure: Exposure = field(default_factory=Exposure)
    memory: Path | None = None
    stored: TextStore | None = None
    external: Remembered | None = None

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Recalling:
        memory = own_keys(recipe.decode, RecallDecoding).memory
        smoothing, stored = recipe.train.label_smoothing, None if memory is None else Path(memory)
        return cls(encoders, smoothing, Exposure.of(recipe), stored)

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        section = recipe.tokenizer
        target = tokens_field(section, begin=True, end=True)
        return {"fact": tokens_field(section), "source": tokens_field(section), "target": target}

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: FieldEncoders) -> FieldEncoders:
        texts = chain(field_values(train, "fact"), field_values(train, "source"), field_values(train, "target"))
        joint = learned_tokenizer(recipe.tokenizer, texts)
        return {"fact": joint, "source": joint, "target": joint}

    def drawing(self, prediction: Prediction) -> Text | None:
        """Return the memory texts that each token of the answer attended to."""
        if prediction.alignment is None:
            return None
        return story_map(prediction.alignment, prediction.source_tokens, prediction.tokens)

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of all texts."""
        found = self.encoders[self.question]
        assert isinstance(found, Tokenizer)
        return found

    @torch.no_grad()
    def bind(self, model: Any, examples: Iterable[Example] | None = None) -> Recalling:
        """Return the task with its memory encoded by the model.

        Raises:
            ValueError: the model is an ensemble, or the memory is empty, or it was stored by another model, or its
                words are unknown.
        """
        if not isinstance(model, MemoryTransformer):
            raise ValueError("the task 'recall' is answered by one model with its own memory; leave other runs out")
        if self.memory is not None and self.memory.suffix == ".safetensors":
            stored = TextStore.load(self.memory)
            if stored.encoder != model.signature:
                raise ValueError(
                    f"{self.memory} was stored by another model, whose states say nothing to this one; store the texts "
                    "again with `regard remember`"
                )
        elif self.memory is not None:
            stored = self.store(model, self.memory)
        elif examples is not None:
            facts = dict.fromkeys(str(example.fields["fact"]) for example in examples)
            stored = _encoded(model, list(facts), self.tokenizer.encode_all(list(facts)))
        else:
            return self
        stored = stored.to(next(model.parameters()).device)
        return replace(self, stored=stored, external=model.remember(stored.states))

    @torch.no_grad()
    def store(self, model: MemoryTransformer, path: Path) -> TextStore:
        """Encode the texts of a file with one text per line.

        Raises:
            ValueError: the file contains no text, or most of its words are unknown.
        """
        texts = []
        for line in lines(path):
            if line.problem is not None:
                raise DataError(f"{path}:{line.number}: not UTF-8; convert it with iconv -t utf-8")
            if line.text.strip():
                texts.append(line.text)
        if not texts:
            raise DataError(f"{path}: there is nothing to remember; write a text on each line")
        rows = self.tokenizer.encode_all(texts)
        words, unknown = sum(map(len, rows)), sum(row.count(UNK) for row in rows)
        if 2 * unknown > words:
            raise DataError(
                f"{path}: {unknown} of {words} words are unknown to this run's tokenizer; remember texts in the words "
                "that it was trained on"
            )
        return _encoded(model, texts, rows)

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        asked = batch.view(FactBatch)
        given, wanted = asked.target[:, :-1], asked.target[:, 1:]
        if update is not None:
            given = self.exposure.disturbed(given, vocabulary=self.tokenizer.size)
        predicted: ModelOutput = model(
            asked.source, asked.source_lengths, given, texts=(asked.fact, asked.fact_lengths), external=self.external
        )
        smoothing = 0.0 if update is None else self.smoothing
        total, nll = token_loss(predicted.logits, wanted, padding=PAD, smoothing=smoothing)
        return Loss(total, nll.detach(), int(batch.tokens))

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        if self.external is None or self.stored is None:
            raise ValueError("there is nothing to look an answer up in; name a file of texts: --decode memory=FILE")
        encoded = self.tokenizer.encode_all(list(texts)) if texts else []
        answers: list[list[Prediction]] = [[] for _ in texts]
        reminded = _ModelWithMemory(model, self.external)
        for part, source, lengths in in_batches(encoded, batch, self.stored.states.device):
            with torch.inference_mode():
                found = generate(reminded, source, lengths, search)
                looked = self._looked(model, source, lengths, [ranked[0] for ranked in found])
            for index, hypotheses, (names, weights) in zip(part, found, looked, strict=True):
                answers[index] = [self._prediction(texts[index], one, names, None) for one in hypotheses]
                answers[index][0] = replace(answers[index][0], alignment=weights)
        return answers

    def panels(self, model: Any, text: str, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return the attention of each word of the answer to the texts of the memory."""
        no_head(head)
        (answer,) = self.predict(model, [text], replace(search, n_best=1))[0]
        assert answer.alignment is not None
        return [
            Panel(
                f"{isolated(text)}\n{isolated(answer.text)}",
                answer.alignment.T,
                rows=answer.source_tokens,
                columns=answer.tokens,
            )
        ]

    def _looked(
        self, model: MemoryTransformer, source: Tensor, lengths: Tensor, said: Sequence[Hypothesis]
    ) -> list[tuple[tuple[str, ...], Tensor]]:
        """Return for each answer the texts with the largest attention weights, and the weights per word, [T, K].

        If the last layer also attends to the question, the question is the first of these texts.
        """
        assert self.stored is not None
        given = padded([(BOS, *one.tokens[:-1]) for one in said], PAD).to(source.device)
        read = model(source, lengths, given, external=self.external).attended
        own = read.shape[3] - len(self.stored.states)
        # One target position at a time: the weights of all, [B, H, T, S + N], may not fit in memory.
        rows = [read.weights(rows=row).float().mean(1) for row in range(given.shape[1])]  # [B, 1, S + N] each
        texts = torch.cat([self.stored.by_text(row[..., own:]) for row in rows], dim=1)  # [B, T, M]
        asked = torch.cat([row[..., :own].sum(-1, keepdim=True) for row in rows], dim=1)  # [B, T, 1]
        found = []
        for place, hypothesis in enumerate(said):
            size = len(hypothesis.tokens)
            most = texts[place, :size].sum(0).topk(min(SHOWN, len(self.stored))).indices
            weights, names = texts[place, :size][:, most], tuple(self.stored.texts[index] for index in most.tolist())
            if own:
                weights, names = torch.cat((asked[place, :size], weights), dim=1), ("(the question)", *names)
            found.append((names, weights.cpu()))
        return found

    def _prediction(
        self, source: str, hypothesis: Hypothesis, names: tuple[str, ...], alignment: Tensor | None
    ) -> Prediction:
        return Prediction(
            source=source,
            text=self.tokenizer.decode(hypothesis.output),
            score=hypothesis.score,
            source_tokens=names,
            tokens=tuple(self.tokenizer.tokens(hypothesis.tokens)),
            log_probs=hypothesis.log_probs,
            alignment=alignment,
            finished=hypothesis.finished,
            penalty=str(hypothesis.penalty),
        )


class _ModelWithMemory:
    """Adapter for decoding: a model whose `start` includes the memory."""

    def __init__(self, model: MemoryTransformer, external: Remembered) -> None:
        self._model = model
        self._external = external

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None) -> Any:
        return self._model.start(source, lengths, external=self._external)

    def step(self, token: Tensor, state: Any) -> Step:
        return self._model.step(token, state)


def _encoded(model: MemoryTransformer, texts: Sequence[str], rows: Sequence[Sequence[int]]) -> TextStore:
    """Encode tokenised texts in batches and return their states in the original order."""
    device = next(model.parameters()).device
    states, sizes = [], []
    for begin in range(0, len(rows), _TOGETHER):
        part = [list(row) or [UNK] for row in rows[begin : begin + _TOGETHER]]
        lengths = torch.tensor([len(row) for row in part], device=device)
        states.append(model.store(padded(part, PAD).to(device), lengths).states)
        sizes.append(lengths)
    return TextStore(torch.cat(states), torch.cat(sizes).cumsum(0), tuple(texts), model.signature)
