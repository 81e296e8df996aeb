"""Frozen parameters: excluded from training by name."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from regard.nearest import nearest


def freeze(model: nn.Module, names: Sequence[str]) -> None:
    """Exclude modules and parameters from training, by name.

    Args:
        model: the model of a recipe.
        names: modules (with all their parameters) or single parameters: `encoder`, `attention.score.weight`.

    Raises:
        ValueError: a name matches nothing in the model, or no trainable parameter remains.

    >>> model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 5))
    >>> freeze(model, ["0", "1.bias"])
    >>> [name for name, one in model.named_parameters() if one.requires_grad]
    ['1.weight']
    """
    parameters = dict(model.named_parameters())
    for name in names:
        held = [one for one in parameters if one == name or one.startswith(f"{name}.")]
        if not held:
            raise ValueError(_unknown(name, model))
        for one in held:
            parameters[one].requires_grad_(False)
    if names and not any(one.requires_grad for one in parameters.values()):
        raise ValueError("train.freeze names all parameters of the model, so that nothing is trained; leave some out")


def _unknown(name: str, model: nn.Module) -> str:
    """Return the error message for a name that matches no module or parameter."""
    known = [one for one, module in model.named_modules() if one and any(True for _ in module.parameters())]
    near = nearest(name, [*known, *(one for one, _ in model.named_parameters())])
    parts = ", ".join(one for one in known if "." not in one)
    hint = f"did you mean {near!r}?" if near else f"its parts are {parts}"
    return f"train.freeze: the model has no parameters called {name!r}; {hint}"
