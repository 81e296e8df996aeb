"""Interface between encoders and decoders."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import torch
from torch import Tensor, nn

from regard.arguments import Choice
from regard.cuda_capture import is_recording
from regard.masks import Mask
from regard.nn.deep_lstmn import DeepLSTMNState
from regard.nn.rnn import RecurrentState


class Encoded(NamedTuple):
    """Output of an encoder, and the only view of the source for decoders, acceptors and transducers.

    An encoder is any module that is called with (source, lengths), returns an `Encoded`, and has an attribute
    `output_dim`, the width C of its states. The type of the source depends on the encoder: ids [B, S], vectors
    [B, S, C'], images [B, C', H, W], nodes. `lengths` [B] is None without padding. S below is the number of states,
    which may differ from the length of the source: an image has one state per region.

    Attributes:
        states: [B, S, C], zero at padding.
        summary: [B, C], the source as one vector: [→h_S; ←h_1] of bidirectional recurrent layers; zero for an empty
            source.
        mask: mask of present states, [B, 1, 1, S]; None for all of them.
        state: last state of the recurrent layers: [B, L, C] with both directions concatenated, or the tapes of LSTMNs;
            None for encoders without recurrent layers.

    A custom encoder in ten lines:

    >>> class Regions(nn.Module):
    ...     output_dim = 5
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.map = nn.Conv2d(3, 5, kernel_size=4, stride=4)
    ...     def forward(self, images, lengths=None):
    ...         states = self.map(images).flatten(2).mT                      # [B, 5, H, W] -> [B, H * W, 5]
    ...         return Encoded(states, states.mean(1), None)
    >>> from regard.models import Luong
    >>> model = Luong(Regions(), 13, embedding_dim=4, hidden_dim=6)
    >>> model(torch.rand(2, 3, 8, 12), None, torch.ones(2, 7).long()).attended.weights().shape
    torch.Size([2, 7, 6])
    """

    states: Tensor
    summary: Tensor
    mask: Mask | None
    state: RecurrentState | DeepLSTMNState | None = None

    def without_full_mask(self) -> Encoded:
        """Replace a mask that allows all states by None, so that no step of a search applies it.

        Only without gradient, where a decoder takes many steps, since the check synchronises with the device.
        """
        if self.mask is None or torch.is_grad_enabled() or is_recording():
            return self
        batch, size, _ = self.states.shape
        allowed = self.mask.allowed((batch, 1, 1, size), device=self.states.device)
        return self._replace(mask=None) if bool(allowed.all()) else self


AnyEncoder = Annotated[nn.Module, Choice("encoder")]
"""An encoder as an argument; a recipe gives it by `kind` and its arguments."""


def last_states(states: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Return the last state of each sequence, [B, S, C] -> [B, C]; zero for an empty sequence."""
    if lengths is None:
        return states[:, -1:].sum(1)
    last = torch.arange(1, states.shape[1] + 1, device=states.device) == lengths.to(states.device).unsqueeze(1)
    return states.masked_fill(~last.unsqueeze(2), 0.0).sum(1)


def width_of(owner: nn.Module, encoder: nn.Module) -> int:
    """Return the width of an encoder's states.

    Raises:
        ValueError: the module has no `output_dim`, so it is not an encoder.
    """
    width = getattr(encoder, "output_dim", None)
    if not isinstance(width, int):
        raise ValueError(
            f"{type(owner).__name__}: an encoder has an attribute output_dim, the width of its states; "
            f"{type(encoder).__name__} has {'none' if width is None else width}"
        )
    return width
