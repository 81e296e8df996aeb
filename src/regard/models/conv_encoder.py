"""Convolutional encoder of texts."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import Share, Size, checked
from regard.constraints import window_is_odd
from regard.masks import Mask
from regard.models.embeddings import check_ids
from regard.models.encoded import Encoded
from regard.models.transformer_encoder import PositionedEmbeddings
from regard.nn.dropout import Dropout
from regard.nn.rnn import token_mask


class ConvEncoder(nn.Module):
    r"""Stacked convolutions with gated linear units: each state depends on a window of words.

    .. math:: h^0_s = \sqrt{C}\, E x_s + P_s, \quad
              [a; b]_s = W^l [h^{l-1}_{s-r}; \dots; h^{l-1}_{s+r}] + c^l, \quad
              h^l_s = \sqrt{1/2}\, (a_s \odot \sigma(b_s) + h^{l-1}_s)

    with a window of 2r + 1 words and zero padding at both ends. After L layers a state depends on Lr words on either
    side. Unlike in recurrent layers, all states of a layer are computed in parallel. Unlike in attention, distant words
    do not interact.

    Args:
        size: size of the vocabulary.
        hidden_dim: width C of the embeddings, of all layers and of the states.
        num_layers: number L of convolutions; a state depends on L r words on either side.
        window: filter width 2r + 1 in words, odd.
        dropout: dropout of the embeddings and of the input of each convolution.
        positions: vectors added to the embeddings: `"sinusoidal"`, `"learned"` (as in the papers), or `"none"`.
        max_length: number of learned positions, the longest text.

    Shapes: source [B, S], lengths [B] -> `Encoded`; its summary is the mean of the states.

    Parameters: `words.table` E; `layers` W and c. As in the paper W is initialised from a normal distribution with
    variance 4 (1 - dropout) / ((2r + 1) C) and c with zeros, so that each layer roughly preserves the variance of its
    input.

    Gehring et al. 2017, "A Convolutional Encoder Model for Neural Machine Translation", section 3; the gates, the
    scaling of residual connections by sqrt(1/2) and the initial weights are of Gehring et al. 2017, "Convolutional
    Sequence to Sequence Learning", sections 3.2, 3.4 and 3.5. The former paper has tanh instead of gates and
    a second stack for the keys of attention. Neither is implemented, nor is weight normalisation.

    >>> encoded = ConvEncoder(11, hidden_dim=6, num_layers=2)(torch.ones(2, 7).long(), torch.tensor([7, 4]))
    >>> encoded.states.shape, encoded.summary.shape, encoded.states[1, 4:].abs().sum().item()
    (torch.Size([2, 7, 6]), torch.Size([2, 6]), 0.0)
    """

    @checked(window_is_odd)
    def __init__(
        self,
        size: int,
        *,
        hidden_dim: Size = 256,
        num_layers: Size = 6,
        window: int = 3,
        dropout: Share = 0.1,
        positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal",
        max_length: Size = 1024,
    ) -> None:
        super().__init__()
        self.output_dim = hidden_dim
        self.words = PositionedEmbeddings(size, hidden_dim, dropout=dropout, positions=positions, max_length=max_length)
        self.layers = nn.ModuleList(
            nn.Conv1d(hidden_dim, 2 * hidden_dim, window, padding=window // 2) for _ in range(num_layers)
        )
        self.dropout = Dropout(dropout)
        for layer in self.layers:
            assert isinstance(layer, nn.Conv1d)
            assert layer.bias is not None
            nn.init.normal_(layer.weight, std=(4 * (1 - dropout) / (window * hidden_dim)) ** 0.5)
            nn.init.zeros_(layer.bias)

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> Encoded:
        """Encode token ids [B, S] with true `lengths` [B]; None without padding."""
        states: Tensor = self.words(check_ids(self, source))
        batch, size, _ = states.shape
        present = None if lengths is None else token_mask(lengths.to(states.device), size).unsqueeze(2)  # [B, S, 1]
        if size:  # PyTorch's convolution rejects an empty sequence
            for layer in self.layers:
                # Bias and residuals make padding non-zero, and the next convolution would read it: mask every time.
                states = _masked(states, present)
                gates = layer(self.dropout(states).mT).mT  # [B, C, S] -> [B, S, 2C]
                states = (F.glu(gates, dim=2) + states) * 0.5**0.5
        states = _masked(states, present)
        mask = None if lengths is None else Mask.padding(lengths)
        counts = torch.full((batch,), size, device=states.device) if lengths is None else lengths.to(states.device)
        return Encoded(states, states.sum(1) / counts.clamp(min=1).unsqueeze(1), mask)


def _masked(states: Tensor, present: Tensor | None) -> Tensor:
    """Set states [B, S, C] to zero at padding."""
    return states if present is None else states.masked_fill(~present, 0.0)
