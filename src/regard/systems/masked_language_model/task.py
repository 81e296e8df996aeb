"""The task of masked language modelling: the pretraining objective of BERT, and filling in masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batching.batch import Batch
from regard.data.batching.feed import ExampleFeed, Feed
from regard.data.fields.field import Field
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import TextError, shortened
from regard.decode.search import Search
from regard.evaluate.metric_result import MetricResult
from regard.evaluate.perplexity import perplexity
from regard.explain.capture import Captured, capture
from regard.explain.layers import panels_by_kind
from regard.explain.panel import Panel
from regard.models.bert import Bert
from regard.models.model_output import ModelOutput, log_softmax
from regard.ops.weights import Weights
from regard.recipes.section import own_keys
from regard.recipes.sections import Recipe
from regard.specials import BOS, EOS, FRAME, IGNORE, MASK, MASKED
from regard.systems.masked_language_model.feed import FIXED, MaskedFeed, WindowFeed
from regard.systems.masked_language_model.masking import TokenMasking
from regard.systems.masked_language_model.sections import MIDDLE, MaskedTraining
from regard.tasks.input_output import no_head
from regard.tasks.length_check import check_text_lengths, max_text_length
from regard.tasks.loss import Loss, token_loss
from regard.tasks.prediction import Prediction
from regard.tasks.task import MEASURED, FieldEncoders, Task, in_batches
from regard.tasks.tokenizers import tokens_field
from regard.view.text import isolated

if TYPE_CHECKING:
    from regard.tasks.splits import Split

SAMPLED = 24
"""Number of tokens of a sample."""


@dataclass(frozen=True)
class MaskedBatch:
    """A batch of masked texts with their targets, and optionally the labels of next-sentence prediction."""

    text: Tensor  # [B, T]
    wanted: Tensor  # [B, T], targets; -100 at positions that are not predicted
    text_lengths: Tensor | None = None  # [B]
    next: Tensor | None = None  # [B], 0 if the second text follows the first, 1 if not


@dataclass(frozen=True)
class MaskedLanguageModelling(Task):
    """Masked language modelling: the loss on masked tokens, and predictions of `<mask>` in texts.

    A batch contains the masked "text" and the targets "wanted" (-100 at positions that are not predicted). With
    next-sentence prediction it also contains "next" [B]. The loss is the mean over the targets, plus that of "next".

    Attributes:
        encoders: the tokenizer of "text".
        smoothing: label smoothing.
    """

    question: ClassVar[str] = "text"
    answer: ClassVar[str | None] = None
    unit: ClassVar[str] = "mask"
    outline_sizes: ClassVar[tuple[int, int | None]] = (8, None)

    encoders: FieldEncoders
    smoothing: float = 0.0

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> MaskedLanguageModelling:
        return cls(encoders, recipe.train.label_smoothing)

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        return {"text": tokens_field(recipe.tokenizer, masked=True)}

    def training_feed(self, recipe: Recipe, split: Split) -> Feed:
        given = recipe.train.batch
        inner = self._windows(recipe, split, rows=given.sentences, seed=recipe.train.seed, shuffle=True)
        inner = inner or ExampleFeed(
            split.corpus,
            counted="text",
            tokens=given.tokens,
            sentences=given.sentences,
            seed=recipe.train.seed,
            weights=split.weights,
            dropouts=self.dropouts(recipe),
        )
        return self._masked(recipe, split, inner, recipe.train.seed)

    def measuring_feed(self, recipe: Recipe, split: Split, *, carries: bool) -> Feed:
        inner = self._windows(recipe, split, rows=MEASURED, seed=FIXED, shuffle=False)
        inner = inner or ExampleFeed(
            split.corpus, counted="text", tokens=None, sentences=MEASURED, seed=FIXED, shuffle=False
        )
        return self._masked(recipe, split, inner, FIXED)

    def _windows(self, recipe: Recipe, split: Split, *, rows: int | None, seed: int, shuffle: bool) -> Feed | None:
        """Return windows over the concatenated texts, if the recipe uses windows."""
        window = recipe.train.batch.window
        if window is None:
            return None
        assert rows is not None
        pairs = bool(getattr(recipe.model, "next_sentence", False))
        return WindowFeed(split.corpus, rows=rows, window=window, pairs=pairs, seed=seed, shuffle=shuffle)

    def _masked(self, recipe: Recipe, split: Split, inner: Feed, seed: int) -> Feed:
        """Return a masked feed: training draws new masks in each epoch, evaluation uses fixed ones."""
        masking = TokenMasking(**own_keys(recipe.train, MaskedTraining).masking.model_dump())
        if recipe.model.kind == MIDDLE:  # predicts every word, without masks
            masking = TokenMasking(share=1.0, masked=0.0, random=0.0)
        masked = MaskedFeed(inner, masking, self.tokenizer, seed=seed)
        masked.check(split.examples.files)
        return masked

    def likelihood_scores(self, split: Split, total: float, tokens: int) -> dict[str, MetricResult]:
        return {"perplexity": perplexity(total, tokens, unit=f"masked {self.tokenizer.kind.removesuffix('s')}")}

    @property
    def measured_in(self) -> str:
        return "nats a hidden token, given all that are not hidden"

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the text."""
        found = self.encoders["text"]
        assert isinstance(found, Tokenizer)
        return found

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        hidden = batch.view(MaskedBatch)
        chosen = hidden.wanted != IGNORE
        predicted: ModelOutput = model(hidden.text, hidden.text_lengths, chosen)
        smoothing = 0.0 if update is None else self.smoothing
        wanted = hidden.wanted[chosen]
        total, nll = token_loss(predicted.logits, wanted, padding=IGNORE, smoothing=smoothing)
        if "next" in predicted.extras and hidden.next is not None:
            total = total + len(wanted) * F.cross_entropy(predicted.extras["next"].float(), hidden.next)
        return Loss(total, nll.detach(), len(wanted))

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        """Return each text with its masks filled in; the k-th prediction uses the k-th most probable token per mask.

        The alignment is the attention of the masks in the last layer, averaged over heads, including special tokens.
        """
        return self._answers(model, texts, [self._hidden(text) for text in texts], search, batch)

    def _answers(
        self, model: Any, texts: Sequence[str], encoded: Sequence[list[int]], search: Search, batch: int
    ) -> list[list[Prediction]]:
        """Return the predictions for a batch of encoded texts."""
        check_text_lengths(model, texts, list(map(len, encoded)))
        answers: list[list[Prediction]] = [[] for _ in texts]
        for part, ids, lengths in in_batches(encoded, batch, next(model.parameters()).device):
            with torch.inference_mode(), _watched(model, layers=-1) as seen:
                said: ModelOutput = model(ids, lengths, ids == MASK)
                ranked = log_softmax(said.logits).topk(min(search.n_best, said.logits.shape[-1]), dim=-1)
            weights = [looked.weights().mean(1).cpu() for calls in seen.values() for looked in calls]
            counts = [encoded[index].count(MASK) for index in part]
            said_of = zip(ranked.values.split(counts), ranked.indices.split(counts), strict=True)
            for row, (values, indices) in enumerate(said_of):
                index = part[row]
                looked = _at_masks(weights[0][row], encoded[index]) if weights else None
                answers[index] = [
                    self._filled(texts[index], encoded[index], indices[:, rank], values[:, rank], looked)
                    for rank in range(indices.shape[1])
                ]
        return answers

    def panels(self, model: Any, text: str, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return panels of the attention of the masks in each layer, averaged over heads."""
        no_head(head)
        ids = self._hidden(text)
        (answer,) = self.predict(model, [text], replace(search, n_best=1))[0]
        with torch.inference_mode(), _watched(model, vectors=True) as seen:
            model(torch.tensor([ids], device=next(model.parameters()).device))
        looked = [_at_masks(calls[0].weights().mean(1)[0].cpu(), ids) for calls in seen.values()]
        if not looked:
            raise ValueError(
                "a view shows where masks look, layer by layer; only the layers of kind 'bert' are watched"
            )
        by_layer = [
            Panel(
                f"{isolated(answer.text)}: layer {number} of {len(looked)}",
                weights,
                down="filled in",
                along="looks at",
                rows=answer.tokens,
                columns=answer.source_tokens,
            )
            for number, weights in enumerate(looked, start=1)
        ]
        return [*by_layer, *(panels_by_kind(seen, answer.source_tokens) if isinstance(seen, Captured) else ())]

    def samples(self, model: Any, texts: Sequence[str], search: Search, *, tokens: int = SAMPLED) -> list[Prediction]:
        """Return predictions of masked words in the first tokens of each text."""
        found: list[Prediction] = []
        most = max_text_length(model)
        shown = tokens if most is None else min(tokens, most)
        for number, text in enumerate(texts):
            ids = [index for index in self.tokenizer.encode(text)[:shown] if index >= len(MASKED)]
            if not ids:
                continue
            whole = np.array([ids], np.int64)
            given, _ = TokenMasking(masked=1.0, random=0.0)(
                whole, np.array([number]), size=self.tokenizer.size, seeds=(0,)
            )
            asked = given[0].tolist()
            answer = self._answers(model, [self._text(asked)], [asked], replace(search, n_best=1), 1)[0][0]
            found.append(replace(answer, reference=self.tokenizer.decode(ids)))
        return found

    def _hidden(self, text: str) -> list[int]:
        """Encode a text that contains `<mask>`."""
        tokenizer = self.tokenizer
        parts = text.split(MASKED[MASK])
        if len(parts) == 1 and text.strip():
            raise TextError(
                f"there is no {MASKED[MASK]} in {shortened(text)!r}; write one for each token to be filled in"
            )
        if tokenizer.kind != "characters":  # among characters, a space is a token
            parts = [part.strip(" ") for part in parts]
        ids = tokenizer.encode(parts[0])
        for part in parts[1:]:
            ids += [MASK, *tokenizer.encode(part)]
        return ids

    def _text(self, ids: Sequence[int]) -> str:
        """Decode ids; the inverse of `_hidden`."""
        between = MASKED[MASK] if self.tokenizer.kind == "characters" else f" {MASKED[MASK]} "
        return between.join(self.tokenizer.decode(part) for part in _parts(ids, MASK)).strip()

    def _filled(self, text: str, ids: list[int], said: Tensor, log_probs: Tensor, looked: Tensor | None) -> Prediction:
        filler = iter(said.tolist())
        whole = [next(filler) if index == MASK else index for index in ids]
        return Prediction(
            source=text,
            text="\t".join(self.tokenizer.decode(part) for part in _parts(whole, EOS)),
            score=float(log_probs.sum()),
            source_tokens=tuple(self.tokenizer.tokens([BOS, *ids, EOS])),
            tokens=tuple(self.tokenizer.tokens(said.tolist())),
            log_probs=tuple(log_probs.tolist()),
            alignment=looked,
        )


def _watched(
    model: nn.Module, layers: int | None = None, *, vectors: bool = False
) -> AbstractContextManager[Mapping[str, list[Weights]]]:
    """Capture the attention of the layers of a BERT; nothing for an ensemble."""
    return capture(model, layers=layers, vectors=vectors) if isinstance(model, Bert) else nullcontext({})


def _at_masks(weights: Tensor, ids: list[int]) -> Tensor:
    """Select the rows of the masks from weights [T, S] -> [masks, S], without padding."""
    # Offset by the BOS token in front; columns behind the closing EOS are padding.
    places = [place + 1 for place, index in enumerate(ids) if index == MASK]
    return weights[places, : len(ids) + FRAME].float()


def _parts(ids: Sequence[int], between: int) -> list[list[int]]:
    """Split ids at each occurrence of a separator id.

    >>> _parts([7, 4, 8, 9], 4)
    [[7], [8, 9]]
    """
    parts: list[list[int]] = [[]]
    for index in ids:
        if index == between:
            parts.append([])
        else:
            parts[-1].append(index)
    return parts
