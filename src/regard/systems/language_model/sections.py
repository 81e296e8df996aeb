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
    """Weight of activation regularisation (AR, Merity et al. 2018) in the loss of a token: the mean square of the top
    layer's outputs after dropout. For the model `language_model`."""
    temporal_penalty: float = Field(0.0, ge=0)
    """Weight of temporal activation regularisation (TAR): the mean square of the difference between outputs of
    consecutive steps, before dropout. For the model `language_model`."""


class DynamicSection(Section):
    """Dynamic evaluation: the model is updated on each window after scoring it (Krause et al. 2018)."""

    rule: Literal["rms", "sgd"] = "rms"
    """Update rule: `sgd` is plain gradient descent; `rms` divides each entry of the gradient by its root mean square
    over training windows."""
    rate: float = Field(1e-3, gt=0)
    """Learning rate."""
    decay: float = Field(1e-3, ge=0, le=1)
    """Decay towards the trained weights after each window, as a fraction of the difference."""
    window: int = Field(20, ge=1)
    """Tokens between two updates."""
    epsilon: float = Field(1e-3, gt=0)
    """For `rms`: added to the root mean square."""
    statistics: int = Field(20_000, ge=1)
    """For `rms`: number of training tokens over which the mean squares are computed."""


class LanguageModelEvaluation(Section):
    """Keys of `evaluate` for language models."""

    dynamic: DynamicSection | None = None
    """Dynamic evaluation in addition to the static one, after training and in `regard evaluate`; None disables it."""


class LanguageModelDecoding(Section):
    """Keys of `decode` for language models."""

    generate_unknown: bool = False
    """Allow `<unk>` in generated text."""


class TalesData(GeneratedData):
    """Tales of animals with made-up names, each introduced once and used again later; generated."""

    made: ClassVar[str] = "regard.systems.language_model.tales:Tales"

    format: Literal["tales"]
    """Selects this format."""
    train_size: int = Field(4000, ge=1)
    """Number of training tales."""
    valid_size: int = Field(200, ge=1)
    """Number of validation tales."""
    test_size: int = Field(500, ge=1)
    """Number of test tales; none of them occurs in the training data."""
    names: int = Field(38416, ge=6, le=38416)
    """Number of possible names: with few, each is frequent; with many, almost all test names are unseen."""
    animals: int = Field(3, ge=1, le=6)
    """Number of animals per tale, each with a name."""
    deeds: int = Field(6, ge=1)
    """Number of sentences per tale after the introductions, each with a name."""
    seed: int = 0
    """Seed of the tales; the set of names does not depend on it."""


def check_penalties(recipe: Recipe) -> None:
    """Check that activation penalties are used with a model that returns its activations."""
    train = own_keys(recipe.train, LanguageModelTraining)
    for name in ("activation_penalty", "temporal_penalty"):
        if getattr(train, name) and recipe.model.kind != "language_model":
            raise ValueError(
                f"{name} is for the model 'language_model'; the model is {recipe.model.kind!r}; leave it out"
            )


def check_dynamic(recipe: Recipe) -> None:
    """Check that dynamic evaluation is used with windows of one long text."""
    if own_keys(recipe.evaluate, LanguageModelEvaluation).dynamic is not None and recipe.train.batch.window is None:
        raise ValueError("dynamic needs a text that is read in windows; set train.batch.window, or leave it out")
