"""Recurrent state between windows as named tensors, so that a resumed run can continue within a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from torch import Tensor


def named_tensors(state: Any, prefix: str = "") -> dict[str, Tensor]:
    """Return the tensors of a state, by the names of their fields.

    >>> import torch
    >>> from regard.nn.rnn import RecurrentState
    >>> sorted(named_tensors(RecurrentState(torch.zeros(2, 1, 3), torch.ones(2, 1, 3))))
    ['cell', 'hidden']
    """
    found: dict[str, Tensor] = {}
    for name, value in _parts(state):
        if isinstance(value, Tensor):
            found[f"{prefix}{name}"] = value
        elif _has_parts(value):
            found |= named_tensors(value, f"{prefix}{name}.")
    return found


def grow_to(first: Mapping[str, Tensor], kept: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors of an initial state, enlarged to the sizes within a text: a memory is empty at first and grows.

    Args:
        first: tensors of the initial state.
        kept: tensors of the state within a text, whose sizes are used.

    >>> import torch
    >>> grow_to({"key": torch.empty(2, 0, 3)}, {"key": torch.ones(2, 7, 3)})["key"].shape
    torch.Size([2, 7, 3])
    """
    found = dict(first)
    for name, tensor in first.items():
        if name in kept and kept[name].dim() == tensor.dim():
            sizes = [now if size == 0 else size for size, now in zip(tensor.shape, kept[name].shape, strict=True)]
            found[name] = tensor.new_empty(sizes, device="meta")
    return found


def with_tensors(state: Any, tensors: dict[str, Tensor], prefix: str = "") -> Any:
    """Return a state of the same structure with these tensors."""
    changed: dict[str, Any] = {}
    for name, value in _parts(state):
        if isinstance(value, Tensor):
            changed[name] = tensors[f"{prefix}{name}"].to(value.device)
        elif _has_parts(value):
            changed[name] = with_tensors(value, tensors, f"{prefix}{name}.")
    return tuple((dict(_parts(state)) | changed).values()) if isinstance(state, tuple) else replace(state, **changed)


def _parts(state: Any) -> list[tuple[str, Any]]:
    """Return the fields of a dataclass by name, or the parts of a tuple by number."""
    if isinstance(state, tuple):
        return [(str(number), part) for number, part in enumerate(state)]
    return [(field.name, getattr(state, field.name)) for field in fields(state)]


def _has_parts(value: Any) -> bool:
    return is_dataclass(value) or isinstance(value, tuple)
