"""Pretrained weights and encoders, from the run that a recipe names under `init`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from regard.data.labels import Labels
from regard.recipes.sections import Recipe
from regard.recipes.system import systems
from regard.runs.folder import RunError, check_task, content_of, task_of
from regard.runs.run import Run
from regard.tasks.task import Encoders
from regard.tensor_fit import misfit

_SHARED = "encoder."  # what a pretrained model has in common with one for another task
_SHAPELESS = frozenset(("num_heads", "activation", "epsilon", "norm", "positions", "score", "reverse"))
"""Arguments of a model that decide what weights mean, and that their shapes do not show."""
_LAYER = re.compile(r"(.*?\.\d+)\..*")


def begun_encoders(run: Run, recipe: Recipe) -> Encoders:
    """Return the encoders of the run to begin with: all of them, or, of a pretraining, only the tokenizer.

    Raises:
        RunError: the run is no run, has no tokenizers yet, is one of another task that is no pretraining, or has
            weights that would mean something else in the model of the recipe.
    """
    kind = getattr(getattr(recipe.model, "encoder", None), "kind", None)
    first_task = task_of(run.folder)
    pretrained = _pretrains(first_task) and first_task != recipe.task and kind is not None
    if pretrained and kind != "bert":
        raise RunError(f"{run.folder} is a pretrained BERT, and model.encoder.kind is {kind!r}; set it to bert")
    if not pretrained:
        check_task(run.folder, recipe.task)
    found = run.needed_encoders()
    own, first = recipe.model.model_dump(mode="json"), content_of(run.folder).get("model")
    if (other := next(_otherwise(own, first, "model"), None)) is not None:
        key, mine, theirs = other
        raise RunError(f"{key} is {mine!r}, and {run.folder} was trained with {theirs!r}; give the model the same")
    origin = str(run.folder)
    return {name: replace(one, origin=origin) if isinstance(one, Labels) else one for name, one in found.items()}


def _otherwise(own: Mapping[str, Any], first: object, where: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the arguments of two models that differ although no shape shows it."""
    for key, mine in own.items():
        if not isinstance(first, Mapping) or key not in first:
            continue
        theirs = first[key]
        if key in _SHAPELESS and mine != theirs:
            yield f"{where}.{key}", mine, theirs
        elif isinstance(mine, Mapping):
            yield from _otherwise(mine, theirs, f"{where}.{key}")


def begin_with(model: nn.Module, run: Run) -> list[str]:
    """Give a model the weights of a run, by name; what the run does not have begins anew.

    A pretrained run leaves its heads behind where the model has others: then its encoder is what counts.

    Returns:
        The names of the parameters that begin anew.

    Raises:
        RunError: the run has no model yet, has weights that the model has not, or of another shape.
    """
    own = model.state_dict()
    learned = _without_heads(run, own)
    for name in learned:
        if name not in own:
            raise RunError(
                f"{run.folder} has the parameter {name}, which this model lacks; set init to a run of the same model"
            )
    if (wrong := misfit(learned, own, partly=True)) is not None:
        raise RunError(f"{run.folder / 'model.safetensors'}: {wrong}; give the model the widths of that run")
    model.load_state_dict(learned, strict=False)
    return [name for name in own if name not in learned]


def parts(names: Sequence[str], known: Collection[str]) -> str:
    """Parameters in a few words: a layer is named once where nothing of it is `known`.

    >>> parts(["layers.2.norm.bias", "layers.2.norm.weight", "output_map.weight"], ["layers.1.norm.bias"])
    'layers.2, output_map.weight'
    """
    begun = {_LAYER.sub(r"\1", name) for name in known}
    layers = [(name, _LAYER.sub(r"\1", name)) for name in names]
    found = list(dict.fromkeys(name if layer in begun else layer for name, layer in layers))
    return ", ".join(found[:4]) + (" ..." if len(found) > 4 else "")


def _without_heads(run: Run, own: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a run; of a pretraining only the encoder, where the model lacks its heads."""
    learned = run.tensors()
    if not _pretrains(task_of(run.folder)) or "word_map.weight" in own:
        return learned
    pooler = f"{_SHARED}pool_map."  # a model that does not look at the whole text has no use for it
    return {
        name: tensor
        for name, tensor in learned.items()
        if name.startswith(_SHARED) and (name in own or not name.startswith(pooler))
    }


def _pretrains(task: str) -> bool:
    """Return True for a task whose runs give their encoder to runs of other tasks."""
    found = systems().get(task)
    return found is not None and found.pretrains
