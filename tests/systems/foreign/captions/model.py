"""A captioner: Luong's decoder reads the regions of a picture."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arguments import Size
from regard.models import Luong
from regard.models.encoded import Encoded


class Regions(nn.Module):
    """Squares of a picture, with their coordinates, as states: [B, C, H, W] -> [B, S, D]."""

    def __init__(self, channels: int, dim: int, region: int) -> None:
        super().__init__()
        self.output_dim = dim
        self.map = nn.Conv2d(channels + 2, dim, region, stride=region)

    def forward(self, pictures: Tensor, lengths: Tensor | None = None) -> Encoded:
        down, right = (torch.linspace(-1, 1, size, device=pictures.device) for size in pictures.shape[2:])
        grid = torch.stack(torch.meshgrid(down, right, indexing="ij")).expand(len(pictures), -1, -1, -1)
        states = self.map(torch.cat((pictures, grid), dim=1)).flatten(2).mT.tanh()  # [B, D, h, w] -> [B, h * w, D]
        return Encoded(states, states.mean(1), None)


class Captioner(Luong):
    """Luong's decoder over regions.

    Args:
        channels: of a picture.
        target_size: number of words.
        region: side of a region in pixels.
        embedding_dim: width of the word embeddings.
        hidden_dim: width of regions and decoder.
    """

    def __init__(
        self, channels: int, target_size: int, *, region: Size = 4, embedding_dim: Size = 32, hidden_dim: Size = 64
    ) -> None:
        encoder = Regions(channels, hidden_dim, region)
        super().__init__(encoder, target_size, embedding_dim=embedding_dim, hidden_dim=hidden_dim, cells="gru")
