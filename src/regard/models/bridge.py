"""Bridge from an encoder to the first state of a recurrent decoder."""

from __future__ import annotations

import torch
from torch import nn

from regard.models.encoded import Encoded, width_of
from regard.models.recurrent_encoder import RecurrentEncoder
from regard.nn.rnn import Recurrent, RecurrentState


def bridge_to(layers: Recurrent, encoder: nn.Module) -> nn.Linear | None:
    """Return the map from an encoder's summary to the first state of recurrent layers; None if its last state fits.

    It fits if the encoder has the same number of layers, the same cells and the same width.

    >>> layers = Recurrent(3, 8, "gru")
    >>> print(bridge_to(layers, RecurrentEncoder(11, embedding_dim=3, hidden_dim=8, cells="gru")))
    None
    >>> bridge_to(layers, RecurrentEncoder(11, embedding_dim=3, hidden_dim=6, cells="gru"))
    Linear(in_features=6, out_features=8, bias=True)
    """
    if isinstance(encoder, RecurrentEncoder) and encoder.output_dim == layers.hidden_dim:
        theirs, mine = encoder.layers.cells, layers.cells
        if (theirs.kind, theirs.num_layers) == (mine.kind, mine.num_layers):
            return None
    return nn.Linear(width_of(layers, encoder), layers.cells.num_layers * layers.hidden_dim)


def first_state(layers: Recurrent, bridge: nn.Linear | None, encoded: Encoded) -> RecurrentState:
    r"""Return the encoder's last state, or, over a bridge, :math:`s_0 = \tanh(W h + b)` of its summary h.

    A bridge narrower than the summary uses the last channels: with two directions, those of the backward one.
    """
    if bridge is None:
        assert isinstance(encoded.state, RecurrentState)
        return encoded.state
    summary = encoded.summary[:, -bridge.in_features :]
    first = torch.tanh(bridge(summary)).unflatten(1, (-1, layers.hidden_dim))  # [B, L, D]
    return layers.start(len(first), first)
