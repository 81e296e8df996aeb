"""Warnings before and during training: suspicious texts, unknown tokens, and failed learning."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.data.fields.labels import Labels
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import DataError
from regard.recipes.sections import Recipe
from regard.specials import IGNORE, UNK
from regard.tasks.measurement import Measurement
from regard.tasks.setup import Setup
from regard.tasks.splits import Split
from regard.tasks.task import FieldEncoders

LONG = 10_000
"""Number of characters of a suspiciously long text."""
_CHECKED = 10_000  # maximum number of checked examples per split, so that large data do not delay training
_MANY_UNKNOWN = 0.5
_X86 = ("x86_64", "AMD64")
_DIVERGED = 1e6  # loss from which messages print it with an exponent
_MESSAGES = {
    "zero": "has a NUL byte, which no text has; is it another kind of file, or UTF-16 (data.encoding)?",
    "long": f"has more than {LONG:,} characters, which makes its batch slow and large; is a line end missing? "
    "train.batch.tokens bounds a batch",
}


def before_training(recipe: Recipe, setup: Setup, model: nn.Module) -> Iterator[str]:
    """Yield warnings about the data of a run: bad lines, files, the task's own, unknown tokens, suspicious texts."""
    splits = {"train": setup.train, "valid": setup.valid, "test": setup.test}
    yield from slow_precision(recipe)
    yield from setup.skipped()
    yield from setup.file_notes()
    yield from setup.task.data_warnings(model, setup.train.encoded)
    yield from unknown_tokens(splits, setup.task.encoders, recipe.init)
    yield from unknown_labels(splits, setup.task.encoders)
    yield from odd_texts(splits, windows=recipe.train.batch.window is not None)


def slow_precision(recipe: Recipe) -> Iterator[str]:
    """Yield a warning if bfloat16 is requested on a CPU that emulates it."""
    if recipe.train.precision != "bfloat16" or torch.accelerator.is_available() or platform.machine() not in _X86:
        return
    if not (torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()):
        yield "this CPU has no instructions for bfloat16, which is slower than float32 here; leave train.precision out"


def unknown_labels(splits: Mapping[str, Split | None], encoders: FieldEncoders) -> Iterator[str]:
    """Yield a warning for each split with labels or tags that the training data lacks.

    Args:
        splits: by name, each as ids.
        encoders: of the run.
    """
    for name, split in splits.items():
        for field_name, encoder in encoders.items():
            if split is None or split.encoded is None or not isinstance(encoder, Labels):
                continue
            ids = split.encoded.ids(field_name)
            count = int(np.count_nonzero(ids == IGNORE))
            problem = _first_unknown(split, field_name, encoder) if count else None
            if problem is not None:
                yield (
                    f"labels of {name} ({field_name}) that cannot be predicted, and count as errors: {count:,} of "
                    f"{len(ids):,}, first {problem}"
                )


def _first_unknown(split: Split, field_name: str, labels: Labels) -> str | None:
    for example in split.examples:
        try:
            labels.encode(example.fields[field_name])
        except DataError as problem:
            return f"{example.where}: {problem}"
    return None


def unknown_tokens(
    splits: Mapping[str, Split | None], encoders: FieldEncoders, pretrained: Path | None
) -> Iterator[str]:
    """Yield a warning for each field of a split with more than half of its tokens unknown to the tokenizer.

    Args:
        splits: by name, each as ids.
        encoders: of the run.
        pretrained: run of the tokenizers; None if they were learned from the training split.
    """
    whose = "the tokenizer" if pretrained is None else f"the tokenizer of {pretrained}"
    for name, split in splits.items():
        for field_name, encoder in encoders.items():
            if split is None or split.encoded is None or not isinstance(encoder, Tokenizer):
                continue
            ids = split.encoded.ids(field_name)
            share = float(np.count_nonzero(ids == UNK)) / max(len(ids), 1)
            if share > _MANY_UNKNOWN:
                what = f"{share:.0%} of the tokens of {name} ({field_name})"
                yield f"{what} are unknown to {whose}; {_unknown_advice(name, encoder, pretrained)}"


def odd_texts(splits: Mapping[str, Split | None], *, windows: bool) -> Iterator[str]:
    """Yield a warning for each kind of suspicious text per split, with the position of the first one.

    Args:
        splits: by name.
        windows: True if texts are split into windows, so that their length does not matter.
    """
    for name, split in splits.items():
        if split is None or split.encoded is None:
            continue
        found: dict[str, str] = {}
        for example in islice(split.examples, _CHECKED):
            for kind in _oddities(example.fields, windows=windows):
                found.setdefault(kind, example.where)
        for kind, where in found.items():
            yield f"{name}: {where} {_MESSAGES[kind]}"


@dataclass
class ValidationWarnings:
    """Warnings after a validation: a loss no better than unigram frequencies, overfitting, or flat attention.

    Attributes:
        unigram_loss: loss of a model that knows only the frequency of each token, in nats.
        given: kinds of warnings already issued; each is issued once.
    """

    unigram_loss: float
    given: set[str] = field(default_factory=set)

    def after(self, step: int, steps: int, measured: Measurement, train_loss: float | None = None) -> list[str]:
        """Return the new warnings after a validation; none in the first tenth of a run.

        Args:
            step: updates so far.
            steps: total number of updates.
            measured: result of the validation.
            train_loss: loss on the training data; None if unknown.
        """
        if step * 10 < steps:
            return []
        found = {}
        if measured.loss > 0.95 * self.unigram_loss:
            overfitted = train_loss is not None and train_loss < 0.5 * measured.loss
            found["loss"] = _overfitting(measured, train_loss) if overfitted else self._no_learning(measured)
        if measured.flatness is not None and measured.flatness > 0.95:
            found["flat"] = (
                f"attention is flat ({measured.flatness:.0%} of the entropy of uniform weights): the model has not "
                "learned where to look; train longer, or try a larger learning rate or another score"
            )
        new = {kind: message for kind, message in found.items() if kind not in self.given}
        self.given.update(new)
        return list(new.values())

    def _no_learning(self, measured: Measurement) -> str:
        loss = f"{measured.loss:.2f}" if measured.loss < _DIVERGED else f"{measured.loss:.3g}"
        return (
            f"the loss {loss} is not clearly below the unigram loss {self.unigram_loss:.2f}: the model knows at most "
            "the frequency of each token; try another learning rate, and check that inputs and targets match"
        )


def _overfitting(measured: Measurement, train_loss: float | None) -> str:
    return (
        f"the model overfits: its loss is {train_loss:.2f} on training data and {measured.loss:.2f} in validation; try "
        "more dropout, a smaller model, fewer steps or more data"
    )


def _unknown_advice(name: str, tokenizer: Tokenizer, pretrained: Path | None) -> str:
    if pretrained is not None:
        return "begin with a run that has read such texts, or leave init out"
    if name != "train":
        return "check that these texts are like those of train"
    rarer = "lower tokenizer.min_frequency, raise tokenizer.size"
    return rarer if tokenizer.kind == "characters" else f"{rarer}, or cut words in pieces (tokenizer.kind=bpe)"


def _oddities(fields: Mapping[str, Any], *, windows: bool) -> Iterator[str]:
    for value in fields.values():
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            continue  # an array or a recording, not a text
        if any("\0" in text for text in texts):
            yield "zero"
        if not windows and sum(map(len, texts)) > LONG:
            yield "long"
