"""Predictor: a trained run in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.decode.constraint import ConstrainedModel, Trie
from regard.decode.generation import Engine
from regard.decode.search import Search
from regard.deferred import replaced
from regard.engines import make_engine
from regard.evaluate.texts import unknown
from regard.explain.panel import HeadsPanel, Panel
from regard.explain.parts import parts
from regard.explain.recurrent import recurrent_reads, state_panels
from regard.nn.cpu_decode.int8 import Compute
from regard.nn.cpu_decode.pack import packed_copy
from regard.protocol import device_of
from regard.recipes.sections import Recipe
from regard.runs.folder import RunError, check_task
from regard.runs.run import Run
from regard.tasks.build import make_model
from regard.tasks.ensemble import make_ensemble
from regard.tasks.inputs import check_inputs
from regard.tasks.output_set import search_within
from regard.tasks.prediction import Prediction
from regard.tasks.task import Task, task_class
from regard.view.view import View

Only = Iterable[str] | Path | Trie
"""Allowed outputs: texts, a file with one per line, or a prepared trie."""


@dataclass(frozen=True, repr=False)
class Predictor:
    """Model of a run with its task and search, in evaluation mode.

    Attributes:
        run: the run folder.
        recipe: its recipe.
        model: the best model, or the average of the last checkpoints, as the recipe specifies; an ensemble of several.
        task: parses inputs and turns outputs of the model into predictions.
        search: default settings of the search; calls can override them.
        engine: external search engine; None for our own search.
        compute: number type of our own search on a CPU, `"float32"` or `"int8"`.
    """

    run: Run
    recipe: Recipe
    model: nn.Module
    task: Task
    search: Search
    engine: Engine | None = None
    compute: Compute = "float32"

    def __repr__(self) -> str:
        count = sum(parameter.numel() for parameter in self.model.parameters())
        return f"Predictor({self.run.folder}, {self.recipe.task}, {count:,} parameters)"

    def predict(self, inputs: Any, *, only: Only | None = None, **settings: Any) -> list[Prediction]:
        """Return the best prediction for each input. A blank text has a blank one, except for language models.

        Args:
            inputs: one input or several: a text, a mapping of fields, a path, the bytes of a file, or an array of
                numbers (`Task.parse`).
            only: allowed outputs: a list of texts, a file with one per line, or the result of `allowed`. Length limits
                and forbidden ids of the search are then ignored.
            settings: fields of `Search` that override the recipe: `strategy="beam"`, `beam_size=10`.
        """
        return [answers[0] for answers in self.n_best(inputs, 1, only=only, **settings)]

    def view(self, text: Any, *, head: int | None = None, states: bool = False, neurons: bool = False) -> View:
        """Return a view of what the model attends to for one input.

        Args:
            text: one input, as `predict` takes it.
            head: number of the attention head, from 1, for tasks with a choice.
            states: show states and gates of recurrent layers over time instead.
            neurons: add queries and keys, and draw them first, by dimension.

        Raises:
            ValueError: there is nothing to draw.

        Example: `regard.load("runs/dates").view("3 mars 2021").save("view.html")`.
        """
        parsed = self.task.parse(text)
        check_inputs([parsed], self.recipe.decode.max_text)
        if self.task.is_blank(parsed):
            raise ValueError("the text is empty; give one whose answer can be drawn")
        if not states:
            return _shown(self.task.panels(self.model, parsed, self.search, head=head), neurons=neurons)
        with recurrent_reads(self.model) as reads:
            answer = self.task.predict(self.model, [parsed], self.search)[0][0]
        if not reads:
            raise ValueError("the model has no recurrent layer that reads a sequence at once, so there are no states")
        return View(tuple(state_panels(reads, answer.source_tokens)), answer.source)

    def parameters(self) -> View:
        """Return a view of the parts of the model by size, trained or frozen."""
        return View((parts(self.model, title=str(self.run.folder.name)),))

    def n_best(self, inputs: Any, n: int, *, only: Only | None = None, **settings: Any) -> list[list[Prediction]]:
        """Return up to `n` predictions for each input, best first."""
        asked = [self.task.parse(one) for one in _listed(inputs)]
        check_inputs(asked, self.recipe.decode.max_text)
        model, search = self._held(only, self._search(n, settings))
        answerable = [not self.task.is_blank(one) for one in asked]
        found = iter(self.task.predict(model, list(compress(asked, answerable)), search))
        return [next(found) if able else [_blank(str(one))] for one, able in zip(asked, answerable, strict=True)]

    def linked(self, answers: Sequence[Sequence[Prediction]]) -> list[list[Prediction]]:
        """Return predictions with word alignments between input and output (`Task.links`)."""
        links = iter(self.task.links(self.model, [one for group in answers for one in group]))
        return [[replaced(one, links=next(links)) for one in group] for group in answers]

    def allowed(self, only: Iterable[str] | Path) -> Trie:
        """Prepare a set of allowed outputs once, for `only` of many calls."""
        return self.task.output_set(only)

    def _held(self, only: Only | None, search: Search) -> tuple[Any, Search]:
        """Return the model, constrained to `only` if set, and the search settings that fit."""
        if only is None:
            return self.engine or self.quick, search
        if self.engine is not None:
            raise ValueError("predict: only is for our own search; leave it or the engine out")
        trie = only if isinstance(only, Trie) else self.allowed(only)
        return ConstrainedModel(self.quick, trie), search_within(search, trie)

    @cached_property
    def quick(self) -> Any:
        """Model for inference; on a CPU with packed weights, whose results differ by rounding, or in eight bits."""
        return packed_copy(self.model, self.compute) if device_of(self.model).type == "cpu" else self.model

    def _search(self, n: int, settings: dict[str, Any]) -> Search:
        """Return the recipe's search with the settings of a call. Labels and tags are ranked, which has no settings."""
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
    path: str | Path,
    *others: str | Path,
    device: str | torch.device | None = None,
    overrides: list[str] | None = None,
    engine: str = "own",
    compute: str | None = None,
) -> Predictor:
    """Load the model of a run, or those of several runs as an ensemble.

    Args:
        path: the run's folder, `runs/dates`.
        others: runs of the same task with the same tokenizers, which form an ensemble with the first: their predicted
            distributions are averaged. Recipe and search are those of the first.
        device: device of the model; None for a GPU if there is one.
        overrides: overrides of its recipe: `["decode.beam_size=10"]`.
        engine: search engine: `"own"`, or for encoder-decoder Transformers `"ctranslate2"` or `"onnx"`
            (docs/guide/decoding.md).
        compute: numeric type of the search, `"int8"`, by ctranslate2 or on a CPU by our own; None for float32.

    Raises:
        RunError: the folder is no run, has no model yet, or does not fit the first.
        ValueError: the engine is not installed, or cannot run this model.

    Example: `regard.load("runs/dates").predict("3 mars 2021")[0].text` is `'2021-03-03'`.
    """
    run = Run(Path(path))
    recipe = run.recipe(overrides)
    task = _task(run, recipe)
    models = [_trained(run, recipe, task), *(_member(Run(Path(other)), run, recipe, task) for other in others)]
    model = make_ensemble(models, mean=task.averaged).to(device or _best_device()).eval()
    if others and engine != "own":
        raise ValueError(f"the engine {engine} runs one model; leave the engine or the other runs out")
    made = make_engine(engine, model, compute=compute, device=device)
    own: Compute = "int8" if compute == "int8" and made is None else "float32"
    return Predictor(run, recipe, model, task.bind(model), recipe.search(), made, own)


def _trained(run: Run, recipe: Recipe, task: Task) -> nn.Module:
    """Return the best model of a run."""
    model = make_model(recipe, task)
    run.load_model(model)
    return model


def _task(run: Run, recipe: Recipe) -> Task:
    """Return the task of a run, with its encoders."""
    return task_class(recipe.task).of(recipe, run.needed_encoders(recipe)).restored(run.folder)


def _member(run: Run, first: Run, wanted: Recipe, task: Task) -> nn.Module:
    """Return the model of a further run of an ensemble."""
    recipe = run.recipe(["decode={}"])  # the search of the first run applies
    check_task(run.folder, wanted.task)
    mine = _task(run, recipe)
    if (why := task.incompatibility(mine)) is not None:
        raise RunError(f"{run.folder} and {first.folder} {why}")
    return _trained(run, recipe, mine)


def _best_device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _shown(panels: Sequence[Panel], *, neurons: bool) -> View:
    """Return a view of panels, with queries and keys if they are drawn."""
    if not neurons:
        return View(tuple(one.without_vectors() if isinstance(one, HeadsPanel) else one for one in panels))
    if not any(isinstance(one, HeadsPanel) and one.queries is not None for one in panels):
        raise ValueError("neurons are of attention by inner products in a Transformer or BERT; this model has none")
    return View(tuple(panels), style="neurons")


def _listed(inputs: Any) -> list[Any]:
    """Return inputs as a list; an array of numbers, such as a picture, is one input."""
    numbers = isinstance(inputs, torch.Tensor) or (isinstance(inputs, np.ndarray) and inputs.dtype.kind in "biuf")
    several = isinstance(inputs, Iterable) and not isinstance(inputs, str | bytes | Mapping)
    return list(inputs) if several and not numbers else [inputs]


def _blank(text: str) -> Prediction:
    """Return the prediction for a blank text."""
    return Prediction(text, "", 0.0, source_tokens=(), tokens=(), log_probs=())
