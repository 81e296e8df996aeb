"""Result of attention: the context, and the weights on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from regard.ops.weights import StoredWeights, Weigh, Weights, sizes

if TYPE_CHECKING:
    from regard.ops.hard import Sample


@dataclass(init=False, eq=False, repr=False)  # so that what spreads a model over devices finds the tensors inside
class Attended(Weights):
    """Result of attention: the context, and exact weights on demand (see `Weights`).

    Fused implementations stay fused: weights are computed only when they are accessed.

    Attributes:
        context: [B, H, T, Dv] from an op, [B, T, C] from a module.
        state: input of the next step (see `regard.nn.AttentionState`); None from ops.
        sample: sampled positions with their log-probability, of hard attention only.
        impl: name of the implementation that ran, as for `impl=`; `"packed"` from a packed model, `"pieces"` or
            `"nearest"` from an external memory.

    >>> import torch
    >>> from regard.ops import scaled_dot_attention
    >>> query, key = torch.tensor([[8.0, 0.0]]), torch.tensor([[14.0, 0.0], [12.0, 0.0]])
    >>> out = scaled_dot_attention(query[None, None], key[None, None], key[None, None], scale=1 / 8)
    >>> out.weights()[0, 0]                     # the worked example of the notes: scores 112 and 96, over 8
    tensor([[0.88, 0.12]])
    >>> out.alignment(), out.impl
    (tensor([[[0]]]), 'sdpa')
    """

    context: Tensor
    state: Any
    sample: Sample | None
    impl: str

    def __init__(
        self,
        context: Tensor,
        weigh: Weigh,
        shape: tuple[int, int, int, int],
        *,
        has_heads: bool = True,
        state: Any = None,
        sample: Sample | None = None,
        impl: str = "reference",
    ) -> None:
        super().__init__(weigh, shape, context.device, has_heads=has_heads)
        self.context = context
        self.state = state
        self.sample = sample
        self.impl = impl

    @classmethod
    def from_weights(cls, context: Tensor, weights: Tensor, *, has_heads: bool = True, **rest: Any) -> Attended:
        """Return the result of an implementation that computed its weights [B, H, T, S]."""
        return Attended(context, StoredWeights(weights), sizes(weights), has_heads=has_heads, **rest)

    def replace(self, *, context: Tensor, has_heads: bool, state: Any) -> Attended:
        """Return a copy with another context or state: a module converts the result of an op to its own layout."""
        return Attended(
            context, self.weigh, self._shape, has_heads=has_heads, state=state, sample=self.sample, impl=self.impl
        )

    def __repr__(self) -> str:
        return f"Attended(context={list(self.context.shape)}, weights={list(self._shape)})"
