"""Captioning task: loss, search and calibrated confidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.batching.augmented import AugmentedFeed
from regard.data.batching.batch import Batch
from regard.data.batching.feed import Feed
from regard.data.example import Example
from regard.data.fields.column import Column
from regard.data.fields.field import Field
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import DataError, TextError
from regard.decode import generate
from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.evaluate.calibration import calibration_error
from regard.evaluate.captions import caption_words
from regard.evaluate.metric_result import MetricResult
from regard.evaluate.texts import References
from regard.explain.panel import Panel, RegionsPanel
from regard.masks import Mask
from regard.models.generator import EncoderDecoder
from regard.models.model_output import ModelOutput, log_softmax
from regard.ops.doubly_stochastic import doubly_stochastic_penalty
from regard.protocol import device_of
from regard.recipes.section import own_keys
from regard.recipes.sections import Recipe
from regard.specials import PAD
from regard.systems.captions.augmentation import AugmentedPictures, PictureAugmentation
from regard.systems.captions.confidence import HEDGE, confidence_of, isotonic, mean_log_prob
from regard.systems.captions.conv_features import ConvFeatures
from regard.systems.captions.field import PictureKind, PicturesField, PictureSource
from regard.systems.captions.sections import CaptionDecoding, CaptionTraining, HardSection
from regard.tasks.input_output import no_head
from regard.tasks.loss import Loss, token_loss
from regard.tasks.prediction import Prediction
from regard.tasks.reinforce import RewardedDraws
from regard.tasks.splits import Split
from regard.tasks.task import FieldEncoders, Task, Unrolling
from regard.tasks.tokenizers import tokens_field


@dataclass(frozen=True)
class CaptionBatch:
    """Batch of pictures or feature maps, with captions that include the begin and end tokens."""

    picture: Tensor  # [B, C, H, W] or [B, S, C]
    caption: Tensor  # [B, T]
    caption_lengths: Tensor  # [B]
    picture_lengths: Tensor | None = None  # [B], number of regions of feature maps [S, C]


@dataclass(frozen=True)
class Captioning(Task):
    """Captioning of pictures: training loss, search and confidence.

    Attributes:
        encoders: the `PictureKind` of "picture" and the tokenizer of "caption".
        smoothing: label smoothing.
        spread: weight of the doubly stochastic penalty.
        hard: training settings of hard attention.
        right_is: correctness that the confidence predicts, of captions or of words; None for no confidence.
        search: search that the confidence is calibrated for.
        hedge: confidence below which an answer starts with a hedge.
    """

    question: ClassVar[str] = "picture"
    answer: ClassVar[str | None] = "caption"

    encoders: FieldEncoders
    smoothing: float = 0.0
    spread: float = 0.0
    hard: HardSection = field(default_factory=HardSection)
    right_is: Literal["caption", "words"] | None = None
    search: Search = field(default_factory=Search)
    hedge: float = 0.0

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Captioning:
        train = own_keys(recipe.train, CaptionTraining)
        return cls(
            encoders,
            recipe.train.label_smoothing,
            train.doubly_stochastic,
            train.hard,
            train.confidence,
            recipe.search(),
            own_keys(recipe.decode, CaptionDecoding).hedge,
        )

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        shape = recipe.data.picture_shape()  # type: ignore[attr-defined]  # of each section of this system
        return {"picture": PicturesField.of(shape), "caption": tokens_field(recipe.tokenizer, begin=True, end=True)}

    @property
    def pictures(self) -> PictureKind:
        """Shape and calibration of the pictures."""
        kind = self.encoders["picture"]
        assert isinstance(kind, PictureKind)
        return kind

    @property
    def words(self) -> Tokenizer:
        """Tokenizer of the captions."""
        tokenizer = self.encoders["caption"]
        assert isinstance(tokenizer, Tokenizer)
        return tokenizer

    @property
    def sizes(self) -> tuple[int, int | None]:
        """Number of channels of a picture or width of a region, and vocabulary size."""
        axes = self.pictures.axes
        return axes[0 if len(axes) == 3 else -1] or 1, self.words.size

    def fitted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {**arguments, "given": self.pictures.fit is None}

    def parse(self, given: Any) -> PictureSource:
        """Read a picture from a path, the bytes of a file, an array, or a mapping with one of them."""
        source = given["picture"] if isinstance(given, Mapping) and "picture" in given else given
        if isinstance(source, PictureSource):
            return source
        if not isinstance(source, str | Path | bytes | np.ndarray):
            raise TextError(f"a picture is a path, the bytes of a file or an array; got {type(source).__name__}")
        name = str(source) if isinstance(source, str | Path) else "the picture"
        try:
            read = self.pictures.read(source, name)
        except DataError as problem:
            raise TextError(str(problem)) from None
        return PictureSource(name, read.pixels, read.note)

    def ask(self, fields: Mapping[str, Any]) -> PictureSource:
        return fields["picture"] if isinstance(fields["picture"], PictureSource) else self.parse(fields["picture"])

    def input_warnings(self, model: Any, texts: Sequence[Any]) -> list[str]:
        """Return notices about conversions while the pictures were read."""
        return [one.note for one in map(self.parse, texts) if one.note is not None]

    def merges_equal_inputs(self, recipe: Recipe) -> bool:
        """Return True: all captions of a picture are its references."""
        return True

    def training_feed(self, recipe: Recipe, split: Split) -> Feed:
        feed, augment = super().training_feed(recipe, split), own_keys(recipe.train, CaptionTraining).augment
        if augment is None:
            return feed
        changes = PictureAugmentation(**augment.model_dump())
        return AugmentedFeed(feed, AugmentedPictures(changes, recipe.train.seed))

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        pair = batch.view(CaptionBatch)
        wanted = pair.caption[:, 1:]  # teacher forcing: inputs without the last token, targets without the first
        predicted: ModelOutput = model(pair.picture, pair.picture_lengths, pair.caption[:, :-1])
        smoothing = 0.0 if update is None else self.smoothing
        total, nll = token_loss(predicted.logits, wanted, padding=PAD, smoothing=smoothing)
        if update is not None:
            total = total + self._spread(predicted, pair) + self._draws(model, predicted, wanted)
        return Loss(total, nll.detach(), int(batch.tokens), attended=predicted.attended)

    def _spread(self, predicted: ModelOutput, pair: CaptionBatch) -> Tensor:
        """Return the doubly stochastic penalty, summed over captions."""
        if not self.spread or predicted.attended is None:
            return predicted.logits.new_zeros(())
        words = pair.caption_lengths - 1
        penalty = doubly_stochastic_penalty(predicted.attended.coverage(lengths=words), _regions(pair))
        # Rows that pad the batch to a fixed size have no words and no penalty.
        return self.spread * penalty.masked_fill(words <= 0, 0.0).sum()

    def _draws(self, model: nn.Module, predicted: ModelOutput, wanted: Tensor) -> Tensor:
        """Return the REINFORCE term of hard attention, summed over captions; 0 for other attention."""
        if "sample_key" not in predicted.extras:
            return predicted.logits.new_zeros(())
        if self.hard.baseline == "others":
            return RewardedDraws(self.hard.reward, self.hard.entropy).loss(predicted, wanted)
        inside = wanted != PAD
        # Detached: the reward of REINFORCE has no gradient.
        said = log_softmax(predicted.logits.detach()).gather(2, wanted.unsqueeze(2)).squeeze(2)  # [B, T]
        reward = said.masked_fill(~inside, 0.0).sum(1)  # [B], log-likelihood of the whole caption
        log_prob, entropy = (
            predicted.extras[f"sample_{name}"].sum(1).masked_fill(~inside, 0.0).sum(1)  # [B, H, T] -> [B]
            for name in ("log_prob", "entropy")
        )
        baseline = getattr(model, "baseline", None) if self.hard.baseline == "moving" else None
        # Clone: the baseline is updated in place below.
        advantage = reward if baseline is None else reward - baseline.value.clone()
        if baseline is not None:
            baseline.update((reward.sum() / inside.any(1).sum().clamp(min=1)).unsqueeze(0))
        return -(self.hard.reward * advantage * log_prob + self.hard.entropy * entropy).sum()

    def unrolling(self, model: nn.Module) -> Unrolling | None:
        if not isinstance(model, EncoderDecoder):
            return None
        return "at once" if model.at_once else "steps"

    def predict(self, model: Any, texts: Sequence[Any], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        answers: list[list[Prediction]] = []
        for begin in range(0, len(texts), batch):
            part = texts[begin : begin + batch]
            source, lengths = self._tensors(part, device_of(model))
            with torch.inference_mode():
                found = generate(model, source, lengths, search)
            for one, hypotheses in zip(part, found, strict=True):
                answers.append([self._prediction(one, hypothesis) for hypothesis in hypotheses])
        return answers

    def bind(self, model: Any, examples: Iterable[Example] | None = None) -> Task:
        """Disable hedging when examples are evaluated: metrics compare the bare captions."""
        return self if examples is None else replace(self, hedge=0.0)

    def tuned(self, model: Any, examples: Iterable[Example]) -> Task:
        """Calibrate the confidence on the validation data."""
        if self.right_is is None:
            return self
        references: dict[PictureSource, list[str]] = {}
        for example in examples:
            references.setdefault(self.ask(example.fields), []).extend(self.references(example.fields))
        found = [answers[0] for answers in replace(self, hedge=0.0).predict(model, list(references), self.search)]
        scores = [mean_log_prob(one.log_probs) for one in found]
        outcomes = [self._outcome(one.text, right) for one, right in zip(found, references.values(), strict=True)]
        kind = replace(self.pictures, calibration=isotonic(scores, outcomes))
        return replace(self, encoders={**self.encoders, "picture": kind})

    def prediction_scores(self, predictions: Sequence[Prediction], references: References) -> dict[str, MetricResult]:
        """Return the expected calibration error."""
        if self.right_is is None or any(one.confidence is None for one in predictions):
            return {}
        outcomes = [self._outcome(one.text, right) for one, right in zip(predictions, references, strict=True)]
        confidences = [one.confidence or 0.0 for one in predictions]
        return {"calibration_error": calibration_error(confidences, outcomes)}  # type: ignore[arg-type]  # shares too

    def _outcome(self, text: str, references: str | Sequence[str]) -> float:
        """Return 1 for a correct caption and 0 for a wrong one; for words, the fraction that occurs in a reference."""
        right = [references] if isinstance(references, str) else references
        if self.right_is == "caption":
            return float(bool(self.right(text, right)))
        known, said = {word for one in right for word in caption_words(one)}, caption_words(text)
        return sum(word in known for word in said) / len(said) if said else 0.0

    def _tensors(self, pictures: Sequence[PictureSource], device: torch.device) -> tuple[Tensor, Tensor | None]:
        """Return a batch of pictures [B, C, H, W] or feature maps, and the lengths of feature maps."""
        read = [self.pictures.read(one.source, one.name).pixels for one in pictures]
        shape = None if self.pictures.fit is None else self.pictures.shape
        kind = replace(PicturesField.of(shape), encoder=self.pictures)
        stored = kind.encode(read)
        offsets = {name: np.cumsum([0, *part.counts.tolist()]) for name, part in stored.items()}
        column = Column({name: part.values for name, part in stored.items()}, offsets)
        padded = kind.collate("picture", column, np.arange(len(read)))
        made = {name: torch.from_numpy(one.values).to(device) for name, one in padded.items()}
        return made["picture"], made.get("picture_lengths")

    def _prediction(self, asked: PictureSource, hypothesis: Hypothesis) -> Prediction:
        regions = 0 if hypothesis.alignment is None else hypothesis.alignment.shape[1]
        knots = self.pictures.calibration if self.right_is is not None else None
        sure = None if knots is None else confidence_of(knots, mean_log_prob(hypothesis.log_probs))
        hedged = HEDGE if sure is not None and sure < self.hedge else ""
        return Prediction(
            source=asked.name,
            text=hedged + self.words.decode(hypothesis.output),
            score=hypothesis.score,
            source_tokens=tuple(f"region {number}" for number in range(1, regions + 1)),
            tokens=tuple(self.words.tokens(hypothesis.tokens)),
            log_probs=hypothesis.log_probs,
            alignment=hypothesis.alignment,
            finished=hypothesis.finished,
            penalty=str(hypothesis.penalty),
            confidence=sure,
        )

    def panels(self, model: Any, text: Any, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return the picture once per word with the weights of its regions, or a table if the regions are unknown."""
        grids = self._grids(model)
        if grids is None or self.pictures.fit is None:
            return super().panels(model, text, search, head=head)
        no_head(head)
        found = self.predict(model, [text], search)[0][0]
        if found.alignment is None:
            raise ValueError("the model attends to nothing that could be drawn")
        pixels = torch.from_numpy(self.pictures.read(text.source, text.name).pixels)
        return [
            RegionsPanel(
                f"{text.name}: {found.text}",
                found.alignment,
                rows=found.tokens,
                columns=found.source_tokens,
                picture=pixels,
                grids=tuple(grids),
            )
        ]

    def _grids(self, model: Any) -> list[tuple[int, int]] | None:
        """Return rows and columns of the regions of each scale; None if the encoder has no grid of regions."""
        encoder = getattr(model, "encoder", None)
        _, *sides = self.pictures.axes
        if not isinstance(encoder, ConvFeatures) or len(sides) != 2 or None in sides:
            return None
        height, width = (side or 0 for side in sides)
        return encoder.grids(height, width)


def _regions(pair: CaptionBatch) -> Mask | None:
    """Return the mask of the regions of feature maps; None without padding."""
    return None if pair.picture_lengths is None else Mask.padding(pair.picture_lengths)
