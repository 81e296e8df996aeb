"""Pretrained weights and encoders, from the run that a recipe names under `init`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from torch import Tensor, nn

from regard.data.fields.labels import Labels
from regard.parts import all_models, imported
from regard.recipes.sections import Recipe
from regard.recipes.system import systems
from regard.runs.folder import RunError, check_task, stored_recipe, task_of
from regard.runs.run import Run
from regard.tasks.task import FieldEncoders
from regard.tensor_mismatch import tensor_mismatch

_DECODER = "decoder."  # prefix of a language model's layers, absent in an encoder of its kind
_SHARED = "encoder."  # prefix of the pretrained weights that models for other tasks share
_SHAPELESS = frozenset(("num_heads", "activation", "epsilon", "norm", "positions", "score", "reverse"))
"""Arguments of a model that change the meaning of its weights but not their shapes."""
_LAYER = re.compile(r"(.*?\.\d+)\..*")


def pretrained_encoders(run: Run, recipe: Recipe) -> FieldEncoders:
    """Return the tokenizers and labels of the run under `init`; only the tokenizer if its task is pretraining.

    Raises:
        RunError: the folder is not a run, has no tokenizers yet, belongs to another task that is not pretraining, or
        has weights with another meaning in the model of the recipe.
    """
    kind = getattr(getattr(recipe.model, "encoder", None), "kind", None)
    first_task, own = task_of(run.folder), recipe.model.model_dump(mode="json")
    first = stored_recipe(run.folder).get("model")
    if _pretrains(first_task) and first_task != recipe.task and kind is not None:
        theirs = _encoder_kind(first)
        if theirs is None:
            raise RunError(f"{run.folder} has no encoder that another model could begin with; take another run")
        if theirs != kind:
            raise RunError(
                f"{run.folder} has an encoder {theirs!r}, and model.encoder.kind is {kind!r}; set it to {theirs}"
            )
        if not _has_encoder(first):  # the whole language model serves as the encoder
            own, first = own["encoder"], {**first, "reverse": False} if isinstance(first, Mapping) else first
    else:
        check_task(run.folder, recipe.task)
    found = run.needed_encoders()
    if (other := next(_differing(own, first, "model"), None)) is not None:
        key, mine, theirs = other
        raise RunError(f"{key} is {mine!r}, and {run.folder} was trained with {theirs!r}; give the model the same")
    origin = str(run.folder)
    return {name: replace(one, origin=origin) if isinstance(one, Labels) else one for name, one in found.items()}


def _differing(own: Mapping[str, Any], first: object, where: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the arguments in which two models differ without a difference in shapes."""
    for key, mine in own.items():
        if not isinstance(first, Mapping) or key not in first:
            continue
        theirs = first[key]
        if key in _SHAPELESS and mine != theirs:
            yield f"{where}.{key}", mine, theirs
        elif isinstance(mine, Mapping):
            yield from _differing(mine, theirs, f"{where}.{key}")


class LoadedParameters(NamedTuple):
    """Names of parameters that were and were not loaded from another run.

    Attributes:
        taken: parameters of the model that were loaded.
        fresh: parameters of the model that keep random initial values.
        left: parameters of the run that the model does not have, except output layers for other labels.
    """

    taken: tuple[str, ...]
    fresh: tuple[str, ...]
    left: tuple[str, ...] = ()

    def sentence(self, run: Run) -> str:
        """Return a message about the parameters that were and were not loaded."""
        parts = ", ".join(dict.fromkeys(".".join(name.split(".")[:2]) for name in sorted(self.taken, reverse=True)))
        said = f"begun with {run.folder}: {len(self.taken)} parameters are taken ({parts})"
        if self.fresh:
            said += (
                f"; {len(self.fresh)} parameters it does not have begin anew: {summarise_names(self.fresh, self.taken)}"
            )
        if self.left:
            said += f"; {len(self.left)} of its parameters have another shape or no place here: "
            said += summarise_names(self.left)
        return said


def load_pretrained(model: nn.Module, run: Run) -> LoadedParameters:
    """Load the weights of a run into a model, by name; other parameters keep their random initial values.

    From a pretraining run, only the encoder is loaded if the model has other heads. A language model is loaded into an
    encoder of the same kind, where shapes agree: in a bidirectional encoder, that is the forward direction of the first
    layer.

    Raises:
        RunError: the run has no model yet, weights that the model lacks, or weights of another shape.
    """
    own = model.state_dict()
    learned = _without_heads(run, own)
    left: tuple[str, ...] = ()
    if _is_language_model(run, own):
        learned, left = _as_encoder(run, own)
    for name in learned:
        if name not in own:
            raise RunError(
                f"{run.folder} has the parameter {name}, which this model lacks; set init to a run of the same model"
            )
    if (wrong := tensor_mismatch(learned, own, partly=True)) is not None:
        raise RunError(f"{run.folder / 'model.safetensors'}: {wrong}; give the model the widths of that run")
    model.load_state_dict(learned, strict=False)
    return LoadedParameters(tuple(learned), tuple(name for name in own if name not in learned), left)


def summarise_names(names: Sequence[str], known: Collection[str] = ()) -> str:
    """Return a short list of parameters, in which a layer without any `known` parameter is one entry.

    >>> summarise_names(["layers.2.norm.bias", "layers.2.norm.weight", "output_map.weight"], ["layers.1.norm.bias"])
    'layers.2, output_map.weight'
    """
    begun = {_LAYER.sub(r"\1", name) for name in known}
    layers = [(name, _LAYER.sub(r"\1", name)) for name in names]
    found = list(dict.fromkeys(name if layer in begun else layer for name, layer in layers))
    return ", ".join(found[:4]) + (" ..." if len(found) > 4 else "")


def _without_heads(run: Run, own: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a run; only the encoder's for a pretraining run, if the model has another head."""
    learned = run.tensors()
    other_heads = "word_map.weight" not in own and any(name.startswith(_SHARED) for name in own)
    if not _pretrains(task_of(run.folder)) or not other_heads:
        return learned
    pooler = f"{_SHARED}pool_map."  # only classifiers of whole texts have a pooler
    return {
        name: tensor
        for name, tensor in learned.items()
        if name.startswith(_SHARED) and (name in own or not name.startswith(pooler))
    }


def _is_language_model(run: Run, own: Mapping[str, Tensor]) -> bool:
    """Return True for a pretrained run without an encoder of its own, and a model of another task."""
    first = stored_recipe(run.folder).get("model")
    return _pretrains(task_of(run.folder)) and not _has_encoder(first) and any(name.startswith(_SHARED) for name in own)


def _as_encoder(run: Run, own: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """Return the weights of a language model by their names in an encoder, and the names without a counterpart.

    The embedding must have the same shape, because its rows are ids of the run's tokenizer.
    """
    found, left = dict[str, Tensor](), list[str]()
    for name, tensor in run.tensors().items():
        place = _SHARED + name.removeprefix(_DECODER)
        if place == f"{_SHARED}words.table.weight" or (place in own and own[place].shape == tensor.shape):
            found[place] = tensor
        elif not name.startswith("output_map."):
            left.append(name)
    return found, tuple(left)


def _has_encoder(model: object) -> bool:
    """Return True if a recipe's model has an encoder."""
    return isinstance(model, Mapping) and model.get("encoder") is not None


def _encoder_kind(model: object) -> str | None:
    """Return the kind of encoder that a pretrained model has, or is."""
    if not isinstance(model, Mapping):
        return None
    if _has_encoder(model):
        return str(model["encoder"].get("kind", "rnn"))
    made = imported(all_models()[str(model["kind"])])
    kind: str | None = getattr(made, "encoder_kind", None)
    return kind


def _pretrains(task: str) -> bool:
    """Return True for a task whose runs give their encoder to runs of other tasks."""
    found = systems().get(task)
    return found is not None and found.pretrains
