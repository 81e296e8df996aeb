"""Recurrent network over vectors, the baseline of the Neural Turing Machine."""

from __future__ import annotations

from torch import Tensor, nn

from regard.arguments import Size, checked
from regard.models.model_output import ModelOutput
from regard.nn.cells import CellKind, Cells
from regard.nn.rnn import Recurrent, RecurrentState


class VectorRNN(nn.Module):
    r"""Recurrent network that predicts bits: h_t = RNN(x_t, h_{t-1}), p(y_t) = σ(W h_t + b).

    Args:
        input_dim: width of an input vector.
        output_dim: number of bits of an output.
        hidden_dim: width of a layer.
        cells: recurrent cells of the layers, by kind or with all their arguments.

    Shapes: inputs [B, T, input_dim] -> logits [B, T, output_dim].

    The LSTM baseline of Graves, Wayne & Danihelka 2014 (three layers of 128 to 512 units).

    >>> import torch
    >>> VectorRNN(5, 4, hidden_dim=7)(torch.rand(2, 6, 5)).logits.shape
    torch.Size([2, 6, 4])
    """

    @checked()
    def __init__(
        self, input_dim: int, output_dim: int, *, hidden_dim: Size = 256, cells: Cells | CellKind = "lstm"
    ) -> None:
        super().__init__()
        self.layers = Recurrent(input_dim, hidden_dim, cells)
        self.output_map = nn.Linear(hidden_dim, output_dim)

    def forward(self, inputs: Tensor, state: RecurrentState | None = None) -> ModelOutput:
        """Map inputs [B, T, input_dim], from an initial state, to logits [B, T, output_dim]."""
        outputs, after = self.layers(inputs, state=state)
        return ModelOutput(self.output_map(outputs), after)
