"""A run: the folder that holds all that it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from torch import Tensor, nn

from regard.data.labels import Labels
from regard.data.tokenizer import Tokenizer
from regard.recipes.document import Document
from regard.recipes.load import check
from regard.recipes.sections import Recipe
from regard.runs.budget import Budget
from regard.runs.checkpoint import Checkpoints
from regard.runs.files import read_tensors, write_tensors, written
from regard.runs.folder import RunError, check_task, recipe_file
from regard.runs.metrics_log import MetricsLog
from regard.tasks.kinds import TASKS
from regard.tasks.task import Encoders


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
        return (self.folder / "model.safetensors").exists() or bool(self.checkpoints().paths())

    def agree(self, recipe: Recipe) -> None:
        """See that the recipe of the run is this one, if anything was trained by it."""
        path = self.folder / "recipe.yaml"
        if not path.exists() or not self.trained:
            return
        changed = sorted(difference(self.recipe().model_dump(mode="json"), recipe.model_dump(mode="json")))
        if changed:
            raise RunError(
                f"{self.folder} holds a run of another recipe (different: {', '.join(changed)}); "
                "give this one another name with run=NAME, or remove the folder"
            )

    def begin(self, recipe: Recipe) -> None:
        """Write the resolved recipe; what an earlier one left that was never trained is forgotten."""
        self.agree(recipe)
        if not self.trained:
            for made in ("tokenizer.*", "labels.*", "budget"):
                for left in self.folder.glob(f"{made}.json"):
                    left.unlink()
        with written(self.folder / "recipe.yaml") as draft:
            resolved = recipe.model_dump(mode="json")
            draft.write_text(yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True), encoding="utf-8")

    def recipe(self, overrides: list[str] | None = None) -> Recipe:
        """The recipe of an existing run, with assignments such as `decode.beam_size=10`."""
        document = Document.read(recipe_file(self.folder))
        _add_earlier_defaults(document.content)
        return check(document.overridden(overrides or [])).recipe

    def updates(self, recipe: Recipe) -> int | None:
        """How many updates a recipe makes here; None where `train.minutes` says how long, and none was made yet."""
        train, budget = recipe.train, Budget.of(self.folder)
        if train.minutes is None:
            return train.updates
        return None if budget is None else budget.within(train.minutes)

    def save_encoders(self, encoders: Encoders) -> None:
        """Write what turns text into ids: `tokenizer.source.json`, `labels.tags.json`."""
        for name, encoder in encoders.items():
            kind = "labels" if isinstance(encoder, Labels) else "tokenizer"
            with written(self.folder / f"{kind}.{name}.json") as draft:
                encoder.save(draft)

    def encoders(self, task: str) -> Encoders | None:
        """What an existing run turns text into ids by; None before it is made."""
        found: dict[str, Tokenizer | Labels] = {}
        if not TASKS[task].encoded:
            return found if self.trained else None
        made = TASKS[task]
        for name in (made.context, made.question, made.answer):
            if name is None or name in made.plain:
                continue
            tokenizer, labels = (self.folder / f"{kind}.{name}.json" for kind in ("tokenizer", "labels"))
            if tokenizer.exists():
                found[name] = Tokenizer.load(tokenizer)
            elif labels.exists():
                found[name] = Labels.load(labels)
            else:
                return None
        return found

    def needed_encoders(self, task: str) -> Encoders:
        """What an existing run of this task turns text into ids by."""
        check_task(self.folder, task)
        found = self.encoders(task)
        if found is None:
            raise RunError(f"{self.folder} has no tokenizers yet; train it first: regard train")
        return found

    def save_model(self, tensors: dict[str, Any]) -> None:
        """Write the best model so far."""
        write_tensors(self.folder / "model.safetensors", tensors)

    def tensors(self) -> dict[str, Tensor]:
        """The best model's weights, by name."""
        path = self.folder / "model.safetensors"
        if not path.exists():
            raise RunError(f"{self.folder} has no model.safetensors yet; train it first: regard train")
        return read_tensors(path)

    def load_model(self, model: nn.Module) -> None:
        """Read the best model."""
        learned, own = self.tensors(), model.state_dict()
        for name, tensor in learned.items():
            if name in own and own[name].shape != tensor.shape:
                shapes = f"{list(tensor.shape)}, and the data asks for {list(own[name].shape)}"
                raise RunError(f"{name} of {self.folder} is {shapes}; give it data like those it was trained on")
        model.load_state_dict(learned)


BEGINNING = re.compile(r"tokenizer(\.target)?\.split|model\.(\w+\.)*scale")
"""Keys that count until a run has its tokenizers and weights, and never after; null goes on with what the run has."""
FREE = re.compile(
    r"run|decode(\..*)?|evaluate\.(metrics|group|rows|examples)(\..*)?"
    r"|train\.(steps|minutes|log_every|valid_every|checkpoint_every|graphs|gradient_checkpointing|sharding|trackers)"
)
"""Keys that a run may go on with other values of: they change nothing that is learned."""


def _add_earlier_defaults(content: dict[str, Any]) -> None:
    """Give the recipe of a run, which has all keys of its time, those that came later with what was done before."""
    section = content.get("tokenizer")
    for part in (section, section.get("target")) if isinstance(section, dict) else ():
        if isinstance(part, dict) and part.get("kind") == "words":
            part.setdefault("split", "whitespace")


def difference(one: dict[str, Any], other: dict[str, Any], prefix: str = "") -> set[str]:
    """The keys whose values differ, but for those that may."""
    found: set[str] = set()
    for key in one.keys() | other.keys():
        name = f"{prefix}{key}"
        mine, theirs = one.get(key), other.get(key)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            found |= difference(mine, theirs, f"{name}.")
        elif mine != theirs and not FREE.fullmatch(name) and not (theirs is None and BEGINNING.fullmatch(name)):
            found.add(name)
    return found
