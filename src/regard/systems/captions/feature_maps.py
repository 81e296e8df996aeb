"""Encoder of precomputed feature maps."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.models.encoded import Encoded


class FeatureMaps(nn.Module):
    """Identity encoder of precomputed regions, such as the annotation vectors of Show, Attend and Tell.

    Args:
        channels: width C of a region.

    No parameters. Shapes: source [B, S, C] with lengths [B] (None without padding), or [B, C, H, W], whose cells are
    the regions in row-major order -> `Encoded`: states [B, S, C], their mean [B, C], a mask if there are lengths.

    >>> encoded = FeatureMaps(5)(torch.ones(2, 7, 5), torch.tensor([7, 3]))
    >>> encoded.summary[1], encoded.states[1].sum()
    (tensor([1., 1., 1., 1., 1.]), tensor(15.))
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.output_dim = channels

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> Encoded:
        """Return the regions of feature maps, with zeros at padding."""
        states = source.flatten(2).transpose(1, 2) if source.dim() == 4 else source  # [B, S, C]
        if states.dim() != 3 or states.shape[2] != self.output_dim:
            wanted = f"[B, S, {self.output_dim}] or [B, {self.output_dim}, H, W]"
            raise ValueError(f"FeatureMaps: source must be {wanted}; got {list(source.shape)}")
        if lengths is None:
            return Encoded(states, states.mean(1), None)
        mask = Mask.padding(lengths)
        inside = torch.arange(states.shape[1], device=states.device) < lengths.to(states.device).unsqueeze(1)  # [B, S]
        states = states.masked_fill(~inside.unsqueeze(2), 0.0)
        return Encoded(states, states.sum(1) / inside.sum(1, keepdim=True).clamp(min=1), mask)
