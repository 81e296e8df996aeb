"""Configuration of acoustic encoders, and the lengths of their outputs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.arguments import Count, Share, Size, checked
from regard.models.encoded import Encoded
from regard.nn.cells import CellKind
from regard.systems.speech.frame_encoder import FrameEncoder


@checked()
@dataclass(frozen=True, kw_only=True)
class FrameEncoderConfig:
    """Configuration of a `FrameEncoder`; calling it with the width of a frame builds the encoder.

    Attributes:
        hidden_dim: width of a state; each direction has half of it.
        pyramid: number of layers that halve the length, after a first one that does not.
        convolutions: channels of each convolution before the recurrent layers.
        strides: time stride of each convolution; null for 2 each.
        cells: recurrent cells, `lstm` or `gru`.
        dropout: dropout of the input of each layer and of the states.

    >>> FrameEncoderConfig(hidden_dim=6, pyramid=1)(40).output_dim
    6
    """

    hidden_dim: Size = 128
    pyramid: Count = 1
    convolutions: tuple[Size, ...] = ()
    strides: tuple[Size, ...] | None = None
    cells: CellKind = "lstm"
    dropout: Share = 0.0

    def __call__(self, input_dim: int) -> FrameEncoder:
        return FrameEncoder(
            input_dim,
            hidden_dim=self.hidden_dim,
            pyramid=self.pyramid,
            convolutions=tuple(self.convolutions),
            strides=None if self.strides is None else tuple(self.strides),
            cells=self.cells,
            dropout=self.dropout,
        )


def frames_encoder(encoder: FrameEncoderConfig | nn.Module | None, input_dim: int) -> nn.Module:
    """Return the encoder: a module unchanged, one built from a configuration, or the default for None."""
    if isinstance(encoder, nn.Module):
        return encoder
    return (FrameEncoderConfig() if encoder is None else encoder)(input_dim)


def state_counts(encoded: Encoded) -> Tensor:
    """Return the number of encoder states of each sequence, [B], after any subsampling."""
    batch, size, _ = encoded.states.shape
    if encoded.mask is None:
        return torch.full((batch,), size, device=encoded.states.device)
    allowed = encoded.mask.allowed((batch, 1, 1, size), device=encoded.states.device)
    return allowed.expand(batch, 1, 1, size).flatten(1).sum(1)
