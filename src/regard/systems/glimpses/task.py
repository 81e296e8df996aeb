"""Labels of pictures: the loss of networks that look at them, and their answers."""

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

_WHOLE = ("fully_connected", "convolutional")  # models that are made for one size of picture


@dataclass(frozen=True)
class PictureBatch:
    """Pictures and their labels."""

    picture: Tensor  # [B, C, H, W]
    labels: Tensor  # [B, N]
    labels_lengths: Tensor  # [B]


class GlimpseInput(NamedTuple):
    """An input of `predict`.

    Attributes:
        name: of its file, or "picture".
        pixels: uint8 [C, H, W].
        notes: sentences about what was changed.
    """

    name: str
    pixels: NDArray[np.uint8]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Glimpses(Task):
    """Labels of pictures. The loss of a glimpse network is hybrid: cross-entropy, REINFORCE and the baseline's error.

    The reward of a location is the number of right labels from the next one on.

    Attributes:
        encoders: the shape of "picture" and the labels of "labels".
        shape: that pictures of `predict` are brought to.
        objects: the most labels of a picture.
        light_on_dark: whether a picture of `predict` that is dark on light is inverted.
        whole: whether the model is made for one size of picture.
        smoothing: of the labels.
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
        """Return the shape that the recipe names, and the labels; those that a format fixes need no pass over it."""
        data = section_of(recipe)
        shape = data.shape()
        stated: dict[str, Any] = {"picture": VectorShape((shape.channels, shape.height, shape.width))}
        if data.classes is not None:
            stated["labels"] = Labels(data.classes)
        return super().learn_encoders(recipe, train, {**stated, **known})

    @property
    def sizes(self) -> tuple[int, int | None]:
        """Channels of a picture, and number of labels."""
        return self.shape.channels, self.encoders["labels"].size

    def fitted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        sides = {"height": self.shape.height, "width": self.shape.width} if self.whole else {}
        return {**arguments, "objects": self.objects, **sides}

    def parse(self, given: Any) -> GlimpseInput:
        """Return a picture: from its path, its bytes, its array, or a mapping with one of these.

        Raises:
            TextError: it is none, or cannot be read.
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
        """Return the picture of an example; of a table of names, the name, which `parse` opens."""
        given = fields["picture"]
        if isinstance(given, Picture):
            return GlimpseInput("picture", given.pixels, () if given.note is None else (given.note,))
        return given if isinstance(given, str) else GlimpseInput("picture", given)

    def input_warnings(self, model: Any, texts: Sequence[Any]) -> list[str]:
        """Return what was done to pictures beyond the usual."""
        found: list[str] = []
        for one in texts:
            try:
                found += self.parse(one).notes
            except TextError:
                continue  # the answer says what is wrong
        return found

    def targets(self, batch: PictureBatch) -> Tensor:
        """Return the labels [B, objects], with the class of the end behind fewer labels than there may be."""
        missing = self.objects - batch.labels.shape[1]
        label = F.pad(batch.labels, (0, max(missing, 0)), value=IGNORE)[:, : self.objects]
        if self.objects == 1:
            return label
        places, lengths = torch.arange(self.objects, device=label.device), batch.labels_lengths.unsqueeze(1)
        # A row that fills up a batch has no label, and so no end.
        return label.masked_fill((places == lengths) & (lengths > 0), self.encoders["labels"].size)

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        pictures = batch.view(PictureBatch)
        target = self.targets(pictures)
        samples = model.samples if update is not None and isinstance(model, GlimpseNetwork) else 1
        predicted: ModelOutput = model(pictures.picture.repeat_interleave(samples, 0))
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
        """Return the n best sequences of labels: places are independent, so that the best of each are all it takes."""
        labels = self.encoders["labels"]
        assert isinstance(labels, Labels)
        best: list[tuple[tuple[int, ...], tuple[float, ...]]] = [((), ())]
        for row in scores:
            top = row.topk(min(count + 1, len(row)))
            choices = list(zip(top.indices.tolist(), top.values.tolist(), strict=True))
            found = [one for one in best if labels.size in one[0]]  # these have ended
            for ids, log_probs in [one for one in best if labels.size not in one[0]]:
                # A picture has a label: the end does not come first.
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
        """Return the path of glimpses in words."""
        steps = prediction.source_tokens
        return Text("\n".join(f"glimpse {number} at {step}" for number, step in enumerate(steps, 1))) if steps else None

    def panels(self, model: Any, text: GlimpseInput, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return the path of glimpses over the picture."""
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
    """Return whether the edge of a picture is mostly light, as paper is.

    >>> paper = np.full((1, 8, 8), 250, np.uint8)
    >>> dark_on_light(paper), dark_on_light(255 - paper)
    (True, False)
    """
    edge = np.concatenate([pixels[:, 0], pixels[:, -1], pixels[:, :, 0], pixels[:, :, -1]], axis=1)
    return bool(np.median(edge) > 127)


def _location_loss(model: GlimpseNetwork, predicted: ModelOutput, target: Tensor) -> Tensor:
    """Sum of REINFORCE and the error of the baseline over all pictures."""
    log_prob, baseline = predicted.extras["log_prob"], predicted.extras["baseline"]  # [B, drawn]
    drawn, steps = log_prob.shape[1], model.objects * model.glimpses
    right = (predicted.logits.argmax(-1) == target).to(log_prob.dtype)  # [B, objects]; of what is IGNORE, 0
    future = right.flip(1).cumsum(1).flip(1)  # right labels from this one on
    owner = torch.arange(steps - drawn, steps, device=target.device) // model.glimpses
    reward, counts = future[:, owner], (target != IGNORE)[:, owner]  # [B, drawn]
    # Each draw counts as a sequence of its own. Where there is nothing to say, the term of both sums is zero.
    found = location_loss(
        log_prob.masked_fill(~counts, 0.0).reshape(-1, 1),
        reward.reshape(-1),
        torch.where(counts, baseline, reward).reshape(-1, 1),
        reward_weight=model.reward_weight * drawn,
    )
    return found * len(target)


def _named(path: Sequence[Sequence[float]]) -> tuple[str, ...]:
    return tuple(f"({x:+.2f}, {y:+.2f})" for x, y in path)
