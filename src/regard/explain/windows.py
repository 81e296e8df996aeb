"""Capture of local attention window centres while a model runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from torch import Tensor, nn

from regard.nn.aligners.base import Aligner
from regard.nn.memory import Memory
from regard.nn.state import AttentionState


@contextmanager
def window_centres(model: nn.Module) -> Iterator[list[float]]:
    """Yield a list that is filled with the centre p_t of each query of the first sequence, in order.

    Heads with different centres per query are not recorded.

    Args:
        model: any model; the list stays empty without a local aligner.

    >>> import torch
    >>> from regard.nn import Attention, Dot, LocalM
    >>> attention = Attention(Dot(), LocalM(window=1))
    >>> with window_centres(attention) as centres:
    ...     _ = attention(torch.randn(1, 3, 5), torch.randn(1, 7, 5))
    >>> centres
    [0.0, 1.0, 2.0]
    """
    found: list[float] = []

    def keep(module: nn.Module, args: tuple[Tensor, Tensor, Memory, AttentionState], _: object) -> None:
        assert isinstance(module, Aligner)
        _, query, memory, state = args
        centres = module.centres(query, memory, state)
        if centres is not None and centres.shape[1] == 1:
            found.extend(centres[0, 0].float().tolist())

    with ExitStack() as stack:
        for module in model.modules():
            if isinstance(module, Aligner):
                stack.callback(module.register_forward_hook(keep).remove)
        yield found


def has_windows(model: object) -> bool:
    """Return True if a model contains a local aligner."""
    modules = model.modules() if isinstance(model, nn.Module) else ()
    return any(isinstance(one, Aligner) and type(one).centres is not Aligner.centres for one in modules)
