"""The translation task: text to text, such as translation, transliteration, dates, pronunciations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from regard.alignment.attention_links import attention_links
from regard.alignment.links import Links
from regard.alignment.sentence_pairs import SentencePair
from regard.data.batching.batch import Batch, padded
from regard.data.batching.corpus import Corpus
from regard.data.example import Examples
from regard.data.fields.copies import COPIES, CopiesField, CopySource, CopyVocabulary, WithCopies
from regard.data.fields.field import Field
from regard.data.fields.tokenizer import Tokenizer
from regard.decode import generate
from regard.decode.constraint import Trie
from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.decode.unknown import replace_unknown
from regard.deferred import deferred
from regard.explain.panel import Panel
from regard.explain.subject import Subject
from regard.explain.windows import has_windows, window_centres
from regard.models.copying import Copying, with_copies
from regard.models.generator import EncoderDecoder
from regard.models.lstmn import LSTMNSeq2Seq
from regard.models.lstmn_encoder import LSTMNEncoder
from regard.models.model_output import ModelOutput
from regard.models.transformer import Transformer
from regard.protocol import device_of
from regard.recipes.checks import copies
from regard.recipes.section import own_keys
from regard.recipes.sections import Recipe
from regard.specials import BOS, PAD, SPECIALS, UNK
from regard.systems.translation.alignment_choice import AlignmentChoice, kept_choice
from regard.systems.translation.bidirectional import Bidirectional
from regard.systems.translation.dictionary import read_dictionary
from regard.systems.translation.explained import subject_of
from regard.systems.translation.force_decoding import force_decode, source_reads
from regard.systems.translation.guided_alignment import Guidance, Guide
from regard.systems.translation.links_field import LINKS, LinksField, WithLinks
from regard.systems.translation.sections import (
    GuidedSection,
    TranslationDecoding,
    TranslationEvaluation,
    TranslationTraining,
)
from regard.tasks.loss import Loss, Outputs, copy_loss, token_loss
from regard.tasks.output_set import output_set
from regard.tasks.panels import head_panels, record_tapes, tape_panels
from regard.tasks.prediction import Prediction
from regard.tasks.reinforce import RewardedDraws
from regard.tasks.scheduled_sampling import Exposure
from regard.tasks.task import FieldEncoders, Fields, Task, Unrolling, in_batches
from regard.tasks.tokenizers import field_values, learned_tokenizer, tokens_field

EXTRAS = ("fertility", "backward", "symmetry", "coverage")
"""What models add to the loss: Cohn's global fertility, the other direction, the agreement of both, and coverage."""


@dataclass(frozen=True)
class PairBatch:
    """Texts and their translations (with BOS and EOS)."""

    source: Tensor  # [B, S]
    source_lengths: Tensor  # [B]
    target: Tensor  # [B, T]
    copies: Tensor | None = None  # [B, S]
    copies_target: Tensor | None = None  # [B, T]
    links: Tensor | None = None  # [B, N, 2]

    def copied(self) -> PairBatch:
        """Return the pair in the extended vocabulary of its source, where there is one."""
        if self.copies is None or self.copies_target is None:
            return self
        source = with_copies(self.source, self.copies)
        return PairBatch(source, self.source_lengths, self.copies_target, links=self.links)


@dataclass(frozen=True)
class Translation(Task):
    """Translation: the loss of an encoder-decoder on pairs, and its search.

    Attributes:
        encoders: the tokenizers of "source" and "target".
        smoothing: label smoothing.
        exposure: decoder inputs in training (teacher forcing or scheduled sampling).
        draws: REINFORCE settings of hard attention.
        dictionary: replaces each unknown word of the output by the source word with the largest attention weight, or by
            its translation in this dictionary; None keeps unknown words. For word tokenizers.
        copy: True if the model copies source words (`regard.models.Copying`).
        guidance: guided alignment; None for none.
        choice: attention that word links are extracted from; None for the default of the model.
    """

    question: ClassVar[str] = "source"
    answer: ClassVar[str | None] = "target"

    encoders: FieldEncoders
    smoothing: float = 0.0
    exposure: Exposure = field(default_factory=Exposure)
    draws: RewardedDraws = field(default_factory=RewardedDraws)
    dictionary: Mapping[str, str] | None = None
    copy: bool = False
    guidance: Guidance | None = None
    choice: AlignmentChoice | None = None

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Translation:
        train, decode = own_keys(recipe.train, TranslationTraining), own_keys(recipe.decode, TranslationDecoding)
        dictionary = None
        if decode.unknown == "copy":
            dictionary = {} if decode.dictionary is None else read_dictionary(Path(decode.dictionary))
        draws = RewardedDraws(**train.hard.model_dump())
        guided = train.guided
        guidance = None
        if guided is not None:
            guidance = Guidance(guided.weight, guided.layer, guided.head, guided.shift)
        exposure = Exposure.of(recipe)
        return cls(encoders, recipe.train.label_smoothing, exposure, draws, dictionary, copies(recipe), guidance)

    def restored(self, folder: Path) -> Translation:
        return replace(self, choice=kept_choice(folder))

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        section = recipe.tokenizer
        return {
            "source": tokens_field(section),
            "target": tokens_field(section.target or section, begin=True, end=True),
        }

    @classmethod
    def encoded_fields(cls, recipe: Recipe, encoders: FieldEncoders) -> dict[str, Field[Any]]:
        fields = super().encoded_fields(recipe, encoders)
        if _guided(recipe) is not None:
            source, target = _tokenizer(encoders["source"]), _tokenizer(encoders["target"])
            fields = {LINKS: LinksField(source=source, target=target), **fields}
        if not copies(recipe):
            return fields
        vocabulary = CopyVocabulary(_tokenizer(encoders["source"]), _tokenizer(encoders["target"]))
        return {COPIES: CopiesField(vocabulary=vocabulary), **fields}

    @classmethod
    def corpus(cls, recipe: Recipe, found: Examples, fields: Fields, cache: Path) -> Corpus | None:
        given, guided = found, _guided(recipe)
        if guided is not None:
            links = None if guided.links is None else Path(guided.links)
            taught = _same(found, recipe.data.examples("train", cls.reading(recipe)))
            given = WithLinks.of(found, links, guided.aligner) if taught else WithLinks.without(found)
        if COPIES in fields:
            given = WithCopies.of(given, "source", "target")
        return super().corpus(recipe, given, fields, cache)

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: FieldEncoders) -> FieldEncoders:
        if not recipe.tokenizer.joint:
            return super().learn_encoders(recipe, train, {})
        joint = learned_tokenizer(recipe.tokenizer, chain(field_values(train, "source"), field_values(train, "target")))
        return {"source": joint, "target": joint}

    def __post_init__(self) -> None:
        kinds = {self.source.kind, self.target.kind} if self.dictionary is not None else set()
        if other := sorted(kinds - {"words"}):
            raise ValueError(f"unknown words are those of tokenizers of kind words; there is one of kind {other[0]}")

    @property
    def source(self) -> Tokenizer:
        """The source tokenizer."""
        return _tokenizer(self.encoders["source"])

    @property
    def target(self) -> Tokenizer:
        """The target tokenizer."""
        return _tokenizer(self.encoders["target"])

    @cached_property
    def copy_vocabulary(self) -> CopyVocabulary | None:
        """The vocabulary of a model that copies."""
        return CopyVocabulary(self.source, self.target) if self.copy else None

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        pair = batch.view(PairBatch).copied()
        given, wanted = pair.target[:, :-1], pair.target[:, 1:]
        with self._watching(model, pair, update) as guide:
            predicted = self._predicted(model, pair, given, update)
            guided = 0.0 if guide is None or pair.links is None else guide(predicted, pair.links)
        smoothing = 0.0 if update is None else self.smoothing
        if self.copy:
            size = self.target.size
            total, nll = copy_loss(predicted.logits, wanted, size=size, padding=PAD, smoothing=smoothing)
        else:
            total, nll = token_loss(predicted.logits, wanted, padding=PAD, smoothing=smoothing)
        outputs = None
        if update is not None:
            outputs = Outputs(predicted.logits, wanted != PAD)
            total = total + sum(predicted.extras[name].sum() for name in EXTRAS if name in predicted.extras)
            total = total + self.draws.loss(predicted, wanted) + guided
        return Loss(total, nll.detach(), int(batch.tokens), attended=predicted.attended, outputs=outputs)

    def _watching(self, model: nn.Module, pair: PairBatch, update: int | None) -> AbstractContextManager[Guide | None]:
        """Return a context manager that yields the loss of guided alignment for the forward pass inside, or None."""
        if self.guidance is None or update is None or pair.links is None:
            return nullcontext()
        return self.guidance.watching(model)

    def generated_fields(self, recipe: Recipe) -> Sequence[str]:
        both = recipe.model.kind == "bidirectional"
        return [*super().generated_fields(recipe), *(["source"] if both else [])]

    def check_model(self, model: nn.Module) -> None:
        if self.guidance is not None:
            self.guidance.check(model)

    def _predicted(self, model: nn.Module, pair: PairBatch, given: Tensor, update: int | None) -> ModelOutput:
        if update is None:
            return _forward(model, pair, given)
        given = self.exposure.disturbed(given, vocabulary=self.target.size)
        teacher = self.exposure.teacher(update)
        if teacher >= 1.0:
            return _forward(model, pair, given)
        return self.exposure.sampled(model, pair.source, pair.source_lengths, given, teacher)

    def input_warnings(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Return no warnings about unknown words if they are copied."""
        return super().input_warnings(model, texts) if self.dictionary is None and not self.copy else []

    def cuda_graph_obstacle(self, model: nn.Module) -> str | None:
        if self.guidance is not None:
            return "train.guided watches attention inside the model"
        return None if self.exposure.sampling is None else "train.exposure.sampling changes from one to the next"

    def merges_equal_inputs(self, recipe: Recipe) -> bool:
        return own_keys(recipe.evaluate, TranslationEvaluation).group

    def output_set(self, texts: Iterable[str] | Path) -> Trie:
        return output_set(texts, self.target)

    def unrolling(self, model: nn.Module) -> Unrolling | None:
        if isinstance(model, Bidirectional):
            return self.unrolling(model.forward_model)
        if isinstance(model, Copying):
            return self.unrolling(model.model)
        if not isinstance(model, EncoderDecoder):
            return None
        stepwise = not model.at_once or isinstance(model.encoder, LSTMNEncoder)
        return "steps" if stepwise else "at once"

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        encoded = self.source.encode_all(list(texts)) if texts else []
        answers: list[list[Prediction]] = [[] for _ in texts]
        vocabulary = self.copy_vocabulary
        copied = [None if vocabulary is None else vocabulary.source_of([text]) for text in texts]
        for part, source, lengths in in_batches(encoded, batch, device_of(model)):
            if vocabulary is not None:
                rows = [one.ids if (one := copied[index]) is not None and one.ids else [PAD] for index in part]
                source = with_copies(source, padded(rows, PAD).to(source.device))
            with torch.inference_mode():
                found = generate(model, source, lengths, search)
            for index, hypotheses in zip(part, found, strict=True):
                pieces = self.source.tokens(encoded[index] or [UNK])
                answers[index] = [self._prediction(texts[index], pieces, one, copied[index]) for one in hypotheses]
        return answers

    def alignment_choice(self, model: nn.Module) -> AlignmentChoice:
        """Return the attention that word links are extracted from: the stored choice, the guided one, or a default.

        The default is the mean over the heads of a Transformer's last layer but one, and the attention of other models.
        """
        if self.choice is not None:
            return self.choice
        if self.guidance is None:
            return AlignmentChoice(max(1, len(source_reads(model)) - 1))
        head = self.guidance.head if source_reads(model) else None
        return AlignmentChoice(self.guidance.layer_of(model), head, int(self.guidance.shift))

    def links(self, model: Any, predictions: Sequence[Prediction]) -> list[Links]:
        choice, found = self.alignment_choice(model), [Links() for _ in predictions]
        for one in force_decode(self, model, [SentencePair(said.source, said.text) for said in predictions]):
            choice.check(*one.weights.shape[:2])
            found[one.number] = attention_links(one.between_words(choice))
        return found

    def panels(self, model: Any, text: str, search: Search, *, head: int | None = None) -> list[Panel]:
        shown: list[Panel] = [one for one in super().panels(model, text, search, head=head) if type(one) is Panel]
        said = self.predict(model, [text], search)[0][0].text
        target = [BOS, *self.target.encode(said)]
        _, source, lengths = next(in_batches(self.source.encode_all([text]), 1, device_of(model)))
        given, written = torch.tensor([target], device=source.device), self.target.tokens(target)
        if isinstance(model, Transformer):
            read = self.source.tokens(source[0].tolist())
            return [*shown, *head_panels(model, lambda: model(source, lengths, given), written, read)]
        if self.copy or not (isinstance(model, LSTMNSeq2Seq) or has_windows(model)):
            return shown
        # Force-decode the answer: a search would record the steps of all its hypotheses, interleaved.
        with torch.inference_mode(), record_tapes(model, "decoder") as tapes, window_centres(model) as centres:
            model(source, lengths, given)
        if len(centres) >= len(shown[0].values) > 0:
            shown[0] = replace(shown[0], centres=tuple(centres[: len(shown[0].values)]))
        return [*shown, *tape_panels(tapes, said, written)]

    def subject(self, model: Any) -> Subject:
        return subject_of(self, model)

    def _prediction(
        self, source: str, pieces: list[str], hypothesis: Hypothesis, copied: CopySource | None
    ) -> Prediction:
        vocabulary, tokens = self.copy_vocabulary, list(hypothesis.tokens)
        if vocabulary is not None and copied is not None:
            shown = vocabulary.tokens(tokens, copied)
        else:
            shown = self.target.tokens(tokens)
        return Prediction(
            source=source,
            text=self._text(source, hypothesis, copied),
            score=deferred(lambda: hypothesis.score),
            source_tokens=tuple(pieces),
            tokens=tuple(shown),
            log_probs=deferred(lambda: hypothesis.log_probs),
            alignment=deferred(lambda: hypothesis.alignment),
            finished=hypothesis.finished,
            penalty=str(hypothesis.penalty),
        )

    def _text(self, source: str, hypothesis: Hypothesis, copied: CopySource | None) -> str:
        """Return the text of a hypothesis, with source words in place of unknown ones where the recipe copies."""
        vocabulary = self.copy_vocabulary
        if self.dictionary is None or UNK not in hypothesis.output:
            if vocabulary is not None and copied is not None:
                return vocabulary.text(hypothesis.output, copied)
            return self.target.decode(hypothesis.output)
        if hypothesis.alignment is None:
            raise ValueError("unknown words are replaced by what the model looked at; this one attends to nothing")
        if vocabulary is not None and copied is not None:
            words = vocabulary.words(hypothesis.output, copied)
        else:
            words = [self.target.decode([index]) for index in hypothesis.output]
        said = replace_unknown(words, hypothesis.alignment, self._written(source), dictionary=self.dictionary)
        return self.target.joined([word for word in said if word])

    def _written(self, source: str) -> list[str]:
        """Return the original word of each source token; a word that normalisation splits is repeated."""
        if self.source.split == "punctuation":
            return [source[begin:end] for begin, end in self.source.places(source)] or [SPECIALS[UNK]]
        words = source.split()
        ids = self.source.encode_all(words) if words else []
        return [word for word, pieces in zip(words, ids, strict=True) for _ in pieces] or [SPECIALS[UNK]]


def _forward(model: nn.Module, pair: PairBatch, given: Tensor) -> ModelOutput:
    predicted: ModelOutput = model(pair.source, pair.source_lengths, given)
    return predicted


def _guided(recipe: Recipe) -> GuidedSection | None:
    """Return the settings of guided alignment; None if unused, or in derived tasks that do not support it."""
    guided: GuidedSection | None = getattr(recipe.train, "guided", None)
    return guided


def _same(found: Examples, other: Examples | None) -> bool:
    """Return True if two readers read the same examples."""
    return other is not None and (found.files, found.settings()) == (other.files, other.settings())


def _tokenizer(encoder: object) -> Tokenizer:
    assert isinstance(encoder, Tokenizer)
    return encoder
