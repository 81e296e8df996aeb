"""Capture of queries and keys of inner-product attention while a model runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor

from regard.nn.attention_module import AttentionModule, CapturableModule
from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.state import AttentionState
from regard.ops.attended import Attended

Vectors = tuple[Tensor, Tensor]
"""Queries [B, H, T, D] and keys [B, H, S, D], whose scaled products are the energies."""
Keep = Callable[[str, Tensor, Tensor], None]
"""(name of the module, queries, keys)."""


@contextmanager
def watched_vectors(modules: Mapping[str, CapturableModule], keep: Keep) -> Iterator[None]:
    """Call `keep` with queries and keys of each softmax attention with an inner-product score.

    Args:
        modules: modules by name.
        keep: receives the name of the module, its queries and its keys.
    """
    with ExitStack() as stack:
        for name, module in modules.items():
            scores = module.score.modules() if isinstance(module, AttentionModule) else ()
            for score in scores:  # scores can be nested, such as rotary positions around a dot product
                if isinstance(score, Score) and score.inner_product and "attend" not in vars(score):
                    vars(score)["attend"] = partial(_attend, score.attend, partial(keep, name))
                    stack.callback(vars(score).pop, "attend")
        yield


def _attend(
    attend: Callable[..., Attended],
    keep: Callable[[Tensor, Tensor], None],
    query: Tensor,
    memory: Memory,
    state: AttentionState,
    **rest: Any,
) -> Attended:
    keep(query.detach(), memory.key.detach())
    return attend(query, memory, state, **rest)
