"""Networks over whole pictures, as baselines of the glimpse network."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

import torch
from torch import Tensor, nn

from regard.arguments import NotInRecipe, Share, Size, checked
from regard.models.model_output import ModelOutput
from regard.nn.dropout import Dropout


class FullyConnected(nn.Module):
    """Fully connected network over all pixels.

    Args:
        channels: channels of a picture.
        num_classes: number of labels.
        height: height of a picture in pixels.
        width: width of a picture in pixels.
        objects: number of labels per picture.
        hidden_dim: units of each hidden layer; Mnih et al. 2014 compare with 64 and 256.
        num_layers: number of hidden layers, each with a relu.
        dropout: dropout of each hidden layer.

    Shapes: pictures [B, channels, H, W] -> logits [B, objects, V], as in `GlimpseNetwork`.

    >>> FullyConnected(1, 10)(torch.zeros(2, 1, 28, 28)).logits.shape
    torch.Size([2, 1, 10])
    """

    @checked()
    def __init__(
        self,
        channels: int,
        num_classes: int,
        *,
        height: Annotated[Size, NotInRecipe()] = 28,
        width: Annotated[Size, NotInRecipe()] = 28,
        objects: Annotated[Size, NotInRecipe()] = 1,
        hidden_dim: Size = 256,
        num_layers: Size = 2,
        dropout: Share = 0.0,
    ) -> None:
        super().__init__()
        widths = [channels * height * width, *[hidden_dim] * num_layers]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self.dropout = Dropout(dropout)
        self.output_map = nn.Linear(hidden_dim, objects * (num_classes + (objects > 1)))
        self.objects = objects

    def forward(self, pictures: Tensor) -> ModelOutput:
        """Pictures [B, channels, H, W] -> logits [B, objects, V]."""
        state = pictures.flatten(1)
        for layer in self.layers:
            state = self.dropout(torch.relu(layer(state)))
        return ModelOutput(self.output_map(state).unflatten(1, (self.objects, -1)))  # [B, objects, V]


class Convolutional(nn.Module):
    """Convolutional network: one convolution, and a hidden layer over its outputs.

    Args:
        channels: channels of a picture.
        num_classes: number of labels.
        height: height of a picture in pixels.
        width: width of a picture in pixels.
        objects: number of labels per picture.
        filters: number of filters.
        filter_size: pixels per side of a filter.
        stride: stride of the convolution in pixels.
        hidden_dim: units of the hidden layer.
        dropout: dropout of the hidden layer.

    Shapes: pictures [B, channels, H, W] -> logits [B, objects, V], as in `GlimpseNetwork`.

    Mnih et al. 2014, section 4.1: 8 filters of 10 x 10 with stride 5, then 256 units.

    >>> Convolutional(1, 10)(torch.zeros(2, 1, 28, 28)).logits.shape
    torch.Size([2, 1, 10])
    """

    @checked()
    def __init__(
        self,
        channels: int,
        num_classes: int,
        *,
        height: Annotated[Size, NotInRecipe()] = 28,
        width: Annotated[Size, NotInRecipe()] = 28,
        objects: Annotated[Size, NotInRecipe()] = 1,
        filters: Size = 8,
        filter_size: Size = 10,
        stride: Size = 5,
        hidden_dim: Size = 256,
        dropout: Share = 0.0,
    ) -> None:
        super().__init__()
        if filter_size > min(height, width):
            raise ValueError(
                f"Convolutional: filter_size must be at most the side of a picture, {min(height, width)}; "
                f"got {filter_size}"
            )
        self.filters = nn.Conv2d(channels, filters, filter_size, stride=stride)
        down, along = ((side - filter_size) // stride + 1 for side in (height, width))
        self.hidden = nn.Linear(filters * down * along, hidden_dim)
        self.dropout = Dropout(dropout)
        self.output_map = nn.Linear(hidden_dim, objects * (num_classes + (objects > 1)))
        self.objects = objects

    def forward(self, pictures: Tensor) -> ModelOutput:
        """Pictures [B, channels, H, W] -> logits [B, objects, V]."""
        found = torch.relu(self.filters(pictures)).flatten(1)
        state = self.dropout(torch.relu(self.hidden(found)))
        return ModelOutput(self.output_map(state).unflatten(1, (self.objects, -1)))  # [B, objects, V]
