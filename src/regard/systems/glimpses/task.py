"""The task of picture labels: loss and predictions of glimpse networks and of networks over whole pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from rich.text import Text
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batching.batch import Batch
from regard.data.example import Examples
from regard.data.fields.field import Field
from regard.data.fields.labels import Labels, TagsField
from regard.data.fields.vector_shape import VectorShape
from regard.data.fields.vectors import array_of
from regard.data.pictures.reading import Picture, PictureShape, Source, read_picture
from regard.data.problems import DataError, TextError
from regard.decode.search import Search
from regard.explain.panel import GlimpsePanel, Panel
from regard.models.model_output import ModelOutput, log_softmax
from regard.nn.glimpse import location_loss
from regard.protocol import device_of
from regard.recipes.sections import Recipe
from regard.specials import IGNORE
from regard.systems.glimpses.glimpse_network import GlimpseNetwork
from regard.systems.glimpses.pixels import PixelsField
from regard.systems.glimpses.sections import section_of
from regard.tasks.input_output import no_head
from regard.tasks.loss import Loss, token_loss
from regard.tasks.prediction import Prediction
from regard.tasks.task import FieldEncoders, Task, Unrolling

_WHOLE = ("fully_connected", "convolutional")  # models with a fixed picture size


@dataclass(frozen=True)
class PictureBatch:
    """A batch of pictures with their labels."""

    picture: Tensor  # [B, C, H, W]
    labels: Tensor  # [B, N]
    labels_lengths: Tensor  # [B]


class GlimpseInput(NamedTuple):
    """An input of `predict`.

    Attributes:
        name: file name, or "picture".
        pixels: uint8 [C, H, W].
        notes: messages about changes made to the picture.
    """

    name: str
    pixels: NDArray[np.uint8]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Glimpses(Task):
    """Labels of pictures. The loss of a glimpse network sums cross-entropy, REINFORCE and the baseline's error.

    The reward of a location is the number of correct labels from the next label on.

    Attributes:
        encoders: the shape of "picture" and the labels of "labels".
        shape: target shape of the pictures in `predict`.
        objects: maximum number of labels per picture.
        light_on_dark: invert pictures in `predict` that are dark on light.
        whole: True if the model has a fixed picture size.
        smoothing: label smoothing.
    """

    question: ClassVar[str] = "picture"
    answer: ClassVar[str | None] = "labels"
    unit: ClassVar[str] = "label"
    outline_sizes: ClassVar[tuple[int, int | None]] = (1, 10)

    encoders: FieldEncoders
    shape: PictureShape
    objects: int = 1
    light_on_dark: bool = False
    whole: bool = False
    smoothing: float = 0.0

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Glimpses:
        data, shape = section_of(recipe), encoders["picture"]
        assert isinstance(shape, VectorShape)
        channels, height, width = (size or 1 for size in shape.axes)
        return cls(
            encoders,
            PictureShape(height=height, width=width, channels=channels, fit=data.shape().fit),
            data.most_labels,
            data.light_on_dark,
            recipe.model.kind in _WHOLE,
            recipe.train.label_smoothing,
        )

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        return {"picture": PixelsField(dtype="uint8"), "labels": TagsField()}

    @classmethod
    def learn_encoders(cls, recipe: Recipe, train: Examples, known: FieldEncoders) -> FieldEncoders:
        """Return the shape set in the recipe, and the labels; labels fixed by the format need no pass over the data."""
        data = section_of(recipe)
        shape = data.shape()
        stated: dict[str, Any] = {"picture": VectorShape((shape.channels, shape.height, shape.width))}
        if data.classes is not None:
            stated["labels"] = Labels(data.classes)
        return super().learn_encoders(recipe, train, {**stated, **known})

    @property
    def sizes(self) -> tuple[int, int | None]:
        """Number of channels of a picture, and number of labels."""
        return self.shape.channels, self.encoders["labels"].size

    def fitted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        sides = {"height": self.shape.height, "width": self.shape.width} if self.whole else {}
        return {**arguments, "objects": self.objects, **sides}

    def parse(self, given: Any) -> GlimpseInput:
        """Read a picture from its path, its bytes, its array, or a mapping with one of these.

        Raises:
            TextError: the input is not a picture, or cannot be read.
        """
        if isinstance(given, GlimpseInput):
            return given
        if isinstance(given, Mapping):
            if "picture" not in given:
                raise TextError("the input has no 'picture'; give the path, the bytes or the array of one")
            given = given["picture"]
        if not isinstance(given, str | Path | bytes | np.ndarray):
            raise TextError(f"{type(given).__name__} is no picture; give a path, bytes or an array [H, W] or [H, W, C]")
        name = str(given) if isinstance(given, str | Path) else "picture"
        try:
            source: Source = array_of(given) if name.endswith(".npy") else given
            pixels, note = read_picture(source, self.shape, name=name)
        except DataError as problem:
            raise TextError(str(problem)) from None
        if not self.light_on_dark or not dark_on_light(pixels):
            return GlimpseInput(name, pixels, () if note is None else (note,))
        said = f"{name}: is dark on light and was inverted, for the pictures of the training data are light on dark"
        return GlimpseInput(name, 255 - pixels, (said,) if note is None else (note, said))

    def ask(self, fields: Mapping[str, Any]) -> Any:
        """Return the picture of an example, or its file name, which `parse` opens."""
        given = fields["picture"]
        if isinstance(given, Picture):
            return GlimpseInput("picture", given.pixels, () if given.note is None else (given.note,))
        return given if isinstance(given, str) else GlimpseInput("picture", given)

    def input_warnings(self, model: Any, texts: Sequence[Any]) -> list[str]:
        """Return messages about unusual changes made to the pictures."""
        found: list[str] = []
        for one in texts:
            try:
                found += self.parse(one).notes
            except TextError:
                continue  # the prediction reports the error
        return found

    def targets(self, batch: PictureBatch) -> Tensor:
        """Return the labels [B, objects]; rows with fewer labels are terminated by the end class."""
        missing = self.objects - batch.labels.shape[1]
        label = F.pad(batch.labels, (0, max(missing, 0)), value=IGNORE)[:, : self.objects]
        if self.objects == 1:
            return label
        places, lengths = torch.arange(self.objects, device=label.device), batch.labels_lengths.unsqueeze(1)
        # A row that only pads the batch has no label, and must not be trained to predict the end.
        return label.masked_fill((places == lengths) & (lengths > 0), self.encoders["labels"].size)

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        pictures = batch.view(PictureBatch)
        target = self.targets(pictures)
        samples = model.samples if update is not None and isinstance(model, GlimpseNetwork) else 1
        # Several sampled paths per picture reduce the variance of REINFORCE; the loss is their mean.
        predicted: ModelOutput = model(pictures.picture.repeat_interleave(samples, 0))  # [B * samples, ...]
        target = target.repeat_interleave(samples, 0)
        smoothing = 0.0 if update is None else self.smoothing
        total, nll = token_loss(predicted.logits, target, padding=IGNORE, smoothing=smoothing)
        if isinstance(model, GlimpseNetwork) and predicted.extras.get("log_prob", target).shape[1]:
            total = total + (_location_loss(model, predicted, target) if update is not None else 0.0)
        return Loss(total / samples, nll.detach() / samples, int(batch.tokens))

    def unrolling(self, model: nn.Module) -> Unrolling | None:
        return "steps" if isinstance(model, GlimpseNetwork) else "at once"

    def predict(
        self, model: Any, texts: Sequence[GlimpseInput], search: Search, *, batch: int = 32
    ) -> list[list[Prediction]]:
        found: list[list[Prediction]] = []
        for begin in range(0, len(texts), batch):
            part = texts[begin : begin + batch]
            pixels = torch.from_numpy(np.stack([one.pixels for one in part])).to(device_of(model))
            with torch.inference_mode():
                predicted: ModelOutput = model(pixels.float() / 255.0)
                scores = log_softmax(predicted.logits).cpu()  # [B, objects, V]
            path = predicted.extras.get("locations")
            steps = [()] * len(part) if path is None else [_named(row) for row in path.tolist()]
            found += map(self._answers, part, scores, steps, [search.n_best] * len(part))
        return found

    def _answers(self, asked: GlimpseInput, scores: Tensor, steps: tuple[str, ...], count: int) -> list[Prediction]:
        """Return the n best label sequences by an exact search: positions are independent given the picture."""
        labels = self.encoders["labels"]
        assert isinstance(labels, Labels)
        best: list[tuple[tuple[int, ...], tuple[float, ...]]] = [((), ())]
        for row in scores:
            top = row.topk(min(count + 1, len(row)))
            choices = list(zip(top.indices.tolist(), top.values.tolist(), strict=True))
            found = [one for one in best if labels.size in one[0]]  # finished sequences
            for ids, log_probs in [one for one in best if labels.size not in one[0]]:
                # Every picture has at least one label, so the end class is not allowed first.
                allowed = [one for one in choices if ids or one[0] < labels.size]
                found += [((*ids, index), (*log_probs, value)) for index, value in allowed]
            best = sorted(found, key=lambda one: -sum(one[1]))[:count]
        shares = dict(zip(labels.names, scores[0].exp().tolist(), strict=True)) if self.objects == 1 else None
        return [self._prediction(asked, labels.decode([index for index in ids if index < labels.size]), log_probs,
                                 steps, shares) for ids, log_probs in best]  # fmt: skip

    def _prediction(
        self,
        asked: GlimpseInput,
        said: list[str],
        log_probs: tuple[float, ...],
        steps: tuple[str, ...],
        shares: Mapping[str, float] | None,
    ) -> Prediction:
        return Prediction(
            asked.name, " ".join(said), sum(log_probs), steps, tuple(said), log_probs, labels=tuple(said), scores=shares
        )

    def drawing(self, prediction: Prediction) -> Text | None:
        """Render the path of glimpses as text."""
        steps = prediction.source_tokens
        return Text("\n".join(f"glimpse {number} at {step}" for number, step in enumerate(steps, 1))) if steps else None

    def panels(self, model: Any, text: GlimpseInput, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return a panel of the path of glimpses over the picture."""
        no_head(head)
        if not isinstance(model, GlimpseNetwork):
            raise ValueError("the model reads whole pictures, so there is no path of glimpses to draw")
        (answer,) = self.predict(model, [text], search)[0][:1]
        pixels = torch.from_numpy(text.pixels)
        with torch.inference_mode():
            locations = model(pixels.to(device_of(model)).unsqueeze(0).float() / 255.0).extras["locations"][0]
        retina, title = model.retina, f"{text.name} → {answer.text}"
        return [GlimpsePanel(title, locations.float().cpu(), picture=pixels, size=retina.size, scales=retina.scales)]


def dark_on_light(pixels: NDArray[np.uint8]) -> bool:
    """Return True if the border of a picture is mostly light, like paper.

    >>> paper = np.full((1, 8, 8), 250, np.uint8)
    >>> dark_on_light(paper), dark_on_light(255 - paper)
    (True, False)
    """
    edge = np.concatenate([pixels[:, 0], pixels[:, -1], pixels[:, :, 0], pixels[:, :, -1]], axis=1)
    return bool(np.median(edge) > 127)


def _location_loss(model: GlimpseNetwork, predicted: ModelOutput, target: Tensor) -> Tensor:
    """Return the REINFORCE loss plus the baseline's error, summed over all pictures."""
    log_prob, baseline = predicted.extras["log_prob"], predicted.extras["baseline"]  # [B, drawn]
    drawn, steps = log_prob.shape[1], model.objects * model.glimpses
    right = (predicted.logits.argmax(-1) == target).to(log_prob.dtype)  # [B, objects]; 0 at IGNORE
    future = right.flip(1).cumsum(1).flip(1)  # correct labels from this one on
    # The first location may not be drawn by the policy, so the drawn ones are the last; each belongs to one label.
    owner = torch.arange(steps - drawn, steps, device=target.device) // model.glimpses  # [drawn]
    reward, counts = future[:, owner], (target != IGNORE)[:, owner]  # [B, drawn]
    # Each draw is a sequence of length one. Positions without a target contribute zero to both terms: log_prob is 0,
    # and the baseline equals the reward.
    found = location_loss(
        log_prob.masked_fill(~counts, 0.0).reshape(-1, 1),
        reward.reshape(-1),
        torch.where(counts, baseline, reward).reshape(-1, 1),
        reward_weight=model.reward_weight * drawn,
    )
    return found * len(target)


def _named(path: Sequence[Sequence[float]]) -> tuple[str, ...]:
    return tuple(f"({x:+.2f}, {y:+.2f})" for x, y in path)
