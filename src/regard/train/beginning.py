"""A run that begins with what another has learned."""

from __future__ import annotations

from torch import nn

from regard.train.folder import RunError
from regard.train.run import Run


def begin_with(model: nn.Module, run: Run) -> list[str]:
    """Give a model the weights of a run, by name; what the run does not have begins anew.

    Returns:
        The names of the parameters that begin anew.

    Raises:
        RunError: the run has no model yet, has weights that the model has not, or of another shape.
    """
    learned, own = run.tensors(), model.state_dict()
    for name, tensor in learned.items():
        if name not in own:
            raise RunError(f"{run.folder} has learned {name}, which this model has not; begin with a run of its kind")
        if tensor.shape != own[name].shape:
            shapes = f"{list(tensor.shape)}, here {list(own[name].shape)}"
            raise RunError(f"{name} of {run.folder} is {shapes}; give the model the widths of that run")
    model.load_state_dict(learned, strict=False)
    return [name for name in own if name not in learned]
