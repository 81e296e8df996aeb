"""Recipe sections of language models, with cross-checks: generated data, keys of `train`, `decode` and `evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import GeneratedData
from regard.recipes.section import Section, own_keys

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


class LanguageModelTraining(Section):
    """Keys of `train` for language models."""

    activation_penalty: float = Field(0.0, ge=0)
    """Weight of the mean square of the dropped outputs of the top layer in the loss of a token (activation
    regularisation, AR, Merity et al. 2018); for the model `language_model`."""
    temporal_penalty: float = Field(0.0, ge=0)
    """Weight of the mean square of the change of these outputs, undropped, from step to step (temporal activation
    regularisation, TAR); for the model `language_model`."""


class DynamicSection(Section):
    """Dynamic evaluation: after each window the model learns from what it was measured on (Krause et al. 2018)."""

    rule: Literal["rms", "sgd"] = "rms"
    """`sgd` follows the gradient; `rms` divides each of its entries by its root mean square over training windows."""
    rate: float = Field(1e-3, gt=0)
    """Learning rate."""
    decay: float = Field(1e-3, ge=0, le=1)
    """Share of the way back to the trained weights after each window."""
    window: int = Field(20, ge=1)
    """Tokens between two updates."""
    epsilon: float = Field(1e-3, gt=0)
    """For `rms`: added to the root mean square."""
    statistics: int = Field(20_000, ge=1)
    """For `rms`: tokens of the training split that the mean squares are taken over."""


class LanguageModelEvaluation(Section):
    """Keys of `evaluate` for language models."""

    dynamic: DynamicSection | None = None
    """Dynamic evaluation beside the static one, after training and in `regard evaluate`; None for none."""


class LanguageModelDecoding(Section):
    """Keys of `decode` for language models."""

    generate_unknown: bool = False
    """Allow `<unk>` in generated text."""


class TalesData(GeneratedData):
    """Tales of animals with made-up names, each given once and used again; generated."""

    made: ClassVar[str] = "regard.systems.language_model.tales:Tales"

    format: Literal["tales"]
    """Selects this format."""
    train_size: int = Field(4000, ge=1)
    """Number of tales to train on."""
    valid_size: int = Field(200, ge=1)
    """Number of tales to validate on."""
    test_size: int = Field(500, ge=1)
    """Number of tales to test on; training has none of them."""
    names: int = Field(38416, ge=6, le=38416)
    """Number of names: with few, each is frequent; with many, almost all are new."""
    animals: int = Field(3, ge=1, le=6)
    """Number of animals in a tale, each with a name."""
    deeds: int = Field(6, ge=1)
    """Number of sentences after the introduction, each with a name."""
    seed: int = 0
    """Seed of the tales; names are fixed."""


def check_penalties(recipe: Recipe) -> None:
    """Check that penalties of activations are used with a model that returns its activations."""
    train = own_keys(recipe.train, LanguageModelTraining)
    for name in ("activation_penalty", "temporal_penalty"):
        if getattr(train, name) and recipe.model.kind != "language_model":
            raise ValueError(
                f"{name} is for the model 'language_model'; the model is {recipe.model.kind!r}; leave it out"
            )


def check_dynamic(recipe: Recipe) -> None:
    """Check that dynamic evaluation is used with one long text."""
    if own_keys(recipe.evaluate, LanguageModelEvaluation).dynamic is not None and recipe.train.batch.window is None:
        raise ValueError("dynamic needs a text that is read in windows; set train.batch.window, or leave it out")
