"""Recurrent layers over padded sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.cuda_capture import is_recording
from regard.nn.cells import LAYERS, CellKind, Cells, CellState, CellWeights, cell_step, hold_at_padding, layer_run
from regard.nn.cpu_decode.cell import PackedCell
from regard.nn.cpu_decode.int8 import Compute
from regard.ops.dropout import scaled_dropout


@dataclass(frozen=True)
class RecurrentState:
    """Immutable state of recurrent layers.

    Attributes:
        hidden: [B, L, D], h of each layer, the lowest first; with two directions [B, 2L, D], layer by layer.
        cell: likewise c of an LSTM; None otherwise.
        noise: masks of variational dropout of this sequence, if drawn.
        recurrent_weights: U of each layer after weight dropout in this sequence, if drawn.
    """

    hidden: Tensor
    cell: Tensor | None = None
    noise: tuple[Tensor, ...] = ()
    recurrent_weights: tuple[Tensor, ...] = ()

    @property
    def top(self) -> Tensor:
        """Hidden state [B, D] of the top layer (of its backward direction, if there are two)."""
        return self.hidden[:, -1]

    def layer(self, index: int) -> CellState:
        """Return the state of one layer."""
        return CellState(self.hidden[:, index], None if self.cell is None else self.cell[:, index])

    def select(self, rows: Tensor) -> RecurrentState:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        cell = None if self.cell is None else self.cell.index_select(0, rows)
        noise = tuple(part.index_select(0, rows) for part in self.noise)
        return replace(self, hidden=self.hidden.index_select(0, rows), cell=cell, noise=noise)

    def detach(self) -> RecurrentState:
        """Return the state detached from the autograd graph, for truncated back-propagation through time."""
        cell = None if self.cell is None else self.cell.detach()
        weights = tuple(one.detach() for one in self.recurrent_weights)
        return replace(self, hidden=self.hidden.detach(), cell=cell, recurrent_weights=weights)

    def carried(self) -> RecurrentState:
        """Return the state for the next window of a text: detached, and without dropout masks."""
        return replace(self.detach(), noise=(), recurrent_weights=())

    def after(self, layers: list[CellState]) -> RecurrentState:
        """Return the next state, with the given layers and the same dropout masks."""
        cells = [layer.cell for layer in layers if layer.cell is not None]
        hidden = _stacked([layer.hidden for layer in layers])
        return replace(self, hidden=hidden, cell=_stacked(cells) if cells else None)


class Recurrent(nn.Module):
    """Elman, GRU or LSTM layers over padded batches.

    `forward` over a sequence and `step` per position compute the same function. PyTorch's fused layers are used where
    possible; with recurrent dropout in training it is a loop over the same weights. Padding does not affect results and
    has output zero, and the backward direction starts at each sequence's true end.

    By default cuDNN's recurrent layers round float32 products to TF32, which changes log-probabilities by up to 1e-4
    depending on the shape of the batch. Training follows PyTorch's settings. Evaluation uses full float32, so that
    scores depend neither on the batch nor on the choice between `forward` and `step`.

    Args:
        input_dim: C, width of the inputs.
        hidden_dim: D, width of a layer, of each direction.
        cells: configuration of the layers; a name is short for `Cells(kind=name)`.
        bidirectional: add a backward direction to each layer; the outputs of both directions are concatenated.

    Parameters: those of `torch.nn.RNN`, `GRU` or `LSTM`, with both biases: `layers.weight_ih_l0` ...
    Shapes: x [B, T, C] -> outputs [B, T, D], or [B, T, 2D] with two directions.

    Dropout: Zaremba, Sutskever & Vinyals 2014, section 3.1 (fresh channels at each step, between layers only); Gal &
    Ghahramani 2016, equation 7 (the same channels at all steps, also on h_{t-1}); Merity, Keskar & Socher 2018,
    section 2 (weights U, the same at all steps). Dropout below the first and above the last layer belongs to the model.

    >>> layers = Recurrent(3, 5, Cells(kind="lstm", num_layers=2))
    >>> outputs, state = layers(torch.randn(2, 7, 3), torch.tensor([7, 4]))
    >>> outputs.shape, state.hidden.shape, outputs[1, 4:].abs().sum().item()
    (torch.Size([2, 7, 5]), torch.Size([2, 2, 5]), 0.0)
    >>> output, state = layers.step(torch.randn(2, 3), state)
    >>> output.shape
    torch.Size([2, 5])
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, cells: Cells | CellKind = "gru", *, bidirectional: bool = False
    ) -> None:
        super().__init__()
        self.cells = Cells(kind=cells) if isinstance(cells, str) else cells
        self.input_dim = input_dim
        self.hidden_dim = hidden_dim
        self.directions = 2 if bidirectional else 1
        self.layers = LAYERS[self.cells.kind](
            input_dim,
            hidden_dim,
            num_layers=self.cells.num_layers,
            batch_first=True,
            dropout=self.cells.dropout if self.cells.num_layers > 1 else 0.0,
            bidirectional=bidirectional,
        )
        self._packed: list[PackedCell] | None = None

    def pack(self, compute: Compute = "float32") -> None:
        """Enable packed weights for steps on a CPU without gradient (see `regard.nn.pack`)."""
        if self.directions == 1:
            self._packed = [PackedCell(compute) for _ in range(self.cells.num_layers)]

    @property
    def output_dim(self) -> int:
        """Width of an output: D, or 2D with two directions."""
        return self.directions * self.hidden_dim

    def start(self, batch: int, hidden: Tensor | None = None) -> RecurrentState:
        """Return the state before the first step: h is `hidden` [B, L, D] or zero, c is zero."""
        count = self.cells.num_layers * self.directions
        if hidden is None:
            hidden = next(self.layers.parameters()).new_zeros(batch, count, self.hidden_dim)
        if hidden.shape != (batch, count, self.hidden_dim):
            raise ValueError(
                f"Recurrent: a state of {count} layers is [B, {count}, {self.hidden_dim}] with B = {batch}; "
                f"got {list(hidden.shape)}"
            )
        return RecurrentState(hidden, torch.zeros_like(hidden) if self.cells.kind == "lstm" else None)

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, state: RecurrentState | None = None
    ) -> tuple[Tensor, RecurrentState]:
        """Run over sequences.

        Args:
            x: [B, T, C].
            lengths: [B], true lengths, 0 allowed; None without padding.
            state: initial state; None for zeros.

        Returns:
            The top layer's outputs [B, T, D], zero past each sequence's end, and the state at each sequence's end.
        """
        self._check(x, 3)
        fresh = state is None
        state = self.start(x.shape[0]) if state is None else state
        state = replace(state, noise=self._noise(x), recurrent_weights=self._dropped_weights())
        if x.shape[1] == 0 or x.shape[0] == 0:
            return x.new_zeros(*x.shape[:2], self.output_dim), state
        if state.noise or state.recurrent_weights or is_recording() or _packs_slowly(x, lengths):
            # Holding an LSTM's state over leading padding needs a zero state at the start of the backward direction.
            held = self.cells.kind == "gru" or (self.cells.kind == "lstm" and fresh)
            return self._by_layer(x, lengths, state, together=held and not state.noise and self.directions == 2)
        with nullcontext() if self.training or not x.is_cuda else without_tf32():
            return self._fused(x, lengths, state)

    def step(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Compute one step of unidirectional layers: x [B, C] -> output [B, D] and the next state.

        Variational and weight dropout reuse the masks in the state, and draw new ones if it has none.
        """
        self._check(x, 2)
        if self.directions == 2:
            raise ValueError("Recurrent: two directions need the whole sequence; there is no step")
        noise = (state.noise or self._noise(x)) if self.training else ()
        weights = (state.recurrent_weights or self._dropped_weights()) if self.training else ()
        state = replace(state, noise=noise, recurrent_weights=weights)
        after: list[CellState] = []
        for layer in range(self.cells.num_layers):
            if layer > 0:
                x = self._between(x, noise, layer)
            before = self._forgetful(state.layer(layer), noise, layer)
            after.append(self._cell(layer, x)(self.cells.kind, x, before, self._weights_in(state, layer)))
            x = after[-1].hidden
        return x, state.after(after)

    def _fused(self, x: Tensor, lengths: Tensor | None, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        hidden = state.hidden.transpose(0, 1).contiguous()  # [L, B, D]
        past = hidden if state.cell is None else (hidden, state.cell.transpose(0, 1).contiguous())  # [L, B, D] each
        true = None if lengths is None else lengths.cpu()
        if true is None or bool((true == x.shape[1]).all()):
            outputs, after = self.layers(x, past)
            return outputs, _batch_first(after)
        packed = pack_padded_sequence(x, true.clamp(min=1), batch_first=True, enforce_sorted=False)
        packed, after = self.layers(packed, past)
        outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
        return _without_empty(outputs, _batch_first(after), state, true.to(x.device))

    def _by_layer(
        self, x: Tensor, lengths: Tensor | None, state: RecurrentState, *, together: bool = False
    ) -> tuple[Tensor, RecurrentState]:
        """Run layer by layer, each direction separately or both `together`."""
        after: list[CellState] = []
        lengths = None if lengths is None else lengths.to(x.device)
        along = bool(state.noise) and self.cells.recurrent_dropout > 0.0
        for layer in range(self.cells.num_layers):
            if layer > 0:
                x = self._between(x, state.noise, layer)
            if together:
                x, ends = self._both(x, lengths, state, layer)
                after.extend(ends)
                continue
            outputs = []
            for direction in range(self.directions):
                index = layer * self.directions + direction
                sequence = _reversed(x, lengths) if direction else x
                output, end = (self._loop if along else self._whole)(sequence, lengths, state, index)
                outputs.append(_reversed(output, lengths) if direction else output)
                after.append(end)
            x = torch.cat(outputs, dim=-1)
        return x, state.after(after)

    def _loop(self, x: Tensor, lengths: Tensor | None, state: RecurrentState, index: int) -> tuple[Tensor, CellState]:
        """Run one layer in one direction, step by step."""
        now, weights, outputs = state.layer(index), self._weights_in(state, index), []
        here = None if lengths is None else token_mask(lengths, x.shape[1])
        for t, word in enumerate(x.unbind(1)):
            new = cell_step(self.cells.kind, word, self._forgetful(now, state.noise, index), weights)
            if here is None:
                now = new
                outputs.append(new.hidden)
                continue
            there = here[:, t : t + 1]
            outputs.append(new.hidden.masked_fill(~there, 0.0))
            cell = None if new.cell is None or now.cell is None else torch.where(there, new.cell, now.cell)
            now = CellState(torch.where(there, new.hidden, now.hidden), cell)
        return torch.stack(outputs, dim=1), now  # [B, T, D]

    def _cell(self, layer: int, x: Tensor) -> Callable[[str, Tensor, CellState, CellWeights], CellState]:
        """Return the function that computes one step of a layer."""
        if self._packed is None or torch.is_grad_enabled() or not x.is_cpu:
            return cell_step
        return self._packed[layer].step

    def _whole(self, x: Tensor, lengths: Tensor | None, state: RecurrentState, index: int) -> tuple[Tensor, CellState]:
        """Run one layer in one direction in one fused call over padding, since packing needs the lengths on the CPU."""
        kind, before, weights = self.cells.kind, state.layer(index), self._weights_in(state, index)
        here = None if lengths is None else token_mask(lengths, x.shape[1])
        if here is not None and kind == "lstm":
            x, weights = hold_at_padding(kind, x, here, weights)
        outputs, (end,) = layer_run(kind, x, [before], [weights])
        if here is None or lengths is None:
            return outputs, end
        return outputs.masked_fill(~here.unsqueeze(2), 0.0), _last(outputs, lengths, before, end)

    def _both(
        self, x: Tensor, lengths: Tensor | None, state: RecurrentState, layer: int
    ) -> tuple[Tensor, list[CellState]]:
        """Run both directions of one layer in one fused call; the state is held at padding."""
        before = [state.layer(2 * layer), state.layer(2 * layer + 1)]
        weights = [self._weights_in(state, 2 * layer), self._weights_in(state, 2 * layer + 1)]
        if lengths is None:
            return layer_run(self.cells.kind, x, before, weights)
        here = token_mask(lengths, x.shape[1])
        (longer, first), (_, second) = (hold_at_padding(self.cells.kind, x, here, one) for one in weights)
        outputs, ends = layer_run(self.cells.kind, longer, before, [first, second])
        ends[0] = _last(outputs[..., : self.hidden_dim], lengths, before[0], ends[0])
        return outputs.masked_fill(~here.unsqueeze(2), 0.0), ends

    def weights(self, index: int) -> CellWeights:
        """Return the parameters of one layer or direction, the lowest first."""
        layer, direction = divmod(index, self.directions)
        name = f"l{layer}" + "_reverse" * direction
        return CellWeights(*(getattr(self.layers, f"{part}_{name}") for part in _PARTS))

    def _weights_in(self, state: RecurrentState, index: int) -> CellWeights:
        """Return the parameters of one layer or direction, with U after the weight dropout of the sequence."""
        weights = self.weights(index)
        return weights._replace(state=state.recurrent_weights[index]) if state.recurrent_weights else weights

    def _dropped_weights(self) -> tuple[Tensor, ...]:
        """U [G D, D] of each layer and direction after weight dropout; none in evaluation."""
        share = self.cells.weight_dropout
        if not self.training or share == 0.0:
            return ()
        return tuple(
            scaled_dropout(self.weights(index).state, share) for index in range(self.cells.num_layers * self.directions)
        )

    def _noise(self, x: Tensor) -> tuple[Tensor, ...]:
        """Draw masks of variational dropout for h and for the input of each layer, [B, L, D]; none in evaluation."""
        cells = self.cells
        above = cells.dropout if cells.variational and cells.num_layers > 1 else 0.0
        if not self.training or (above == 0.0 and cells.recurrent_dropout == 0.0):
            return ()
        along = x.new_ones(x.shape[0], cells.num_layers * self.directions, self.hidden_dim)
        up = x.new_ones(x.shape[0], cells.num_layers, self.output_dim)
        return F.dropout(along, cells.recurrent_dropout), F.dropout(up, above)

    def _between(self, x: Tensor, noise: tuple[Tensor, ...], layer: int) -> Tensor:
        """Apply dropout to the input of `layer`, x [B, D] or [B, T, D]."""
        if not self.cells.variational:
            return F.dropout(x, self.cells.dropout, self.training)
        if not noise:
            return x
        kept = noise[1][:, layer]
        return x * (kept if x.dim() == 2 else kept.unsqueeze(1))

    def _forgetful(self, before: CellState, noise: tuple[Tensor, ...], index: int) -> CellState:
        """Apply dropout to h_{t-1}; c is unchanged."""
        return before._replace(hidden=before.hidden * noise[0][:, index]) if noise else before

    def _check(self, x: Tensor, dim: int) -> None:
        if x.dim() != dim or x.shape[-1] != self.input_dim:
            shape = "[B, T, C]" if dim == 3 else "[B, C]"
            raise ValueError(f"Recurrent: x must be {shape} with C = {self.input_dim}; got {list(x.shape)}")


_LONG = 128
"""Steps from which on packed sequences are slow to learn from on a CPU."""


def _packs_slowly(x: Tensor, lengths: Tensor | None) -> bool:
    """Return whether running over padding is faster than packing: long sequences with gradient on a CPU.

    There the backward pass of each step of a packed sequence fills a gradient of the whole sequence: quadratic cost.
    """
    return lengths is not None and x.is_cpu and x.shape[1] >= _LONG and torch.is_grad_enabled()


def _last(outputs: Tensor, lengths: Tensor, before: CellState, end: CellState) -> CellState:
    """Return the state at each sequence's end: h gathered from the outputs [B, T, D], c held over padding."""
    last = (lengths - 1).clamp(min=0)[:, None, None].expand(-1, 1, outputs.shape[2])
    hidden = torch.where((lengths > 0).unsqueeze(1), outputs.gather(1, last).squeeze(1), before.hidden)  # [B, D]
    return CellState(hidden, end.cell)


@contextmanager
def without_tf32() -> Iterator[None]:
    """Context manager that disables TF32 in cuDNN's recurrent layers."""
    settings: Any = torch.backends.cudnn.rnn
    before = settings.fp32_precision
    settings.fp32_precision = "ieee"
    try:
        yield
    finally:
        settings.fp32_precision = before


def _stacked(layers: list[Tensor]) -> Tensor:
    """Stack [B, D] of each layer to [B, L, D]; a single layer is not copied, since this runs at every step."""
    return layers[0].unsqueeze(1) if len(layers) == 1 else torch.stack(layers, dim=1)


_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _batch_first(after: Tensor | tuple[Tensor, Tensor]) -> RecurrentState:
    """Convert PyTorch's state [L, B, D] to `RecurrentState`."""
    if isinstance(after, Tensor):
        return RecurrentState(after.transpose(0, 1))  # [B, L, D]
    return RecurrentState(after[0].transpose(0, 1), after[1].transpose(0, 1))  # [B, L, D] each


def _without_empty(
    outputs: Tensor, after: RecurrentState, before: RecurrentState, lengths: Tensor
) -> tuple[Tensor, RecurrentState]:
    """Restore sequences of length 0, which packing ran with length 1: zero outputs and the previous state."""
    empty = (lengths == 0)[:, None, None]
    hidden = torch.where(empty, before.hidden, after.hidden)
    cell = None if after.cell is None or before.cell is None else torch.where(empty, before.cell, after.cell)
    return outputs.masked_fill(empty, 0.0), RecurrentState(hidden, cell)


def token_mask(lengths: Tensor, size: int) -> Tensor:
    """Return a mask [B, T], True at words and False at padding."""
    return torch.arange(size, device=lengths.device) < lengths.unsqueeze(1)


def _reversed(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Reverse each sequence within its true length; None reverses the whole time axis."""
    return x.flip(1) if lengths is None else reverse_sequences(x, lengths)


def reverse_sequences(x: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each sequence within its true length; padding stays at the end. x: [B, T] or [B, T, C].

    >>> reverse_sequences(torch.tensor([[1, 2, 3], [1, 2, 0]]), torch.tensor([3, 2]))
    tensor([[3, 2, 1],
            [2, 1, 0]])
    """
    places = torch.arange(x.shape[1], device=x.device)
    ends = lengths.to(x.device).unsqueeze(1)
    index = torch.where(places < ends, ends - 1 - places, places)
    return x.gather(1, index if x.dim() == 2 else index.unsqueeze(2).expand_as(x))
