"""PyTorch's recurrent layers by types that can be compiled.

`torch.compile` refuses modules of the types `nn.RNN`, `nn.GRU` and `nn.LSTM`, even to read their parameters, but not of
their base class. Parameters, initialisation and eager computation are PyTorch's own; a compiled call reads only the
parameters, which `Recurrent` hands to the function of the layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn


class Elman(nn.RNNBase):
    """`nn.RNN` with tanh."""

    nonlinearity = "tanh"
    forward = nn.RNN.forward

    def __init__(self, input_size: int, hidden_size: int, **options: Any) -> None:
        super().__init__("RNN_TANH", input_size, hidden_size, **options)


class GRU(nn.RNNBase):
    """`nn.GRU`."""

    forward = nn.GRU.forward

    def __init__(self, input_size: int, hidden_size: int, **options: Any) -> None:
        super().__init__("GRU", input_size, hidden_size, **options)


class LSTM(nn.RNNBase):
    """`nn.LSTM`, whose checks know of its second state."""

    forward = nn.LSTM.forward
    get_expected_cell_size = nn.LSTM.get_expected_cell_size
    check_forward_args = nn.LSTM.check_forward_args  # type: ignore[assignment]
    permute_hidden = nn.LSTM.permute_hidden  # type: ignore[assignment]

    def __init__(self, input_size: int, hidden_size: int, **options: Any) -> None:
        super().__init__("LSTM", input_size, hidden_size, **options)


LAYERS: dict[str, Callable[..., nn.RNNBase]] = {"elman": Elman, "gru": GRU, "lstm": LSTM}
"""By kind of cell."""
