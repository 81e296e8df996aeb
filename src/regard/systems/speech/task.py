"""The speech task: transcription by CTC, attention, or both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.batching.augmented import AugmentedFeed
from regard.data.batching.batch import Batch
from regard.data.batching.corpus import Corpus
from regard.data.batching.feed import Feed
from regard.data.example import Example, Value
from regard.data.fields.field import Field
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import DataError, TextError
from regard.data.sound.spectrogram import LogMel
from regard.decode import generate
from regard.decode.ctc import FusionLanguageModel, Transcript, ctc_beam_search, ctc_greedy
from regard.decode.hypothesis import Hypothesis
from regard.decode.joint_ctc import JointCTC
from regard.decode.search import Search
from regard.explain.panel import FramesPanel, Panel
from regard.models.generator import EncoderDecoder
from regard.models.model_output import log_softmax
from regard.ops.ctc import ctc_alignment, ctc_lengths, ctc_losses
from regard.protocol import device_of
from regard.recipes.section import own_keys
from regard.recipes.sections import Recipe
from regard.specials import PAD
from regard.systems.speech.augmentation import SoundAugmentation
from regard.systems.speech.ctc_recogniser import CTCRecogniser
from regard.systems.speech.features import SoundFeatures, SoundField
from regard.systems.speech.fusion import Fusion
from regard.systems.speech.listener import Listener
from regard.systems.speech.sections import FeaturesSection, SpeechDecoding, SpeechTraining
from regard.systems.speech.sounds import Sound, sound_of
from regard.systems.speech.spec_augment import SpecAugment
from regard.systems.speech.voices import Voices
from regard.tasks.input_output import no_head
from regard.tasks.loss import Loss, token_loss
from regard.tasks.prediction import Prediction
from regard.tasks.splits import Split
from regard.tasks.task import FieldEncoders, Task, Unrolling
from regard.tasks.tokenizers import tokens_field


@dataclass(frozen=True)
class SpeechBatch:
    """Recordings as frames, and transcripts with BOS and EOS."""

    recording: Tensor  # [B, T, F]
    recording_lengths: Tensor  # [B]
    transcript: Tensor  # [B, U]
    transcript_lengths: Tensor  # [B]


@dataclass(frozen=True)
class Transcription(Task):
    """Transcription of recordings: the loss of CTC and of a decoder, and the search of each.

    Attributes:
        encoders: the features of "recording" and the tokenizer of "transcript".
        smoothing: label smoothing of a decoder.
        ctc_weight: weight of CTC in joint decoding; None for its weight in training.
        fusion: settings of shallow fusion with CTC; None for none.
        language_model: the language model of `fusion`, set by `bind`.
    """

    question: ClassVar[str] = "recording"
    answer: ClassVar[str | None] = "transcript"

    encoders: FieldEncoders
    smoothing: float = 0.0
    ctc_weight: float | None = None
    fusion: Fusion | None = None
    language_model: FusionLanguageModel | None = None

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Transcription:
        decode = own_keys(recipe.decode, SpeechDecoding)
        fusion = None
        if decode.language_model is not None:
            fusion = Fusion(Path(decode.language_model), decode.language_weight, decode.language_bonus)
        return cls(encoders, recipe.train.label_smoothing, decode.ctc_weight, fusion)

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        section = getattr(recipe.data, "features", None) or FeaturesSection()
        settings = SoundFeatures.of_settings(LogMel(**section.model_dump(exclude={"normalise"})), section.normalise)
        return {
            "recording": SoundField(settings=settings),
            "transcript": tokens_field(recipe.tokenizer, begin=True, end=True),
        }

    @property
    def features(self) -> SoundFeatures:
        """The feature extractor of recordings."""
        found = self.encoders["recording"]
        assert isinstance(found, SoundFeatures)
        return found

    @property
    def symbols(self) -> Tokenizer:
        """The tokenizer of transcripts."""
        found = self.encoders["transcript"]
        assert isinstance(found, Tokenizer)
        return found

    def bind(self, model: Any, examples: Iterable[Example] | None = None) -> Transcription:
        """Return the task with its language model."""
        if self.fusion is None:
            return self
        return replace(self, language_model=self.fusion.model(self.symbols, device_of(model)))

    def training_feed(self, recipe: Recipe, split: Split) -> Feed:
        feed = super().training_feed(recipe, split)
        augmentation = _augmentation(recipe, self.features)
        return feed if augmentation is None else AugmentedFeed(feed, augmentation)

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        spoken = batch.view(SpeechBatch)
        if isinstance(_member(model), CTCRecogniser):
            total = self._ctc_loss(model, spoken)
            return Loss(total, total.detach(), int(batch.tokens))
        predicted = model(spoken.recording, spoken.recording_lengths, spoken.transcript[:, :-1])
        smoothing = 0.0 if update is None else self.smoothing
        total, nll = token_loss(predicted.logits, spoken.transcript[:, 1:], padding=PAD, smoothing=smoothing)
        if update is not None and isinstance(model, Listener) and "ctc" in predicted.extras:
            total = (1 - model.weight) * total + model.weight * predicted.extras["ctc"].sum()
        return Loss(total, nll.detach(), int(batch.tokens))

    def _ctc_loss(self, model: nn.Module, spoken: SpeechBatch) -> Tensor:
        log_probs, counts = _emissions(model, spoken.recording, spoken.recording_lengths)
        labels = spoken.transcript[:, 1:-1]  # without BOS and EOS; in shorter rows EOS is past the length
        sizes = (spoken.transcript_lengths - 2).clamp(min=0)  # a captured batch has rows of nothing but padding
        lengths = ctc_lengths(log_probs, labels, counts, sizes, blank=PAD)
        return ctc_losses(log_probs, labels, *lengths, blank=PAD).sum()

    def data_warnings(self, model: nn.Module, corpus: Corpus | None) -> list[str]:
        """Return warnings about transcripts longer than their encoder states: these have no CTC alignment."""
        encoder: Any = getattr(model, "encoder", None)
        if corpus is None or getattr(model, "ctc", None) is None or not hasattr(encoder, "output_lengths"):
            return []
        frames = torch.tensor(corpus.kinds["recording"].cells(corpus.column("recording")))
        states = encoder.output_lengths(frames).numpy()
        ids, begins = corpus.ids("transcript"), corpus.offsets("transcript")
        repeats = np.concatenate(([0], np.cumsum(np.diff(ids, prepend=-1) == 0)))
        within = repeats[begins[1:]] - repeats[np.minimum(begins[:-1] + 1, begins[1:])]
        short = int((states < np.diff(begins) + within).sum())
        if not short:
            return []
        return [
            f"{short:,} of {len(corpus):,} recordings have fewer states than their transcript needs, and CTC learns "
            "nothing from them; take a smaller model.encoder.pyramid or smaller strides"
        ]

    def unrolling(self, model: nn.Module) -> Unrolling | None:
        return "steps" if isinstance(model, EncoderDecoder | CTCRecogniser) else None

    def parse(self, given: Any) -> Sound:
        """Return a recording: from its path, the bytes of its file, or a mapping with `recording` (and `rate`)."""
        try:
            return sound_of(given)
        except (DataError, OSError, ValueError) as problem:
            raise TextError(str(problem)) from None

    def ask(self, fields: Mapping[str, Value]) -> Any:
        return fields["recording"]

    def input_warnings(self, model: Any, texts: Sequence[Any]) -> list[str]:
        """Return warnings about recordings that are resampled, truncated or silent."""
        return [note for one in texts for note in self._notes(one)]

    def _notes(self, given: Any) -> list[str]:
        try:
            return self.parse(given).notes(self.features.mel.rate)
        except TextError:  # prediction reports it as the answer to this input
            return []

    def predict(self, model: Any, texts: Sequence[Any], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        sounds = [self.parse(one) for one in texts]
        if search.coverage:  # the search counts frames, not states, and would not mask padding states
            batch = 1
        answers: list[list[Prediction]] = [[] for _ in sounds]
        for part, source, lengths in self._batches(sounds, batch, device_of(model)):
            with torch.inference_mode():
                found = self._answers(model, source, lengths, search)
            for index, predictions in zip(part, found, strict=True):
                answers[index] = [replace(one, source=sounds[index].name) for one in predictions]
        return answers

    def _answers(self, model: Any, source: Tensor, lengths: Tensor, search: Search) -> list[list[Prediction]]:
        if isinstance(_member(model), CTCRecogniser):
            log_probs, counts = _emissions(model, source, lengths)
            return self._by_ctc(log_probs, counts, lengths, search)
        found = generate(self._joint(model), source, lengths, search)
        states = _states(_member(model), lengths)
        return [
            [self._prediction(one, count, length) for one in hypotheses]
            for hypotheses, count, length in zip(found, states, lengths.tolist(), strict=True)
        ]

    def _joint(self, model: Any) -> Any:
        """Wrap a model for joint decoding if it has a CTC head with a non-zero weight."""
        members = getattr(model, "models", [model])
        if any(getattr(one, "ctc", None) is None for one in members):
            return model
        weight = members[0].weight if self.ctc_weight is None else self.ctc_weight
        if weight == 0:
            return model

        def emissions(source: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
            each = [one.emissions(source, lengths) for one in members]
            return torch.stack([log_probs for log_probs, _ in each]).logsumexp(0) - math.log(len(each)), each[0][1]

        return JointCTC(model, emissions, weight=weight, blank=PAD)

    def _by_ctc(self, log_probs: Tensor, counts: Tensor, lengths: Tensor, search: Search) -> list[list[Prediction]]:
        """Decode CTC log-probabilities [B, T', V] to transcripts with the posteriors of their alignments."""
        if search.strategy == "sample":
            raise ValueError("the model ctc is decoded with strategy 'greedy' or 'beam'; it draws no samples")
        if search.strategy == "greedy":
            found = [[one] for one in ctc_greedy(log_probs, counts, blank=PAD)]
        else:
            found = ctc_beam_search(
                log_probs,
                counts,
                blank=PAD,
                beam_size=search.beam_size,
                n_best=search.n_best,
                language_model=self.language_model,
            )
        sizes = zip(counts.tolist(), lengths.tolist(), strict=True)
        return [
            [self._transcribed(one, row[:count], length) for one in transcripts]
            for transcripts, row, (count, length) in zip(found, log_probs, sizes, strict=True)
        ]

    def _transcribed(self, one: Transcript, log_probs: Tensor, frames: int) -> Prediction:
        """Return the prediction for one row [T', V]; the log-probability of a symbol is its maximum over states."""
        alignment = None
        if one.tokens:
            alignment = _normalised_posterior(log_probs, one.tokens)
        spans = zip(one.tokens, one.frames, strict=True)
        return Prediction(
            source="",
            text=self.symbols.decode(one.tokens),
            score=one.score,
            source_tokens=self._times(len(log_probs), frames),
            tokens=tuple(self.symbols.tokens(one.tokens)),
            log_probs=tuple(float(log_probs[begin:end, token].max()) for token, (begin, end) in spans),
            alignment=alignment,
            penalty="log p(y | x), all alignments",
        )

    def _prediction(self, one: Hypothesis, states: int | None, frames: int) -> Prediction:
        alignment = one.alignment
        if alignment is not None and states is not None:
            alignment = alignment[:, :states]
        columns = 0 if alignment is None else alignment.shape[1]
        return Prediction(
            source="",
            text=self.symbols.decode(one.output),
            score=one.score,
            source_tokens=self._times(columns, frames),
            tokens=tuple(self.symbols.tokens(one.tokens)),
            log_probs=one.log_probs,
            alignment=alignment,
            finished=one.finished,
            penalty=str(one.penalty),
        )

    def _times(self, states: int, frames: int) -> tuple[str, ...]:
        """Return the start time of each encoder state."""
        step = self.features.mel.hop * frames / max(1, states)
        return tuple(f"{number * step:.2f}s" for number in range(states))

    def _batches(
        self, sounds: Sequence[Sound], size: int, device: torch.device
    ) -> Iterator[tuple[list[int], Tensor, Tensor]]:
        """Yield batches of recordings of similar length: indices, frames [B, T, F] and lengths [B]."""
        order = sorted(range(len(sounds)), key=lambda index: len(sounds[index].samples) / sounds[index].rate)
        for begin in range(0, len(order), size):
            part = order[begin : begin + size]
            frames = [torch.from_numpy(self.features(sounds[index])) for index in part]
            lengths = torch.tensor([len(one) for one in frames], device=device)
            yield part, nn.utils.rnn.pad_sequence(frames, batch_first=True).to(device), lengths

    def _posterior(self, model: Any, sound: Sound, text: str, states: int) -> Tensor | None:
        """Return the CTC posterior of the symbols of a listener's answer, [U, T']; None without a CTC head."""
        ids = self.symbols.encode(text)
        if not isinstance(model, Listener) or model.ctc is None or not ids:
            return None
        _, source, lengths = next(self._batches([sound], 1, device_of(model)))
        with torch.inference_mode():
            log_probs, _ = model.emissions(source, lengths)
        return _normalised_posterior(log_probs[0], ids)[:, :states]

    def panels(self, model: Any, text: Any, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return the spectrogram, and the alignment of each symbol below it."""
        no_head(head)
        (found,) = self.predict(model, [text], search)[0][:1]
        drawn = found.drawn()
        if drawn is None or not len(drawn[1]):
            raise ValueError(f"{text.name}: nothing is heard in the recording, so there is no alignment")
        weights, rows = drawn
        kind = "posterior of CTC" if isinstance(_member(model), CTCRecogniser) else "attention"
        if (posterior := self._posterior(model, text, found.text, weights.shape[1])) is not None:
            kind, weights = "attention, then the posterior of CTC", torch.cat((weights, posterior))
            rows = (*rows, *(f"{symbol} (CTC)" for symbol in self.symbols.tokens(self.symbols.encode(found.text))))
        bands = torch.from_numpy(self.features.bands(text)[:, : self.features.mel.mels])
        title = f"{Path(found.source).name}: {found.text}  ({kind})"
        return [FramesPanel(title, weights, rows=rows, spectrogram=bands, hop=self.features.mel.hop)]


def _augmentation(recipe: Recipe, features: SoundFeatures) -> SoundAugmentation | None:
    """Return the augmentation of a recipe; None for none."""
    train = own_keys(recipe.train, SpeechTraining)
    if train.voices is None and train.spec_augment is None:
        return None
    voices = None if train.voices is None else Voices(**train.voices.model_dump())
    masks = None if train.spec_augment is None else SpecAugment(**train.spec_augment.model_dump())
    return SoundAugmentation(features, voices, masks, seed=recipe.train.seed)


def _member(model: Any) -> Any:
    """Return the model, or the first member of an ensemble."""
    return getattr(model, "models", [model])[0]


def _emissions(model: Any, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities [B, T', V] of a CTC model or ensemble, and the number of states [B]."""
    predicted = model(source, lengths)
    counts = predicted.state
    if not isinstance(counts, Tensor):  # an ensemble
        counts = _member(model)(source, lengths).state
    return log_softmax(predicted.logits), counts


def _normalised_posterior(log_probs: Tensor, tokens: Sequence[int]) -> Tensor:
    """Return the posterior of each of U symbols over states, normalised to sum 1: [T', V] -> [U, T']."""
    labels = torch.tensor([list(tokens)], device=log_probs.device)
    posterior = ctc_alignment(log_probs.double().unsqueeze(0), labels, blank=PAD).posterior[0]
    return (posterior / posterior.sum(1, keepdim=True).clamp(min=1e-12)).float().cpu()


def _states(model: Any, lengths: Tensor) -> list[int | None]:
    """Return the number of states per recording; None for encoders without `output_lengths`."""
    encoder: Any = getattr(model, "encoder", None)
    if not hasattr(encoder, "output_lengths"):
        return [None] * len(lengths)
    found: list[int | None] = encoder.output_lengths(lengths).tolist()
    return found
