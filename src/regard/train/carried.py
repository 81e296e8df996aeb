"""The state that goes from window to window, as named tensors, so that a resumed run goes on in mid-text."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from torch import Tensor


def named_tensors(state: Any, prefix: str = "") -> dict[str, Tensor]:
    """The tensors of a state, by the names of the fields they are in.

    >>> import torch
    >>> from regard.nn.rnn import RecurrentState
    >>> sorted(named_tensors(RecurrentState(torch.zeros(2, 1, 3), torch.ones(2, 1, 3))))
    ['cell', 'hidden']
    """
    found: dict[str, Tensor] = {}
    for field in fields(state):
        value, name = getattr(state, field.name), f"{prefix}{field.name}"
        if isinstance(value, Tensor):
            found[name] = value
        elif is_dataclass(value):
            found |= named_tensors(value, f"{name}.")
    return found


def with_tensors(state: Any, tensors: dict[str, Tensor], prefix: str = "") -> Any:
    """A state of the same form, with these tensors."""
    changed: dict[str, Any] = {}
    for field in fields(state):
        value, name = getattr(state, field.name), f"{prefix}{field.name}"
        if isinstance(value, Tensor):
            changed[field.name] = tensors[name].to(value.device)
        elif is_dataclass(value):
            changed[field.name] = with_tensors(value, tensors, f"{name}.")
    return replace(state, **changed)
