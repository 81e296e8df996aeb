"""Run: the folder that holds everything about a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from torch import Tensor, nn

from regard.data.fields.field_encoder import FieldEncoder, encoder_kinds
from regard.recipes.plugins import RECORD, plugin_sources
from regard.recipes.sections import Recipe
from regard.runs.agreement import agree, read_back, recipe_of
from regard.runs.budget import Budget
from regard.runs.checkpoint import Checkpoints
from regard.runs.files import check_file, checksummed_path, read_tensors, write_json, write_tensors
from regard.runs.folder import RunError, has_training_state, model_file
from regard.runs.metrics_log import MetricsLog
from regard.tasks.task import FieldEncoders, task_class
from regard.tensor_mismatch import tensor_mismatch


class Run:
    """`runs/<run>`: the resolved recipe, the tokenizers, the model, checkpoints, metrics, the report.

    Attributes:
        folder: path of the run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def metrics(self) -> MetricsLog:
        """Log of measurements."""
        return MetricsLog(self.folder / "metrics.jsonl")

    def checkpoints(self, *, keep: int = 1, every: int = 1) -> Checkpoints:
        """Return the checkpoints, from which a killed run resumes."""
        return Checkpoints(self.folder / "checkpoints", keep=keep, every=every)

    @property
    def trained(self) -> bool:
        """True if the run has training state that could be lost."""
        return has_training_state(self.folder)

    def agree(self, recipe: Recipe) -> None:
        """Check that the recipe of the run is this one, if the run has training state."""
        agree(self.folder, recipe)

    def begin(self, recipe: Recipe) -> None:
        """Write the resolved recipe, and remove files of an earlier recipe that was never trained.

        Raises:
            RunError: the written recipe does not parse to this one.
        """
        self.agree(recipe)
        if not self.trained:
            for made in (*(f"{kind.FILE}.*" for kind in encoder_kinds()), "budget"):
                for left in self.folder.glob(f"{made}.json"):
                    left.unlink()
        if recipe.plugins:
            write_json(self.folder / RECORD, plugin_sources(recipe.plugins))
        else:
            (self.folder / RECORD).unlink(missing_ok=True)
        with checksummed_path(self.folder / "recipe.yaml") as draft:
            resolved = recipe.model_dump(mode="json")
            draft.write_text(yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True), encoding="utf-8")
        read_back(self.folder, recipe)

    def recipe(self, overrides: list[str] | None = None) -> Recipe:
        """Return the recipe of an existing run, with assignments such as `decode.beam_size=10`.

        The model is not built for a check: its arguments were checked before training.
        """
        return recipe_of(self.folder, overrides, model=False)

    def updates(self, recipe: Recipe) -> int | None:
        """Return the number of updates of a recipe; None if `train.minutes` was not measured yet."""
        train, budget = recipe.train, Budget.of(self.folder)
        if train.minutes is None:
            return train.updates
        return None if budget is None else budget.within(train.minutes)

    def save_encoders(self, encoders: FieldEncoders) -> None:
        """Write the encoders of all fields: `tokenizer.source.json`, `labels.tags.json`."""
        for name, encoder in encoders.items():
            with checksummed_path(self.folder / f"{encoder.FILE}.{name}.json") as draft:
                encoder.save(draft)

    def encoders(self, recipe: Recipe | None = None) -> FieldEncoders | None:
        """Return the encoders of an existing run; None before they are learned.

        Args:
            recipe: recipe of the run; None to read it.
        """
        if recipe is None:
            if not (self.folder / "recipe.yaml").exists():
                return None
            recipe = recipe_of(self.folder, model=False)
        found = dict[str, FieldEncoder]()
        wanted = task_class(recipe.task).encoder_fields(recipe)
        if not wanted and not self.trained:
            return None
        for name in wanted:
            kept = {kind: self.folder / f"{kind.FILE}.{name}.json" for kind in encoder_kinds()}
            there = next((kind for kind, path in kept.items() if path.exists()), None)
            if there is None:
                return None
            check_file(kept[there])
            found[name] = there.load(kept[there])
        return found

    def needed_encoders(self, recipe: Recipe | None = None) -> FieldEncoders:
        """Return the encoders of an existing run.

        Raises:
            RunError: it has none yet.
        """
        found = self.encoders(recipe)
        if found is None:
            raise RunError(f"{self.folder} has no tokenizers yet; train it first: regard train")
        return found

    def save_model(self, tensors: dict[str, Any]) -> None:
        """Write the weights of the best model so far."""
        write_tensors(self.folder / "model.safetensors", tensors, record=True)

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights of the best model, by name."""
        return read_tensors(model_file(self.folder))

    def load_model(self, model: nn.Module) -> None:
        """Load the weights of the best model."""
        learned = self.tensors()
        if (wrong := tensor_mismatch(learned, model.state_dict())) is not None:
            path = self.folder / "model.safetensors"
            raise RunError(f"{path}: {wrong}; give it the recipe and data like those it was trained on")
        model.load_state_dict(learned)
