"""Classification task: one label, several labels or a number per text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import torch
from rich.text import Text
from torch import Tensor, nn

from regard.data.batching.batch import Batch, padded
from regard.data.batching.corpus import Corpus
from regard.data.example import Example, Value
from regard.data.fields.field import Field
from regard.data.fields.target_kinds import ONE_LABEL, OneLabel
from regard.data.fields.tokenizer import Tokenizer
from regard.data.formats.joined_texts import SECOND
from regard.data.problems import DataError, TextError, shortened
from regard.decode.search import Search
from regard.evaluate.class_scores import ClassScores
from regard.evaluate.texts import References
from regard.explain.panel import Panel
from regard.explain.subject import Subject
from regard.models.bert import BertEncoder
from regard.models.lstmn_encoder import LSTMNEncoder
from regard.models.model_output import ModelOutput
from regard.protocol import device_of
from regard.recipes.data_section import FieldLayout
from regard.recipes.section import own_keys
from regard.recipes.sections import Recipe
from regard.specials import EOS, IGNORE, UNK
from regard.systems.classification.acceptor import Acceptor
from regard.systems.classification.checks import attends_across, matches_words, reads_documents, target_of
from regard.systems.classification.document_view import document_panel
from regard.systems.classification.documents import DocumentField, encoded_documents
from regard.systems.classification.explained import subject_of
from regard.systems.classification.pair_field import PairField, exact_matches
from regard.systems.classification.pair_view import pair_map, pair_panels
from regard.systems.classification.sections import ClassificationDecoding
from regard.systems.classification.targets.label import LabelTarget
from regard.systems.classification.targets.label_set import LabelSetTarget
from regard.systems.classification.targets.number import NumberTarget
from regard.systems.classification.targets.target import Target, TargetPredictions
from regard.tasks.class_weights import ClassWeights
from regard.tasks.input_output import no_head
from regard.tasks.length_check import check_text_lengths
from regard.tasks.loss import Loss, Outputs
from regard.tasks.panels import head_panels, layers_panel
from regard.tasks.prediction import Prediction
from regard.tasks.task import FieldEncoders, Task, Unrolling, in_batches
from regard.tasks.tokenizers import tokens_field
from regard.view.terminal import marked_text


@dataclass(frozen=True)
class LabelledBatch:
    """Batch of texts, targets (labels [B], label sets [B, N] or numbers [B]) and exact-match features of pairs."""

    text: Tensor  # [B, T]
    text_lengths: Tensor  # [B]
    label: Tensor  # [B] or [B, N]
    text_matches: Tensor | None = None  # [B, T]


@dataclass(frozen=True)
class Classification(Task):
    """Classification and regression of texts: the target is one label, several labels or a number.

    A model can add a term to the loss through `extras["penalty"]`. With attention, an answer has one row of weights per
    hop, or one per token if two texts attend to each other.

    Attributes:
        encoders: tokenizer of "text", and labels or number statistics of "label".
        smoothing: label smoothing.
        pairs: True if a label belongs to two texts, which are separated by a tab in inputs.
        across: True if the words of two texts attend to those of the other.
        matches: True if the model reads exact-match features of two texts.
        documents: True if texts are split into sentences, for a model with sentence and word attention.
        weights: class weights in the training loss; None for equal weights.
        target_of: function from the encoder of "label" to its `Target`.
    """

    question: ClassVar[str] = "text"
    answer: ClassVar[str | None] = "label"
    unit: ClassVar[str] = "label"

    encoders: FieldEncoders
    smoothing: float = 0.0
    pairs: bool = False
    across: bool = False
    matches: bool = False
    documents: bool = False
    weights: ClassWeights | None = None
    target_of: Callable[[Any], Target] = LabelTarget

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Classification:
        return cls(
            encoders,
            recipe.train.label_smoothing,
            pairs=recipe.system.joins_texts(recipe),
            across=attends_across(recipe),
            matches=matches_words(recipe),
            documents=reads_documents(recipe),
            target_of=_target_maker(recipe, encoders),
        )

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        found = super().fields(recipe)
        if reads_documents(recipe):
            found["text"] = DocumentField(learner=tokens_field(recipe.tokenizer).learner)
        elif matches_words(recipe):
            found["text"] = PairField(learner=tokens_field(recipe.tokenizer, masked=True).learner)
        return found

    @classmethod
    def reading(cls, recipe: Recipe) -> FieldLayout:
        target = target_of(recipe)
        form = ONE_LABEL if target is None else target.target_form()
        return replace(super().reading(recipe), target_kind=form)

    @property
    def input_fields(self) -> tuple[str, ...]:
        return ("text", SECOND) if self.pairs else ("text",)

    def weighted(self, weights: ClassWeights) -> Classification:
        return replace(self, weights=weights)

    def classes(self, text: str) -> list[str]:
        return [text] if self.target.single is None else []

    @cached_property
    def target(self) -> Target:
        """Kind of target, with its loss and its answers."""
        return self.target_of(self.encoders["label"])

    @property
    def measured_in(self) -> str:
        return self.target.measured_in

    @property
    def loss_unit(self) -> str:
        return self.target.loss_unit

    @property
    def constant(self) -> str | None:
        return self.target.constant

    def unigram_loss(self, corpus: Corpus | None) -> float:
        found = None if corpus is None else self.target.unigram_loss(corpus, "label")
        return super().unigram_loss(corpus) if found is None else found

    def averaged(self, logits: Sequence[Tensor]) -> Tensor:
        return self.target.averaged(logits)

    def class_scores(self, texts: Sequence[str], references: References) -> ClassScores | None:
        return self.target.class_scores(texts, references)

    def references(self, fields: Mapping[str, Value]) -> list[str]:
        return [self.target.written(fields["label"])]

    def tuned(self, model: Any, examples: Iterable[Example]) -> Task:
        def answered() -> TargetPredictions:
            read = list(examples)
            found = self.predict(model, [self.ask(one.fields) for one in read], Search())
            return TargetPredictions([one.scores or {} for (one,) in found], [one.fields["label"] for one in read])

        encoder = self.target.tuned(answered)
        return self if encoder is None else replace(self, encoders={**self.encoders, "label": encoder})

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        labelled = batch.view(LabelledBatch)
        predicted: ModelOutput = model(*_read(labelled.text, labelled.text_lengths, labelled.text_matches))
        smoothing, weights = (0.0, None) if update is None else (self.smoothing, self.weights)
        total, nll = self.target.loss(predicted.logits, labelled.label, smoothing=smoothing, weights=weights)
        if update is None:
            return Loss(total, nll, self.target.count(labelled.label))
        if "penalty" in predicted.extras:
            # Empty texts have no attention weights, so their penalty would be a constant.
            total = total + predicted.extras["penalty"].masked_fill(labelled.text_lengths == 0, 0.0).sum()
        outputs = Outputs(predicted.logits, labelled.label != IGNORE) if isinstance(self.target, LabelTarget) else None
        return Loss(total, nll, batch.tokens, outputs=outputs)

    def unrolling(self, model: nn.Module) -> Unrolling | None:
        if not isinstance(model, Acceptor) or model.compares:
            return None
        if not isinstance(self.target, LabelTarget):
            return None  # rows that pad a captured batch would enter the loss: only single labels can be IGNORE
        return "steps" if isinstance(model.encoder, LSTMNEncoder) else "at once"

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        if search.n_best > 1 and self.target.single is not None:
            raise ValueError(f"{self.target.single}; got n_best={search.n_best}")
        tokenizer = self.encoders["text"]
        assert isinstance(tokenizer, Tokenizer)
        if self.pairs and (alone := next((text for text in texts if "\t" not in text), None)) is not None:
            raise TextError(f"the label is of two texts with a tab between; this is one: {shortened(alone)!r}")
        encoded = self._encoded(texts)
        check_text_lengths(model, texts, [_read_at_once(model, ids) for ids in encoded])
        answers: list[list[Prediction]] = [[] for _ in texts]
        for part, ids, lengths in in_batches(encoded, batch, next(model.parameters()).device):
            matches = self._matches([texts[index] for index in part], ids)
            with torch.inference_mode():
                predicted: ModelOutput = model(*_read(ids, lengths, matches))
                found = self.target.answers(predicted.logits, search.n_best)
                weights = None if predicted.attended is None else predicted.attended.weights().float().cpu()
            for row, index in enumerate(part):
                pieces = tokenizer.tokens(encoded[index] or [UNK])
                rows = len(pieces) if self.across else None  # rows are tokens, otherwise hops
                looked = None if weights is None else weights[row, :rows, : len(pieces)]
                answers[index] = [
                    Prediction(
                        texts[index], one.text, one.score, tuple(pieces), (one.text,), one.log_probs, looked,
                        labels=one.labels, scores=one.scores,
                    )
                    for one in found[row]
                ]  # fmt: skip
        return answers

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        tokenizer = self.encoders["text"]
        assert isinstance(tokenizer, Tokenizer)
        if not texts:
            return []
        return encoded_documents(texts, tokenizer.encode_all) if self.documents else tokenizer.encode_all(list(texts))

    def _matches(self, texts: Sequence[str], ids: Tensor) -> Tensor | None:
        """Return exact-match features [B, T] of pairs; None if the model does not read them."""
        if not self.matches:
            return None
        tokenizer = self.encoders["text"]
        assert isinstance(tokenizer, Tokenizer)
        found = padded([exact_matches(tokenizer, text) for text in texts], 0)
        return found.to(ids.device)

    def drawing(self, prediction: Prediction) -> Text | None:
        """Return a terminal drawing of the attention: of hops, of sentences of a document, or between two texts."""
        if self.across:
            return pair_map(prediction)
        if not self.documents or prediction.alignment is None:
            return super().drawing(prediction)
        panel = document_panel(prediction)
        return marked_text(panel.values, panel.words, panel.line_weights)

    def shown_input(self, prediction: Prediction) -> str:
        return shortened(prediction.source) if self.documents else super().shown_input(prediction)

    def panels(self, model: Any, text: str, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return panels of the attention; for a BERT that does not pool by attention, those of its layers."""
        no_head(head)
        if self.documents:
            return [document_panel(self.predict(model, [text], search)[0][0])]
        if self.across:
            return pair_panels(self.predict(model, [text], search)[0][0])
        if not isinstance(model, Acceptor) or not isinstance(model.encoder, BertEncoder):
            return super().panels(model, text, search)
        if model.attention is not None or model.compares:
            return super().panels(model, text, search)
        (answer,) = self.predict(model, [text], search)[0][:1]
        tokenizer = self.encoders["text"]
        assert isinstance(tokenizer, Tokenizer)
        asked = text.replace("\t", " | ")
        shown = layers_panel(model.encoder, tokenizer, text, title=f"{asked} → {answer.text}", pooling=model.pooling)
        ids = torch.tensor([tokenizer.encode(text) or [UNK]], device=device_of(model))
        encoder = model.encoder
        return [shown, *head_panels(encoder, lambda: encoder(ids), shown.columns)]

    def subject(self, model: Any) -> Subject:
        tokenizer = self.encoders["text"]
        assert isinstance(tokenizer, Tokenizer)
        return subject_of(model, tokenizer, self.target, matches=self.matches)


def _read(text: Tensor, lengths: Tensor, matches: Tensor | None) -> tuple[Tensor, ...]:
    """Return the arguments of a model; exact matches come last, for models that read them."""
    return (text, lengths) if matches is None else (text, lengths, matches)


def _read_at_once(model: Any, ids: list[int]) -> int:
    """Return the input length of one encoder pass: all ids, or those of the longer of two compared texts."""
    if not getattr(model, "compares", False) or EOS not in ids:
        return len(ids)
    first = ids.index(EOS)
    return max(first, len(ids) - first - 1)


def _target_maker(recipe: Recipe, encoders: FieldEncoders) -> Callable[[Any], Target]:
    """Return the function that builds the `Target` from the encoder of the labels.

    Raises:
        DataError: the encoder belongs to a run with another kind of target.
    """
    given = target_of(recipe)
    form = OneLabel() if given is None else given.target_form()
    if type(encoders["label"]) is not form.encoder:
        kind = "label" if given is None else given.target_kind
        raise DataError(f"data.target_kind is {kind!r}, and the run was trained with another; give it the same")
    if given is None or given.target_kind == "label":
        return LabelTarget
    if given.target_kind == "number":
        return NumberTarget
    threshold = own_keys(recipe.decode, ClassificationDecoding).threshold
    chosen = None if threshold == "tuned" else threshold
    return partial(LabelSetTarget, separator=given.label_separator, threshold=chosen)
