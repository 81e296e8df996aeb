"""The records task: data-to-text generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from regard.data.batching.batch import Batch, padded
from regard.data.batching.corpus import Corpus
from regard.data.batching.mixture import Mixture
from regard.data.example import Examples
from regard.data.fields.copies import COPIES, CopiesField, CopySource, CopyVocabulary, WithCopies
from regard.data.fields.field import Field
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import TextError
from regard.decode import generate
from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.explain.panel import Panel
from regard.models.copying import with_copies
from regard.models.model_output import ModelOutput
from regard.nearest import nearest
from regard.protocol import device_of
from regard.recipes.checks import copies
from regard.recipes.section import own_keys
from regard.recipes.sections import Recipe
from regard.specials import PAD
from regard.systems.records.delexicalised import Delexicalised, delexicalised, with_values
from regard.systems.records.describer import decoder_of
from regard.systems.records.field import FlatRecordField, RecordTexts, encoded_record, padded_records
from regard.systems.records.readers import plain_record, read_record, record_json
from regard.systems.records.sections import RecordsTraining
from regard.tasks.loss import Loss, copy_loss, token_loss
from regard.tasks.prediction import Prediction
from regard.tasks.scheduled_sampling import Exposure
from regard.tasks.task import FieldEncoders, Fields, Task, Unrolling
from regard.tasks.tokenizers import field_values, learned_tokenizer, tokens_field


@dataclass(frozen=True)
class RecordBatch:
    """Records with texts."""

    record: Tensor  # [B, S, 3]
    record_lengths: Tensor  # [B], tokens
    text: Tensor  # [B, T]
    copies: Tensor | None = None  # [B, S]
    copies_target: Tensor | None = None  # [B, T]

    def copied(self) -> RecordBatch:
        """Return the batch in the extended vocabulary of its records, where there is one."""
        if self.copies is None or self.copies_target is None:
            return self
        return RecordBatch(with_copies(self.record, self.copies), self.record_lengths, self.copies_target)


@dataclass(frozen=True)
class Describing(Task):
    """Data-to-text generation: the loss of an encoder-decoder, and its search.

    An input is a record as text: a JSON object, or `name[The Eagle], food[Thai]`.

    Attributes:
        encoders: field encoders of "record" and "text".
        smoothing: label smoothing.
        exposure: decoder inputs in training (teacher forcing or scheduled sampling).
        names: fields whose values are delexicalised.
        copy: True if the model copies words of values.
    """

    question: ClassVar[str] = "record"
    answer: ClassVar[str | None] = "text"

    encoders: FieldEncoders
    smoothing: float = 0.0
    exposure: Exposure = field(default_factory=Exposure)
    names: tuple[str, ...] = ()
    copy: bool = False

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Describing:
        return cls(encoders, recipe.train.label_smoothing, Exposure.of(recipe), _hidden(recipe), copies(recipe))

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        section = recipe.tokenizer
        text = tokens_field(section.target or section, begin=True, end=True)
        return {"record": FlatRecordField(learner=tokens_field(section).learner), "text": text}

    @classmethod
    def encoded_fields(cls, recipe: Recipe, encoders: FieldEncoders) -> dict[str, Field[Any]]:
        fields = super().encoded_fields(recipe, encoders)
        if not copies(recipe):
            return fields
        return {COPIES: CopiesField(vocabulary=_vocabulary(encoders)), **fields}

    @classmethod
    def corpus(cls, recipe: Recipe, found: Examples, fields: Fields, cache: Path) -> Corpus | None:
        given = _without_values(found, _hidden(recipe))
        given = WithCopies.of(given, "record", "text") if COPIES in fields else given
        return super().corpus(recipe, given, fields, cache)

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: FieldEncoders) -> FieldEncoders:
        given = _without_values(train, _hidden(recipe))
        if not recipe.tokenizer.joint:
            return super().learn_encoders(recipe, given, known)
        said = chain.from_iterable(example.fields["record"].values() for example in given)
        joint = learned_tokenizer(recipe.tokenizer, chain(said, field_values(given, "text")))
        learned = FlatRecordField(learner=lambda texts: joint).learn(field_values(given, "record"))
        return {"record": learned, "text": joint}

    @property
    def sizes(self) -> tuple[int, int | None]:
        """Return the vocabulary sizes of values and of texts."""
        return self.records.size, self.texts.size

    def fitted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {**arguments, "num_names": self.records.num_names}

    @property
    def records(self) -> RecordTexts:
        """Names and tokenizer of records."""
        found = self.encoders["record"]
        assert isinstance(found, RecordTexts)
        return found

    @property
    def texts(self) -> Tokenizer:
        """The tokenizer of texts."""
        found = self.encoders["text"]
        assert isinstance(found, Tokenizer)
        return found

    @cached_property
    def copy_vocabulary(self) -> CopyVocabulary | None:
        """The vocabulary of a model that copies."""
        return _vocabulary(self.encoders) if self.copy else None

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        pair = batch.view(RecordBatch).copied()
        given, wanted = pair.text[:, :-1], pair.text[:, 1:]
        if update is not None:
            given = self.exposure.disturbed(given, vocabulary=self.texts.size)
        predicted: ModelOutput = model(pair.record, pair.record_lengths, given)
        smoothing = 0.0 if update is None else self.smoothing
        if self.copy:
            size = self.texts.size
            total, nll = copy_loss(predicted.logits, wanted, size=size, padding=PAD, smoothing=smoothing)
        else:
            total, nll = token_loss(predicted.logits, wanted, padding=PAD, smoothing=smoothing)
        if update is not None and "coverage" in predicted.extras:
            total = total + predicted.extras["coverage"].sum()
        return Loss(total, nll.detach(), int(batch.tokens), attended=predicted.attended)

    def unrolling(self, model: nn.Module) -> Unrolling | None:
        decoder = decoder_of(model)
        return None if decoder is None else "at once" if decoder.at_once else "steps"

    def parse(self, given: Any) -> str:
        """Return a record as JSON from text, a mapping, the path of a file, or the bytes of a file."""
        if isinstance(given, Mapping):
            record = given.get("record", given)
            given = record if isinstance(record, Mapping) else given
        elif isinstance(given, str) and not given.strip():
            return given
        elif isinstance(given, str) and not {"{", "["} & set(given) and Path(given).is_file():
            given = super().parse(Path(given))
        elif not isinstance(given, str):
            given = super().parse(given)
        try:
            record = plain_record(given) if isinstance(given, Mapping) else read_record(given)
        except ValueError as problem:
            raise TextError(str(problem)) from None
        unknown = next((name for name in record if name not in self.records.names), None)
        if unknown is not None:
            near, known = nearest(unknown, list(self.records.names)), ", ".join(self.records.names)
            hint = f"did you mean {near!r}? " if near else ""
            raise TextError(f"the record has a field {unknown!r} that training never had; {hint}its fields are {known}")
        return record_json(record)

    def ask(self, fields: Mapping[str, Any]) -> str:
        return record_json(fields["record"])

    def input_warnings(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Return warnings about missing fields that every training record has."""
        found = []
        for text in texts:
            try:
                record = read_record(self.parse(text)) if text.strip() else {}
            except TextError:  # prediction reports it as the answer to this input
                continue
            missing = [name for name in self.records.always if name not in record]
            if record and missing:
                found.append(f"the record {text[:60]!r} has no {missing[0]!r}, which every training record has")
        return found

    def panels(self, model: Any, text: str, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return the weights of each token of the answer over the fields."""
        return [
            replace(one, title=one.title.rpartition(" → ")[2], columns=tuple(read_record(text)))
            for one in super().panels(model, text, search, head=head)
            if type(one) is Panel
        ]

    def merges_equal_inputs(self, recipe: Recipe) -> bool:
        return True

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        records = [read_record(text) for text in texts]
        shown = [delexicalised(record, self.names) for record in records]
        encoded = [encoded_record(record, self.records) for record in shown]
        vocabulary = self.copy_vocabulary
        copied = [None if vocabulary is None else vocabulary.source_of(list(record.values())) for record in shown]
        order = sorted(range(len(texts)), key=lambda index: len(encoded[index]))
        answers: list[list[Prediction]] = [[] for _ in texts]
        for begin in range(0, len(order), batch):
            part = order[begin : begin + batch]
            tokens, lengths = map(torch.from_numpy, padded_records([encoded[index] for index in part]))
            if vocabulary is not None:
                tokens = with_copies(tokens, padded([one.ids for index in part if (one := copied[index])], PAD))
            device = device_of(model)
            with torch.inference_mode():
                found = generate(model, tokens.to(device), lengths.to(device), search)
            for index, hypotheses in zip(part, found, strict=True):
                number = torch.from_numpy(encoded[index][:, 2])
                answers[index] = [
                    self._prediction(texts[index], records[index], number, one, copied[index]) for one in hypotheses
                ]
        return answers

    def _prediction(
        self, source: str, record: Mapping[str, str], number: Tensor, one: Hypothesis, copied: CopySource | None
    ) -> Prediction:
        """Return the prediction for a hypothesis, its attention summed over the tokens of each field."""
        vocabulary = self.copy_vocabulary
        if vocabulary is not None and copied is not None:
            text, tokens = vocabulary.text(one.output, copied), vocabulary.tokens(one.tokens, copied)
        else:
            text, tokens = self.texts.decode(one.output), self.texts.tokens(one.tokens)
        assert one.alignment is not None
        fields = torch.zeros(len(one.alignment), len(record)).index_add(1, number, one.alignment)
        return Prediction(
            source=source,
            text=with_values(text, record, self.names) if self.names else text,
            score=one.score,
            source_tokens=tuple(f"{name}: {value}" for name, value in record.items()),
            tokens=tuple(tokens),
            log_probs=one.log_probs,
            alignment=fields,
            finished=one.finished,
            penalty=str(one.penalty),
        )


def _hidden(recipe: Recipe) -> tuple[str, ...]:
    return own_keys(recipe.train, RecordsTraining).delexicalise


def _vocabulary(encoders: FieldEncoders) -> CopyVocabulary:
    records, texts = encoders["record"], encoders["text"]
    assert isinstance(records, RecordTexts)
    assert isinstance(texts, Tokenizer)
    return CopyVocabulary(records.tokenizer, texts)


def _without_values(found: Examples, names: tuple[str, ...]) -> Examples:
    """Delexicalise examples if any fields are specified."""
    if not names:
        return found
    if isinstance(found, Mixture):
        return found.each(lambda part: Delexicalised(part, names))
    return Delexicalised(found, names)
