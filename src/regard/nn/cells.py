"""Recurrent cells: single steps of an Elman network, a GRU and an LSTM, and PyTorch's fused layers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from regard.arguments import Share, Size, checked

CellKind = Literal["elman", "gru", "lstm"]
KINDS: tuple[CellKind, ...] = get_args(CellKind)


@checked()
@dataclass(frozen=True, kw_only=True)
class Cells:
    """Configuration of recurrent layers: `Recurrent(3, 5, Cells(kind="lstm", num_layers=2))`.

    Attributes:
        kind: recurrent cell: an Elman network, a GRU or an LSTM.
        num_layers: number of stacked layers.
        dropout: dropout between layers, not along the sequence (Zaremba et al. 2014).
        recurrent_dropout: dropout of h_{t-1} on its way into step t, with the same channels at all steps of a sequence.
        variational: drop the same channels at all steps between layers too (Gal & Ghahramani 2016).
        weight_dropout: dropout of the recurrent weights U, drawn once per sequence or window (DropConnect, Wan et al.
            2013; Merity et al. 2018).
    """

    kind: CellKind = "gru"
    num_layers: Size = 1
    dropout: Share = 0.0
    recurrent_dropout: Share = 0.0
    variational: bool = False
    weight_dropout: Share = 0.0


class CellState(NamedTuple):
    """Hidden state h [B, D], and memory cell c [B, D] of an LSTM; None otherwise."""

    hidden: Tensor
    cell: Tensor | None = None


class CellWeights(NamedTuple):
    """W [G·D, C], U [G·D, D] and biases [G·D] in PyTorch's gate order: G = 1, 3 (r, z, n) or 4 (i, f, g, o)."""

    input: Tensor
    state: Tensor
    input_bias: Tensor
    state_bias: Tensor


def cell_step(kind: str, x: Tensor, before: CellState, weights: CellWeights) -> CellState:
    r"""Compute one step of one layer.

    .. math:: \text{Elman: } h_t = \tanh(W x_t + U h_{t-1} + b) \\
              \text{GRU: } h_t = (1 - z_t) \odot \tanh(W x_t + b + r_t \odot (U h_{t-1} + b')) + z_t \odot h_{t-1} \\
              \text{LSTM: } c_t = f_t \odot c_{t-1} + i_t \odot g_t, \quad h_t = o_t \odot \tanh c_t

    Args:
        kind: `"elman"`, `"gru"` or `"lstm"`.
        x: [B, C].
        before: the state that the step starts from.
        weights: see `CellWeights`.

    Returns:
        The state after the step.

    Elman 1990; Cho et al. 2014, in the form of cuDNN, where the reset gate acts after the product with U;
    Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000.

    >>> one = CellWeights(torch.ones(1, 1), torch.ones(1, 1), torch.zeros(1), torch.zeros(1))
    >>> cell_step("elman", torch.tensor([[0.25]]), CellState(torch.tensor([[0.25]])), one).hidden   # tanh(0.5)
    tensor([[0.4621]])
    """
    if kind == "elman":
        return CellState(torch.rnn_tanh_cell(x, before.hidden, *weights))
    if kind == "gru":
        return CellState(torch.gru_cell(x, before.hidden, *weights))
    assert before.cell is not None
    return CellState(*torch.lstm_cell(x, (before.hidden, before.cell), *weights))


def layer_run(
    kind: str, x: Tensor, before: Sequence[CellState], weights: Sequence[CellWeights]
) -> tuple[Tensor, list[CellState]]:
    """Run PyTorch's fused layer over x [B, T, C]; two states and two sets of weights run both directions.

    Returns:
        Outputs of all directions, concatenated [B, T, directions * D], and the last state of each direction.

    >>> one = CellWeights(torch.ones(1, 1), torch.ones(1, 1), torch.zeros(1), torch.zeros(1))
    >>> layer_run("elman", torch.tensor([[[0.25], [0.25]]]), [CellState(torch.tensor([[0.25]]))], [one])[0]
    tensor([[[0.4621],
             [0.6120]]])
    """
    hidden = torch.stack([state.hidden for state in before])  # [directions, B, D]
    flat = [part for one in weights for part in one]
    settings = (True, 1, 0.0, torch.is_grad_enabled(), len(before) == 2, True)
    with _without_warning():
        if kind == "lstm":
            cell = torch.stack([state.cell for state in before if state.cell is not None])  # [directions, B, D]
            outputs, *after = torch.lstm(x, (hidden, cell), flat, *settings)
        else:
            outputs, *after = (torch.gru if kind == "gru" else torch.rnn_tanh)(x, hidden, flat, *settings)
    return outputs, [CellState(*parts) for parts in zip(*after, strict=True)]


@contextmanager
def _without_warning() -> Iterator[None]:
    """Suppress the warning that cuDNN has to copy the weights of a layer into one contiguous buffer."""
    if torch.compiler.is_compiling():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous chunk")
        yield


_SHUT = 1e4  # saturates a gate exactly: σ(-1e4) = 0 and σ(1e4) = 1 in floating point
_HELD = {"gru": (0.0, _SHUT, 0.0), "lstm": (-_SHUT, _SHUT, 0.0, 0.0)}
"""Bias of each gate at padding: a GRU's update gate keeps h; an LSTM's input and forget gates keep c."""


def hold_at_padding(kind: str, x: Tensor, inside: Tensor, weights: CellWeights) -> tuple[Tensor, CellWeights]:
    """Make a GRU keep h, or an LSTM keep c, at positions where `inside` [B, T] is False.

    An additional input channel, 1 at padding, saturates the gates. The final state is then the state at each sequence's
    true end, and the backward direction starts there. An LSTM's h is kept only where c is 0.

    >>> one = CellWeights(torch.ones(4, 1), torch.ones(4, 1), torch.zeros(4), torch.zeros(4))
    >>> x, some = torch.ones(1, 3, 1), torch.tensor([[True, False, False]])
    >>> x, weights = hold_at_padding("lstm", x, some, one)
    >>> _, (end,) = layer_run("lstm", x, [CellState(torch.zeros(1, 1), torch.zeros(1, 1))], [weights])
    >>> end.cell, torch.sigmoid(torch.ones(())) * torch.tanh(torch.ones(()))
    (tensor([[0.5568]]), tensor(0.5568))
    """
    size = weights.state.shape[1]
    gates = torch.cat([weights.input.new_full((size, 1), gate) for gate in _HELD[kind]])
    outside = (~inside).to(x.dtype).unsqueeze(2)
    return torch.cat((x, outside), dim=2), weights._replace(input=torch.cat((weights.input, gates), dim=1))


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
    """`nn.LSTM`, with its checks of two states."""

    forward = nn.LSTM.forward
    get_expected_cell_size = nn.LSTM.get_expected_cell_size
    check_forward_args = nn.LSTM.check_forward_args  # type: ignore[assignment]
    permute_hidden = nn.LSTM.permute_hidden  # type: ignore[assignment]

    def __init__(self, input_size: int, hidden_size: int, **options: Any) -> None:
        super().__init__("LSTM", input_size, hidden_size, **options)


LAYERS: dict[str, Callable[..., nn.RNNBase]] = {"elman": Elman, "gru": GRU, "lstm": LSTM}
"""By kind of cell."""
