"""A trained run, ready to answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import compress
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.decode.search import Search
from regard.evaluate.nearest import unknown
from regard.recipes.sections import Recipe
from regard.tasks.prediction import Prediction
from regard.tasks.task import Task
from regard.train.run import Run
from regard.train.setup import make_model, make_task


@dataclass(frozen=True, repr=False)
class Predictor:
    """The model of a run with its tokenizers, labels and search; in evaluation mode.

    Attributes:
        run: the folder it came from.
        recipe: what it was trained by.
        model: the best model, or the average of the last checkpoints, as the recipe says.
        task: how it answers.
        search: how answers are looked for, unless a call says otherwise.
    """

    run: Run
    recipe: Recipe
    model: nn.Module
    task: Task
    search: Search

    def __repr__(self) -> str:
        count = sum(parameter.numel() for parameter in self.model.parameters())
        return f"Predictor({self.run.folder}, {self.recipe.task}, {count:,} parameters)"

    def predict(self, texts: str | Sequence[str], **settings: Any) -> list[Prediction]:
        """The best answer to each text; an empty text has an empty answer, unless a language model goes on from it.

        Args:
            texts: one text or several.
            settings: fields of `Search` that differ from the recipe: `strategy="beam"`, `beam_size=10`.
        """
        return [answers[0] for answers in self.n_best(texts, 1, **settings)]

    def n_best(self, texts: str | Sequence[str], n: int, **settings: Any) -> list[list[Prediction]]:
        """Up to `n` answers to each text, best first."""
        asked = _asked(texts)
        search = self._search(n, settings)
        says = [self.task.answer is None or bool(text.strip()) for text in asked]
        found = iter(self.task.predict(self.model, list(compress(asked, says)), search))
        return [next(found) if one else [_nothing(text)] for text, one in zip(asked, says, strict=True)]

    def _search(self, n: int, settings: dict[str, Any]) -> Search:
        """The recipe's, with what a call says; labels and tags are ranked, not searched for."""
        known = [field.name for field in fields(Search)]
        for name in settings:
            if name not in known:
                raise unknown("predict", "setting", name, known)
        if self.task.unit == "token":
            return replace(self.search, **{"n_best": n, **settings})
        if settings:
            raise ValueError(
                f"predict: {next(iter(settings))} is of a search for texts; each {self.task.unit} is ranked"
            )
        return replace(self.search, n_best=n, beam_size=max(n, self.search.beam_size))


def load(
    path: str | Path, *, device: str | torch.device | None = None, overrides: list[str] | None = None
) -> Predictor:
    """The model of a run, to be asked.

    Args:
        path: the run's folder, `runs/dates`.
        device: where it computes; None for a GPU if there is one.
        overrides: of its recipe: `["decode.beam_size=10"]`.

    Raises:
        RunError: not a run, or one that has no model yet.

    Example: `regard.load("runs/dates").predict("3 mars 2021")[0].text` is `'2021-03-03'`.
    """
    run = Run(Path(path))
    recipe = run.recipe(overrides)
    task = make_task(recipe, run.needed_encoders(recipe.task))
    model = make_model(recipe, task)
    run.load_model(model)
    model.to(device or _best_device()).eval()
    return Predictor(run, recipe, model, task, recipe.search())


def _best_device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _asked(texts: object) -> list[str]:
    """One text or several as a list."""
    asked: list[Any] = list(texts) if isinstance(texts, Iterable) and not isinstance(texts, str) else [texts]
    for one in asked:
        if not isinstance(one, str):
            raise ValueError(f"predict: {one!r} is not a text; give a string or a list of strings")
    return asked


def _nothing(text: str) -> Prediction:
    """The answer to nothing."""
    return Prediction(text, "", 0.0, source_tokens=(), tokens=(), log_probs=())
