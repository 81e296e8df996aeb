"""A run that begins with what another has learned."""

from __future__ import annotations

from torch import Tensor, nn

from regard.recipes.sections import Recipe
from regard.tasks.task import Encoders
from regard.train.folder import RunError, task_of
from regard.train.run import Run

PRETRAINING = "masked_language_model"
"""The task whose runs can begin one of another task."""
_SHARED = "encoder."  # what a pretrained model has in common with one for another task


def begun_encoders(run: Run, recipe: Recipe) -> Encoders:
    """What a run that begins with another turns text into ids by: all of it, or, of a pretrained one, the tokenizer.

    Raises:
        RunError: the run is no run, has no tokenizers yet, or one of another task that is no pretraining.
    """
    pretrained = task_of(run.folder) == PRETRAINING != recipe.task and recipe.reads_pairs
    return run.needed_encoders(PRETRAINING if pretrained else recipe.task)


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
    for name, tensor in learned.items():
        if name not in own:
            raise RunError(f"{run.folder} has learned {name}, which this model has not; begin with a run of its kind")
        if tensor.shape != own[name].shape:
            shapes = f"{list(tensor.shape)}, here {list(own[name].shape)}"
            raise RunError(f"{name} of {run.folder} is {shapes}; give the model the widths of that run")
    model.load_state_dict(learned, strict=False)
    return [name for name in own if name not in learned]


def _without_heads(run: Run, own: dict[str, Tensor]) -> dict[str, Tensor]:
    """What a run has learned; of a pretrained one only the encoder, where the model does not have its heads."""
    learned = run.tensors()
    if task_of(run.folder) != PRETRAINING or "word_map.weight" in own:
        return learned
    pooler = f"{_SHARED}pool_map."  # a model that does not look at the whole text has no use for it
    return {
        name: tensor
        for name, tensor in learned.items()
        if name.startswith(_SHARED) and (name in own or not name.startswith(pooler))
    }
