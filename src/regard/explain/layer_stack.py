"""Self-attention of all layers of a Transformer encoder, and importance measures based on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.explain.rollout import flow, rollout, weighted_norms
from regard.explain.subject import Extra, SubjectBatch
from regard.nn.multi_head import MultiHead
from regard.nn.transformer_layer import TransformerLayer
from regard.ops.attended import Attended

FLOWS = 200
"""Maximum number of texts for attention flow, which solves a maximum-flow problem per unit of each text."""


class LayerStack(NamedTuple):
    """Self-attention of all layers of a Transformer on a batch of texts.

    Attributes:
        weights: [B, L, H, T, T], the first layer first.
        norms: [B, T, T], norms of the weighted value vectors in the last layer (`weighted_norms`).
    """

    weights: Tensor
    norms: Tensor

    @classmethod
    def of(cls, layers: Iterable[TransformerLayer], run: Callable[[], object]) -> LayerStack:
        """Call `run`, which runs the layers once, and return their attention.

        >>> from regard.nn import LayerConfig
        >>> layer = TransformerLayer(LayerConfig(dim=6, num_heads=2)).eval()
        >>> LayerStack.of([layer], lambda: layer(torch.randn(2, 7, 6))).weights.shape
        torch.Size([2, 1, 2, 7, 7])
        """
        found: list[tuple[MultiHead, Tensor, Tensor]] = []

        def hook(module: nn.Module, inputs: tuple[Any, ...], _named: dict[str, Any], attended: Attended) -> None:
            assert isinstance(module, MultiHead)
            found.append((module, inputs[0], attended.weights()))

        handles = [layer.attention.register_forward_hook(hook, with_kwargs=True) for layer in layers]
        try:
            with torch.no_grad():
                run()
                module, states, last = found[-1]
                return cls(torch.stack([weights for _, _, weights in found], 1), moved(module, last, states))
        finally:
            for handle in handles:
                handle.remove()


def moved(module: MultiHead, weights: Tensor, states: Tensor) -> Tensor:
    """Return the norms [B, T, S] of the weighted values of heads with weights [B, H, T, S] over states [B, S, C]."""
    assert module.output_map is not None
    return weighted_norms(weights, module.remember(states).value, module.output_map.weight)


def layers_of(encoder: nn.Module) -> list[TransformerLayer]:
    """Return the layers of a Transformer encoder; an empty list for other encoders."""
    layers = getattr(encoder, "layers", None)
    layers = layers if isinstance(layers, nn.ModuleList) else ()
    return (
        [layer for layer in layers if isinstance(layer, TransformerLayer)] if isinstance(layers, nn.ModuleList) else []
    )


Read = Callable[[SubjectBatch], tuple[LayerStack, Tensor]]
"""Maps texts of T units to layer attention over P positions, and pooling weights over the last states [B, P]."""


def layer_measures(read: Read, crop: Callable[[Tensor, SubjectBatch], Tensor]) -> Mapping[str, Extra]:
    """Return the importance measures of a Transformer encoder whose states are pooled with known weights.

    Args:
        read: runs the encoder.
        crop: maps values per position [B, P] and the texts to values per unit [B, T].
    """

    def by_rollout(texts: SubjectBatch) -> Tensor:
        stack, looks = read(texts)
        return crop((looks.unsqueeze(1) @ rollout(stack.weights)).squeeze(1), texts)

    def by_norms(texts: SubjectBatch) -> Tensor:
        stack, looks = read(texts)
        return crop((looks.unsqueeze(1) @ stack.norms).squeeze(1), texts)

    def by_flow(texts: SubjectBatch) -> Tensor:
        stack, looks = read(texts)
        return crop(flow(stack.weights, looks=looks), texts)

    return {"rollout": Extra(by_rollout), "weighted norms": Extra(by_norms), "flow": Extra(by_flow, most=FLOWS)}
