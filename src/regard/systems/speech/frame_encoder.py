"""Acoustic encoder: pyramidal bidirectional LSTMs, with optional strided convolutions before them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.constraints import directions_halve
from regard.masks import Mask
from regard.models.encoded import Encoded
from regard.nn.cells import CellKind, Cells
from regard.nn.checks import positive, probability
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent, RecurrentState, token_mask


class FrameEncoder(nn.Module):
    r"""Pyramidal encoder: each layer reads pairs of concatenated states of the layer below and halves the length.

    .. math:: h^1_i = \mathrm{biLSTM}(x), \quad
              h^j_i = \mathrm{biLSTM}\bigl(h^j_{i-1}, [h^{j-1}_{2i}; h^{j-1}_{2i+1}]\bigr), \quad j = 2, \dots, 1 + P

    A sequence of odd length is padded by a zero vector, so no frame is lost: lengths are halved and rounded up. Values
    at padding have no effect. Strided convolutions over time and frequency can precede the pyramid.

    Args:
        input_dim: F, features per frame.
        hidden_dim: C, width of a state; each direction has half of it.
        pyramid: P, number of layers that halve the length; 3 in the paper. With 0 there is one layer at full length.
        convolutions: channels of each 3 x 3 convolution before the pyramid; none by default.
        strides: time stride of each convolution, 1 or more; None for 2 each. The frequency stride is always 2.
        cells: `"lstm"` as in the paper, or `"gru"`.
        dropout: dropout of the input of each layer and of the states.

    Shapes: source [B, T, F], lengths [B] -> `Encoded`: states [B, S, C], zero at padding; summary [B, C], the last
    state of each direction; a mask of the new lengths; the last state of each layer, both directions concatenated.

    Chan et al. 2016, "Listen, Attend and Spell", section 3.1, equations 3 and 5.

    >>> encoder = FrameEncoder(40, hidden_dim=6, pyramid=2, convolutions=(3,))
    >>> encoded = encoder(torch.zeros(2, 97, 40), torch.tensor([97, 31]))
    >>> encoded.states.shape, encoder.output_lengths(torch.tensor([97, 31]))
    (torch.Size([2, 13, 6]), tensor([13,  4]))
    """

    def __init__(
        self,
        input_dim: int,
        *,
        hidden_dim: int = 256,
        pyramid: int = 3,
        convolutions: tuple[int, ...] = (),
        strides: tuple[int, ...] | None = None,
        cells: CellKind = "lstm",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        positive("FrameEncoder", input_dim=input_dim, hidden_dim=hidden_dim, pyramid=pyramid + 1)
        probability("FrameEncoder", dropout=dropout)
        directions_halve(hidden_dim)
        self.input_dim = input_dim
        self.output_dim = hidden_dim
        self.front = FrameConvolutions(input_dim, convolutions, strides)
        widths = [self.front.output_dim, *[2 * hidden_dim] * pyramid]
        kind = Cells(kind=cells)
        self.layers = nn.ModuleList(Recurrent(width, hidden_dim // 2, kind, bidirectional=True) for width in widths)
        self.dropout = Dropout(dropout)

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> Encoded:
        """Encode frames [B, T, F] of `lengths` [B]; None if there is no padding."""
        if source.dim() != 3 or source.shape[2] != self.input_dim:
            raise ValueError(f"FrameEncoder: source must be [B, T, {self.input_dim}]; got {list(source.shape)}")
        states, lengths = self.front(source, lengths)
        ends = []
        for number, layer in enumerate(self.layers):
            if number > 0:
                states, lengths = join_frame_pairs(states), None if lengths is None else half_lengths(lengths)
            states, end = layer(self.dropout(states), lengths)
            ends.append(end)
        mask = None if lengths is None else Mask.padding(lengths)
        state = _side_by_side(ends)
        return Encoded(self.dropout(states), state.top, mask, state)

    def output_lengths(self, lengths: Tensor) -> Tensor:
        """Return the number of states for sequences of these lengths, the input lengths of a CTC loss."""
        lengths = self.front.output_lengths(lengths)
        for _ in range(len(self.layers) - 1):
            lengths = half_lengths(lengths)
        return lengths


class FrameConvolutions(nn.Module):
    """3 x 3 convolutions over time and frequency with ReLU; channels and frequencies are flattened per frame.

    Args:
        input_dim: F, features per frame.
        channels: channels of each convolution; with none, frames are returned unchanged.
        strides: time stride of each convolution; None for 2 each. Stride s maps T frames to ⌈T / s⌉; the frequency
            stride is 2.

    Shapes: source [B, T, F], lengths [B] or None -> frames [B, T', C'], zero at padding, and their lengths.

    >>> front = FrameConvolutions(40, (3, 5), (2, 1))
    >>> front(torch.zeros(2, 97, 40), None)[0].shape, front.output_dim       # 5 channels, 10 frequencies
    (torch.Size([2, 49, 50]), 50)
    """

    def __init__(self, input_dim: int, channels: tuple[int, ...], strides: tuple[int, ...] | None = None) -> None:
        super().__init__()
        self.strides = (2,) * len(channels) if strides is None else strides
        if len(self.strides) != len(channels) or any(size < 1 for size in (*channels, *self.strides)):
            raise ValueError(
                "FrameEncoder: convolutions and strides must be one number each, at least 1, per convolution; "
                f"got {list(channels)} and {list(self.strides)}"
            )
        self.layers = nn.ModuleList(
            nn.Conv2d(before, after, 3, stride=(stride, 2), padding=1)
            for before, after, stride in zip((1, *channels), channels, self.strides, strict=False)
        )
        frequencies = input_dim
        for _ in channels:
            frequencies = -(-frequencies // 2)
        self.output_dim = channels[-1] * frequencies if channels else input_dim

    def forward(self, source: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
        lengths = None if lengths is None else lengths.to(source.device)
        x = _without_padding(source.unsqueeze(1), lengths)  # [B, 1, T, F]
        for layer, stride in zip(self.layers, self.strides, strict=True):
            lengths = None if lengths is None else _divided(lengths, stride)
            x = _without_padding(torch.relu(layer(x)), lengths)  # [B, C, T, F]
        return x.transpose(1, 2).flatten(2), lengths  # [B, T, C F]

    def output_lengths(self, lengths: Tensor) -> Tensor:
        """Return the lengths after all convolutions."""
        for stride in self.strides:
            lengths = _divided(lengths, stride)
        return lengths


def join_frame_pairs(states: Tensor) -> Tensor:
    """Concatenate pairs of neighbours: [B, T, C] -> [B, ⌈T / 2⌉, 2C]; an odd last one is concatenated with zeros.

    >>> join_frame_pairs(torch.tensor([[[1.0], [2.0], [3.0]]]))
    tensor([[[1., 2.],
             [3., 0.]]])
    """
    if states.shape[1] % 2:
        states = torch.cat((states, torch.zeros_like(states[:, :1])), dim=1)
    pairs: Tensor = states.unflatten(1, (-1, 2)).flatten(2)  # [B, T / 2, 2 C]
    return pairs


def half_lengths(lengths: Tensor) -> Tensor:
    """Halve each length, rounding up.

    >>> half_lengths(torch.tensor([4, 3, 1, 0]))
    tensor([2, 2, 1, 0])
    """
    return _divided(lengths, 2)


def _divided(lengths: Tensor, stride: int) -> Tensor:
    return (lengths + stride - 1) // stride


def _without_padding(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Zero x [B, C, T, F] past the end of each sequence, so that convolutions see zero padding there."""
    if lengths is None:
        return x
    return x.masked_fill(~token_mask(lengths, x.shape[2])[:, None, :, None], 0.0)


def _side_by_side(ends: list[RecurrentState]) -> RecurrentState:
    """Concatenate both directions of the state of each layer, [B, L, C]."""
    hidden = torch.stack([end.hidden.flatten(1) for end in ends], dim=1)  # [B, L, C]
    cells = [end.cell.flatten(1) for end in ends if end.cell is not None]
    return RecurrentState(hidden, torch.stack(cells, dim=1) if cells else None)
