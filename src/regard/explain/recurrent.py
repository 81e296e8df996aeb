r"""States and gates of recurrent layers over time.

    LSTM:  i, f, o = σ(W x_t + U h_{t-1} + b),  g = tanh(...),  c_t = f c_{t-1} + i g,  h_t = o tanh c_t
    GRU:   r, z = σ(...),  n = tanh(W x_t + b + r (U h_{t-1} + b')),  h_t = (1 - z) n + z h_{t-1}

The layers themselves run unchanged; gates are recomputed separately from the same inputs and weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from regard.explain.panel import CurvesPanel, Panel

_UNITS = 48
"""Maximum number of units in a figure; the units with the largest changes are selected."""

Read = dict[str, tuple[nn.RNNBase, Tensor, Any]]


@contextmanager
def recurrent_reads(model: nn.Module) -> Iterator[Read]:
    """Yield a dict that is filled with the first inputs and initial state of each recurrent layer that runs inside."""
    reads: Read = {}
    with ExitStack() as stack:
        for name, module in model.named_modules():
            if isinstance(module, nn.RNNBase):
                stack.callback(module.register_forward_pre_hook(partial(_keep, reads, name)).remove)
        yield reads


def _keep(reads: Read, name: str, module: nn.Module, args: tuple[Any, ...]) -> None:
    assert isinstance(module, nn.RNNBase)
    first = args[0]
    if name in reads or isinstance(first, PackedSequence):
        return
    reads[name] = (module, first if module.batch_first else first.transpose(0, 1), args[1] if len(args) > 1 else None)


def state_panels(reads: Read, steps: Sequence[str]) -> list[Panel]:
    """Return panels per layer and direction: the mean of each gate, and the states of units, over time.

    Args:
        reads: recorded by `recurrent_reads`; only the first sequence of a batch is shown.
        steps: names of the steps; ignored for sequences of another length.
    """
    panels: list[Panel] = []
    for name, (module, inputs, state) in reads.items():
        for layer, found in enumerate(recurrent_trace(module, inputs[:1], state)):
            number, backward = divmod(layer, 2 if module.bidirectional else 1)
            place = f"{name}: layer {number + 1}" + (", from the end" if backward else "")
            panels += _panels(place, found, tuple(steps))
    return panels


def _panels(place: str, found: dict[str, Tensor], steps: tuple[str, ...]) -> list[Panel]:
    hidden = found["hidden state"][0]  # [T, D]
    names = steps if len(steps) == len(hidden) else ()
    kept = hidden.std(0, correction=0).topk(min(_UNITS, hidden.shape[1])).indices.sort().values
    gates = [name for name in found if name.endswith("gate")]
    panels: list[Panel] = []
    if gates:
        means = torch.stack([found[name][0].mean(-1) for name in gates])
        panels.append(
            CurvesPanel(f"{place}: gates, mean of {hidden.shape[1]} units", means, "", "", tuple(gates), names)
        )
    for name in ("hidden state", "cell"):
        if name in found:
            units = tuple(f"unit {unit + 1}" for unit in kept.tolist())
            many = f", the {_UNITS} that change most" if len(kept) < hidden.shape[1] else ""
            panels.append(Panel(f"{place}: {name}{many}", found[name][0][:, kept].T, "", "", units, names))
    return panels


@torch.no_grad()
def recurrent_trace(module: nn.RNNBase, inputs: Tensor, state: Any = None) -> list[dict[str, Tensor]]:
    """Return gates and states [B, T, D] per layer and direction, the lowest layer first.

    Args:
        module: `torch.nn.RNN`, `GRU` or `LSTM`.
        inputs: [B, T, C].
        state: initial state in the module's format; None for zeros.

    >>> layer = nn.LSTM(3, 5, batch_first=True)
    >>> x = torch.randn(1, 7, 3)
    >>> torch.allclose(recurrent_trace(layer, x)[0]["hidden state"], layer(x)[0], atol=1e-6)
    True
    """
    hidden, cell = state if isinstance(state, tuple) else (state, None)
    directions, found = 2 if module.bidirectional else 1, []
    for layer in range(module.num_layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            before = [None if one is None else one[index, : len(inputs)] for one in (hidden, cell)]
            sequence = inputs.flip(1) if direction else inputs
            read = _walk(module, sequence, f"_l{layer}{'_reverse' if direction else ''}", before)
            found.append({name: one.flip(1) if direction else one for name, one in read.items()})
            outputs.append(found[-1]["hidden state"])
        inputs = torch.cat(outputs, -1)
    return found


def _walk(module: nn.RNNBase, inputs: Tensor, suffix: str, before: Sequence[Tensor | None]) -> dict[str, Tensor]:
    into, across = (getattr(module, f"weight_{part}{suffix}") for part in ("ih", "hh"))
    zero = into.new_zeros(len(into))
    biases = [getattr(module, f"bias_{part}{suffix}") if module.bias else zero for part in ("ih", "hh")]
    start = inputs.new_zeros(len(inputs), module.hidden_size)
    hidden, cell = (start if one is None else one for one in before)
    steps: list[dict[str, Tensor]] = []
    for x in inputs.unbind(1):  # [B, C] per step
        given, known = x @ into.T + biases[0], hidden @ across.T + biases[1]
        if module.mode == "LSTM":
            one = _lstm(given + known, cell)
            cell = one["cell"]
        elif module.mode == "GRU":
            one = _gru(given, known, hidden)
        else:
            one = {"hidden state": (given + known).relu() if module.mode == "RNN_RELU" else (given + known).tanh()}
        hidden = one["hidden state"]
        steps.append(one)
    # [B, T, D] for each gate and state
    return {name: torch.stack([step[name] for step in steps], 1) for name in (steps[0] if steps else ())}


def _lstm(total: Tensor, cell: Tensor) -> dict[str, Tensor]:
    enter, forget, new, out = total.chunk(4, -1)  # PyTorch's order of gates: i, f, g, o
    cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
    return {
        "input gate": enter.sigmoid(),
        "forget gate": forget.sigmoid(),
        "output gate": out.sigmoid(),
        "cell": cell,
        "hidden state": out.sigmoid() * cell.tanh(),
    }


def _gru(given: Tensor, known: Tensor, hidden: Tensor) -> dict[str, Tensor]:
    (reset, update, new), (reset_, update_, new_) = given.chunk(3, -1), known.chunk(3, -1)
    opened, kept = (reset + reset_).sigmoid(), (update + update_).sigmoid()
    # The reset gate applies to the projected state including its bias, as in cuDNN, not to the state itself.
    proposed = (new + opened * new_).tanh()
    return {"reset gate": opened, "update gate": kept, "hidden state": (1 - kept) * proposed + kept * hidden}
