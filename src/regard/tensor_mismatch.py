"""Comparison of loaded tensors with those that a model expects."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from regard.nearest import nearest


def tensor_mismatch(given: Mapping[str, Tensor], own: Mapping[str, Tensor], *, partly: bool = False) -> str | None:
    """Return a clause about the first tensor that does not fit; None if all do.

    Compares names, shapes and dtypes, and requires finite values, except where the model's own are not finite.

    Args:
        given: tensors from a file.
        own: tensors of the model, the optimizer or the state; `meta` tensors suffice.
        partly: accept missing tensors.

    >>> own = {"map.weight": torch.ones(2, 3)}
    >>> tensor_mismatch({"map.weight": torch.ones(3, 2)}, own)
    'map.weight is [3, 2], and [2, 3] is needed'
    >>> tensor_mismatch({"map.wieght": torch.ones(2, 3)}, own)
    "the tensor 'map.wieght' has no place; did you mean 'map.weight'?"
    >>> tensor_mismatch({"map.weight": torch.full((2, 3), torch.nan)}, own)
    'map.weight has values that are not finite'
    """
    for name, tensor in given.items():
        if name not in own:
            near = nearest(name, [one for one in own if one not in given])
            return f"the tensor {name!r} has no place" + ("" if near is None else f"; did you mean {near!r}?")
        like = own[name]
        if tensor.shape != like.shape:
            return f"{name} is {list(tensor.shape)}, and {list(like.shape)} is needed"
        if tensor.dtype != like.dtype:
            return f"{name} has numbers of the type {_name(tensor)}, and {_name(like)} is needed"
        if not _finite(tensor) and (like.is_meta or _finite(like)):
            return f"{name} has values that are not finite"
    missing = [] if partly else [name for name in own if name not in given]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        return f"the tensor {missing[0]!r}{more} is missing"
    return None


def _finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
