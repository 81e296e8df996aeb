"""A run: the folder that holds all that it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from torch import nn

from regard.data.tokenizer import Tokenizer
from regard.models.build import build
from regard.recipes.document import Document
from regard.recipes.load import check
from regard.recipes.sections import Recipe
from regard.tasks.exposure import Exposure, ScheduledSampling
from regard.tasks.translation import Translation
from regard.train.checkpoint import Checkpoints
from regard.train.files import read_tensors, write_tensors, written
from regard.train.metrics_log import MetricsLog


class RunError(ValueError):
    """A run folder that cannot be used; the sentence says why and what to do."""


class Run:
    """`runs/<run>`: the resolved recipe, the tokenizers, the model, checkpoints, metrics, the report.

    Attributes:
        folder: where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def metrics(self) -> MetricsLog:
        """What was measured."""
        return MetricsLog(self.folder / "metrics.jsonl")

    def checkpoints(self, *, keep: int = 1, every: int = 1) -> Checkpoints:
        """Where a killed run goes on."""
        return Checkpoints(self.folder / "checkpoints", keep=keep, every=every)

    def begin(self, recipe: Recipe) -> None:
        """Write the resolved recipe, or see that the one there is the same."""
        path = self.folder / "recipe.yaml"
        resolved = recipe.model_dump(mode="json")
        if path.exists():
            there = Document.read(path).content
            changed = sorted(difference(there, resolved))
            if changed:
                raise RunError(
                    f"{self.folder} holds a run of another recipe (different: {', '.join(changed)}); "
                    "give this one another name with run=NAME, or remove the folder"
                )
            return
        with written(path) as draft:
            draft.write_text(yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True), encoding="utf-8")

    def recipe(self, overrides: list[str] | None = None) -> Recipe:
        """The recipe of an existing run, with assignments such as `decode.beam_size=10`."""
        path = self.folder / "recipe.yaml"
        if not path.exists():
            raise RunError(f"{self.folder} is not a run: it has no recipe.yaml; `regard train` makes one")
        return check(Document.read(path).overridden(overrides or [])).recipe

    def save_tokenizers(self, source: Tokenizer, target: Tokenizer) -> None:
        """Write what turns text into ids."""
        for name, tokenizer in (("source", source), ("target", target)):
            with written(self.folder / f"tokenizer.{name}.json") as draft:
                tokenizer.save(draft)

    def tokenizers(self) -> tuple[Tokenizer, Tokenizer] | None:
        """The tokenizers of an existing run; None before they are made."""
        paths = [self.folder / f"tokenizer.{name}.json" for name in ("source", "target")]
        if not all(path.exists() for path in paths):
            return None
        return Tokenizer.load(paths[0]), Tokenizer.load(paths[1])

    def save_model(self, tensors: dict[str, Any]) -> None:
        """Write the best model so far."""
        write_tensors(self.folder / "model.safetensors", tensors)

    def load_model(self, model: nn.Module) -> None:
        """Read the best model."""
        path = self.folder / "model.safetensors"
        if not path.exists():
            raise RunError(f"{self.folder} has no model.safetensors yet; train it first: regard train")
        model.load_state_dict(read_tensors(path))


def make_model(recipe: Recipe, source: Tokenizer, target: Tokenizer) -> nn.Module:
    """The model of a recipe, with fresh parameters."""
    arguments = dict(recipe.model)
    return build(arguments.pop("kind"), source.size, target.size, **arguments)


def make_task(recipe: Recipe, source: Tokenizer, target: Tokenizer) -> Translation:
    """What the model is trained for."""
    given = recipe.train.exposure
    sampling = None if given.sampling is None else ScheduledSampling(**given.sampling.model_dump())
    exposure = Exposure(sampling, given.word_dropout, given.corruption)
    return Translation(source, target, recipe.train.label_smoothing, exposure)


def difference(one: dict[str, Any], other: dict[str, Any], prefix: str = "") -> set[str]:
    """The keys whose values differ; how long a run goes and what it is called may."""
    free = {"train.steps", "run", "train.log_every", "train.valid_every", "train.checkpoint_every", "evaluate.examples"}
    found: set[str] = set()
    for key in one.keys() | other.keys():
        name = f"{prefix}{key}"
        mine, theirs = one.get(key), other.get(key)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            found |= difference(mine, theirs, f"{name}.")
        elif mine != theirs and name not in free:
            found.add(name)
    return found
