"""A run: the folder that holds all that it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from torch import Tensor, nn

from regard.data.label_sets import LabelSets
from regard.data.labels import Labels
from regard.data.numbers import Numbers
from regard.data.tokenizer import Tokenizer
from regard.recipes.plugins import RECORD, described
from regard.recipes.sections import Recipe
from regard.runs.agreement import agree, read_back, recipe_of
from regard.runs.budget import Budget
from regard.runs.checkpoint import Checkpoints
from regard.runs.files import check_file, read_tensors, recorded, write_json, write_tensors
from regard.runs.folder import RunError, model_file, task_of, trained
from regard.runs.metrics_log import MetricsLog
from regard.tasks.registry import task_class
from regard.tasks.task import Encoders
from regard.tensor_fit import misfit

_ENCODERS: tuple[type[Tokenizer | Labels | Numbers], ...] = (Tokenizer, Labels, LabelSets, Numbers)
"""Encoders of fields; each kind is kept in files of its own name."""


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

    @property
    def trained(self) -> bool:
        """Whether there is anything in it that would be lost."""
        return trained(self.folder)

    def agree(self, recipe: Recipe) -> None:
        """See that the recipe of the run is this one, if anything was trained by it."""
        agree(self.folder, recipe)

    def begin(self, recipe: Recipe) -> None:
        """Write the resolved recipe, and remove what an earlier one left that was never trained.

        Raises:
            RunError: the recipe that was written is not read back as this one.
        """
        self.agree(recipe)
        if not self.trained:
            for made in (*(f"{kind.FILE}.*" for kind in _ENCODERS), "budget"):
                for left in self.folder.glob(f"{made}.json"):
                    left.unlink()
        if recipe.plugins:
            write_json(self.folder / RECORD, described(recipe.plugins))
        else:
            (self.folder / RECORD).unlink(missing_ok=True)
        with recorded(self.folder / "recipe.yaml") as draft:
            resolved = recipe.model_dump(mode="json")
            draft.write_text(yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True), encoding="utf-8")
        read_back(self.folder, recipe)

    def recipe(self, overrides: list[str] | None = None) -> Recipe:
        """The recipe of an existing run, with assignments such as `decode.beam_size=10`."""
        return recipe_of(self.folder, overrides)

    def updates(self, recipe: Recipe) -> int | None:
        """How many updates a recipe makes here; None where `train.minutes` says how long, and none was made yet."""
        train, budget = recipe.train, Budget.of(self.folder)
        if train.minutes is None:
            return train.updates
        return None if budget is None else budget.within(train.minutes)

    def save_encoders(self, encoders: Encoders) -> None:
        """Write what turns text into ids: `tokenizer.source.json`, `labels.tags.json`."""
        for name, encoder in encoders.items():
            with recorded(self.folder / f"{encoder.FILE}.{name}.json") as draft:
                encoder.save(draft)

    def encoders(self) -> Encoders | None:
        """Return the encoders of an existing run; None before they are made."""
        found: dict[str, Tokenizer | Labels | Numbers] = {}
        made = task_class(task_of(self.folder)) if (self.folder / "recipe.yaml").exists() else None
        if made is None:
            return None
        if not made.encoded:
            return found if self.trained else None
        for name in made.encoder_fields():
            kept = {kind: self.folder / f"{kind.FILE}.{name}.json" for kind in _ENCODERS}
            there = next((kind for kind, path in kept.items() if path.exists()), None)
            if there is None and name in made.beside:
                continue
            if there is None:
                return None
            check_file(kept[there])
            found[name] = there.load(kept[there])
        return found

    def needed_encoders(self) -> Encoders:
        """Return the encoders of an existing run.

        Raises:
            RunError: it has none yet.
        """
        found = self.encoders()
        if found is None:
            raise RunError(f"{self.folder} has no tokenizers yet; train it first: regard train")
        return found

    def save_model(self, tensors: dict[str, Any]) -> None:
        """Write the best model so far."""
        write_tensors(self.folder / "model.safetensors", tensors, record=True)

    def tensors(self) -> dict[str, Tensor]:
        """The best model's weights, by name."""
        return read_tensors(model_file(self.folder))

    def load_model(self, model: nn.Module) -> None:
        """Read the best model."""
        learned = self.tensors()
        if (wrong := misfit(learned, model.state_dict())) is not None:
            path = self.folder / "model.safetensors"
            raise RunError(f"{path}: {wrong}; give it the recipe and data like those it was trained on")
        model.load_state_dict(learned)
