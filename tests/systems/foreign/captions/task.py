"""From a picture to a text."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.batching.batch import Batch
from regard.data.fields.field import Field
from regard.data.fields.vectors import VectorsField, array_of
from regard.data.problems import DataError, TextError
from regard.decode import generate
from regard.decode.search import Search
from regard.protocol import device_of
from regard.recipes.sections import Recipe
from regard.specials import PAD
from regard.tasks.loss import Loss, token_loss
from regard.tasks.prediction import Prediction
from regard.tasks.task import FieldEncoders, Task
from regard.tasks.tokenizers import tokens_field


@dataclass(frozen=True)
class CaptionBatch:
    """Pictures with captions."""

    picture: Tensor  # [B, C, H, W]
    caption: Tensor  # [B, T]


@dataclass(frozen=True)
class Captioning(Task):
    """Captions of pictures: the loss of an encoder-decoder, and its search."""

    question: ClassVar[str] = "picture"
    answer: ClassVar[str | None] = "caption"

    encoders: FieldEncoders
    smoothing: float = 0.0

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Captioning:
        return cls(encoders, recipe.train.label_smoothing)

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        return {"picture": VectorsField(), "caption": tokens_field(recipe.tokenizer, begin=True, end=True)}

    @property
    def sizes(self) -> tuple[int, int | None]:
        """Channels of a picture, and number of words."""
        return self.encoders["picture"].axes[0], self.encoders["caption"].size

    def parse(self, given: Any) -> Any:
        """Return the array of a picture: from its path, its bytes, or a mapping with its path."""
        try:
            if isinstance(given, bytes):
                return np.load(io.BytesIO(given), allow_pickle=False)
            return array_of(given["picture"] if isinstance(given, Mapping) else Path(given))
        except (DataError, ValueError, OSError, EOFError, KeyError, TypeError) as problem:
            raise TextError(f"the picture cannot be read: {problem}") from None

    def ask(self, fields: Mapping[str, Any]) -> Any:
        return array_of(fields["picture"])

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        pair = batch.view(CaptionBatch)
        predicted = model(pair.picture, None, pair.caption[:, :-1])
        smoothing = 0.0 if update is None else self.smoothing
        total, nll = token_loss(predicted.logits, pair.caption[:, 1:], padding=PAD, smoothing=smoothing)
        return Loss(total, nll.detach(), int(batch.tokens), attended=predicted.attended)

    def predict(self, model: Any, texts: Sequence[Any], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        pictures = torch.from_numpy(np.stack(texts).astype(np.float32)).to(device_of(model))
        with torch.inference_mode():
            found = [one for part in pictures.split(batch) for one in generate(model, part, None, search)]
        return [[self._prediction(one) for one in hypotheses] for hypotheses in found]

    def _prediction(self, one: Any) -> Prediction:
        words, regions = self.encoders["caption"], range(one.alignment.shape[1])
        return Prediction(
            source="picture",
            text=words.decode(one.output),
            score=one.score,
            source_tokens=tuple(f"region {number}" for number in regions),
            tokens=tuple(words.tokens(one.tokens)),
            log_probs=one.log_probs,
            alignment=one.alignment,
            finished=one.finished,
        )
