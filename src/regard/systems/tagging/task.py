"""The tagging task: one tag per word of a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import torch
from rich.console import RenderableType
from rich.text import Text
from torch import Tensor, nn

from regard.data.batching.batch import Batch, padded
from regard.data.example import Examples
from regard.data.fields.features import FEATURES, FeaturesField, learn_features
from regard.data.fields.field import Field
from regard.data.fields.labels import Labels, TagsField
from regard.data.fields.spelling import LETTERS, SpellingField, WithLetters, letters_of
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import TextError, shortened
from regard.decode.search import Search
from regard.models.model_output import ModelOutput, log_softmax
from regard.recipes.data_section import FieldLayout
from regard.recipes.sections import Recipe
from regard.specials import IGNORE, PAD, UNK
from regard.systems.tagging.checks import reads_features, spells
from regard.tasks.class_weights import ClassWeights
from regard.tasks.length_check import check_text_lengths
from regard.tasks.loss import Loss, token_loss
from regard.tasks.prediction import Prediction
from regard.tasks.task import FieldEncoders, Task, in_batches
from regard.tasks.tokenizers import field_values, learned_tokenizer, tokens_field
from regard.view.terminal import stacked


@dataclass(frozen=True)
class TaggedBatch:
    """Texts, the tags of their words, and optionally the letters and features of the words."""

    text: Tensor  # [B, T]
    text_lengths: Tensor  # [B]
    tags: Tensor  # [B, W]
    tags_lengths: Tensor  # [B]
    letters: Tensor | None = None  # [B, W, L]
    features: Tensor | None = None  # [B, W]


@dataclass(frozen=True)
class Tagging(Task):
    """Sequence tagging: the loss of a transducer, and the most probable tag of each word.

    With subword tokens (`tokenizer: {kind: bpe}`) a word is tagged at the state of its first token. A CRF predicts the
    most probable tag sequence (Viterbi), other models the most probable tag of each word.

    Attributes:
        encoders: the tokenizer of "text", the labels of "tags", and optionally the tokenizer of "letters" and the
            vocabulary of "features".
        smoothing: label smoothing.
        weights: tag weights in the training loss; None for equal weights.
    """

    question: ClassVar[str] = "text"
    answer: ClassVar[str | None] = "tags"
    unit: ClassVar[str] = "tag"

    encoders: FieldEncoders
    smoothing: float = 0.0
    weights: ClassWeights | None = None

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Tagging:
        return cls(encoders, recipe.train.label_smoothing)

    @classmethod
    def reading(cls, recipe: Recipe) -> FieldLayout:
        read = replace(super().reading(recipe), second=FEATURES)
        return replace(read, adapt=WithLetters) if spells(recipe) else read

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        text = tokens_field(recipe.tokenizer, masked=recipe.system.reads_pairs(recipe))
        letters = {LETTERS: SpellingField()} if spells(recipe) else {}
        features = {FEATURES: FeaturesField()} if reads_features(recipe) else {}
        return {"text": text, **letters, **features, "tags": TagsField()}

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: FieldEncoders) -> FieldEncoders:
        words = known.get("text") or learned_tokenizer(
            recipe.tokenizer, field_values(train, "text"), masked=recipe.system.reads_pairs(recipe)
        )
        letters = {LETTERS: Tokenizer.train(field_values(train, "text"), kind="characters")} if spells(recipe) else {}
        features = {FEATURES: learn_features(field_values(train, FEATURES))} if reads_features(recipe) else {}
        return {"text": words, **letters, **features, "tags": Labels.train(field_values(train, "tags"))}

    @property
    def input_fields(self) -> tuple[str, ...]:
        return ("text", FEATURES) if FEATURES in self.encoders else ("text",)

    def weighted(self, weights: ClassWeights) -> Tagging:
        return replace(self, weights=weights)

    def drawing(self, prediction: Prediction) -> Text:
        """Return a text with each tag below its word."""
        return stacked(prediction.source_tokens, prediction.tokens)

    def rendered(self, prediction: Prediction) -> Iterator[RenderableType]:
        """Yield each tag below its word, with the expected tag in brackets where it differs."""
        rows, right = [prediction.source_tokens, prediction.tokens], prediction.reference
        if right is not None and prediction.text not in (right, *right.split(" / ")):
            pairs = zip(prediction.tokens, right.split(), strict=False)
            rows.append(tuple("" if tag == wanted else f"({wanted})" for tag, wanted in pairs))
        yield ""
        yield stacked(*rows)

    def classes(self, text: str) -> list[str]:
        return text.split()

    @cached_property
    def begins(self) -> Tensor:
        """[V], True if a token starts a word."""
        return torch.tensor(tokenizer_and_labels(self)[0].begins(), device="cpu")

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        tagged = batch.view(TaggedBatch)
        firsts = self._firsts(tagged.text, tagged.text_lengths)
        tags = tagged.tags[before_end(tagged.tags, tagged.tags_lengths)]  # [N], all words of the batch
        placed = torch.full_like(tagged.text, IGNORE).masked_scatter(firsts, tags)  # [B, T], at first tokens
        predicted: ModelOutput = model(
            tagged.text, tagged.text_lengths, firsts, placed, tagged.letters, tagged.features
        )
        logits = predicted.logits[firsts]  # [N, tags]
        smoothing, weights = (0.0, None) if update is None else (self.smoothing, self.weights)
        total, nll = token_loss(logits, tags, padding=IGNORE, smoothing=smoothing, weights=weights)
        return Loss(total, nll.detach(), int((tags != IGNORE).sum()))

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        if search.n_best > 1:
            raise ValueError(f"tags are the likeliest of each word, one answer; got n_best={search.n_best}")
        tokenizer, labels = tokenizer_and_labels(self)
        words, features = zip(*map(self._parts, texts), strict=True) if texts else ((), ())
        encoded = tokenizer.encode_all(words) if texts else []
        check_text_lengths(model, texts, list(map(len, encoded)))
        answers: list[list[Prediction]] = [[] for _ in texts]
        for part, ids, lengths in in_batches(encoded, batch, next(model.parameters()).device):
            firsts = self._firsts(ids, lengths)
            letters = self._letters([words[index] for index in part], ids.device)
            with torch.inference_mode():
                beside = self._features([features[index] for index in part], ids.device)
                predicted: ModelOutput = model(ids, lengths, firsts, None, letters, beside)
                each = log_softmax(predicted.logits)
                path = predicted.extras.get("path", each.argmax(-1))  # [B, T]
                chosen = each.gather(2, path.unsqueeze(2)).squeeze(2)  # [B, T], log-probability of the chosen tag
                together = predicted.extras.get("path_score", (chosen * firsts).sum(1))
            for row, index in enumerate(part):
                tags = tuple(labels.decode(path[row][firsts[row]].tolist()))
                log_probs = tuple(chosen[row][firsts[row]].tolist())
                score = float(together[row])
                answers[index] = [Prediction(texts[index], " ".join(tags), score, tuple(words[index]), tags, log_probs)]
        return answers

    def fitted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(arguments)
        if found.get("tag_scheme") is not None:
            found["tag_names"] = tokenizer_and_labels(self)[1].names
        features = self.encoders.get(FEATURES)
        if features is not None:
            found["encoder"] = {**found["encoder"], "num_features": features.size}
        letters = self.encoders.get(LETTERS)
        if letters is not None:
            encoder = dict(found["encoder"])
            given = encoder["characters"]
            characters = {"kind": given} if isinstance(given, str) else dict(given)
            found["encoder"] = {**encoder, "characters": {**characters, "size": letters.size}}
        return found

    def input_warnings(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Return no warnings about unknown words if the model uses their letters or features."""
        return [] if {LETTERS, FEATURES} & set(self.encoders) else super().input_warnings(model, texts)

    def _letters(self, texts: Sequence[Sequence[str]], device: torch.device) -> Tensor | None:
        """Return the letters of the words, [B, W, L]; an empty text has one unknown word, as in its ids."""
        characters = self.encoders.get(LETTERS)
        if characters is None:
            return None
        assert isinstance(characters, Tokenizer)
        letters = letters_of([words or ["\N{REPLACEMENT CHARACTER}"] for words in texts], characters)
        return torch.from_numpy(letters).to(device)

    def _parts(self, text: str) -> tuple[list[str], list[str]]:
        """Split a text into words and, if the model uses them, their features after a tab."""
        words, _, features = text.partition("\t") if FEATURES in self.encoders else (text, "", "")
        found = words.split(), features.split()
        if FEATURES in self.encoders and len(found[0]) != len(found[1]):
            raise TextError(
                f"the model reads words, a tab, and a feature of each word; {shortened(text)!r} has {len(found[0])} "
                f"words and {len(found[1])} features"
            )
        return found

    def _features(self, rows: Sequence[Sequence[str]], device: torch.device) -> Tensor | None:
        """Return the features of the words, [B, W]; None if the model does not use them."""
        known = self.encoders.get(FEATURES)
        if known is None:
            return None
        assert isinstance(known, Tokenizer)
        return padded([ids or [UNK] for ids in known.encode_all([list(row) for row in rows])], PAD).to(device)

    def _firsts(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return a mask [B, T], True at the first token of each word."""
        return self.begins.to(ids.device)[ids] & before_end(ids, lengths)


def before_end(rows: Tensor, lengths: Tensor) -> Tensor:
    """Return a mask [B, T], True before the end of each row."""
    return torch.arange(rows.shape[1], device=rows.device) < lengths.to(rows.device).unsqueeze(1)


def tokenizer_and_labels(task: Task) -> tuple[Tokenizer, Labels]:
    """Return the tokenizer of the text and the labels of the tags."""
    tokenizer, labels = task.encoders[task.question], task.encoders[str(task.answer)]
    assert isinstance(tokenizer, Tokenizer)
    assert isinstance(labels, Labels)
    return tokenizer, labels
