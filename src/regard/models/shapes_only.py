"""Construction of models on the meta device, without memory or initialisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_IN_PLACE = frozenset(
    {Tensor.add_, Tensor.div_, Tensor.normal_, Tensor.uniform_}
    | {nn.init.kaiming_uniform_, nn.init.normal_, nn.init.uniform_}
)


def _eye(rows: int, columns: int | None = None, **options: Any) -> Tensor:
    return torch.empty(rows, rows if columns is None else columns, **options)


def _arange(*bounds: float, **options: Any) -> Tensor:
    return torch.arange(*bounds, **{**options, "device": "cpu"})  # small, and code may read the values


_FACTORIES: dict[Callable[..., Any], Callable[..., Tensor]] = {
    torch.arange: _arange,
    torch.eye: _eye,
    torch.rand: torch.empty,
    torch.randn: torch.empty,
}


class _WithoutValues(TorchFunctionMode):
    """Skip parameter initialisation.

    A meta tensor has no values, but PyTorch dispatches these functions on it to Python decompositions, whose first call
    imports `torch._dynamo`, sympy and parts of `torch.distributed`: over a second of CPU time.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in _IN_PLACE:
            return args[0] if args else kwargs["tensor"]
        made: Callable[..., Any] = _FACTORIES.get(func, func)
        return made(*args, **(kwargs or {}))


@contextmanager
def shapes_only() -> Iterator[None]:
    """Context manager to construct modules without memory or initialisation, to check that construction succeeds.

    >>> with shapes_only():
    ...     weight = torch.nn.init.normal_(torch.empty(50_000, 50_000))
    >>> weight.device
    device(type='meta')
    """
    with torch.device("meta"), _WithoutValues():
        yield
