"""CTC loss with lengths on the device, for capture in a CUDA graph."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

LOG_ZERO = -1e30
"""The logarithm of zero. Finite, so that no difference of two of them is NaN, here or in a backward pass; sums of any
number of them stay in float32, and no real log-probability comes near."""


class CapturedCTC(torch.autograd.Function):
    r"""Negative log-likelihood of each transcript, with its gradient by the forward-backward algorithm.

    .. math:: \frac{\partial (-\log p(y \mid x))}{\partial \log p_{tv}} = -\gamma_t(v)

    γ is the posterior that frame t emits symbol v. PyTorch's fused kernels copy the lengths to the CPU. Here they
    stay on the device: the recursion runs over all steps of the padded batch and holds its state at padding.

    Shapes: log_probs [B, T, V], targets [B, U], frames [B], labels [B] -> losses [B]; 0 for transcripts that the frames
    are too few for.

    Graves, Fernández, Gomez & Schmidhuber 2006, equations 5 to 16.

    >>> one = torch.ones(1, dtype=torch.long)
    >>> losses = CapturedCTC.apply(torch.full((1, 2, 2), 0.5).log(), one[None], 2 * one, one, 0)
    >>> losses.neg().exp()
    tensor([0.7500])
    """

    @staticmethod
    def forward(ctx: Any, log_probs: Tensor, targets: Tensor, frames: Tensor, labels: Tensor, blank: int) -> Tensor:
        symbols = interleaved(targets, labels, blank)  # [B, S], S = 2U + 1
        steps = torch.arange(log_probs.shape[1], device=log_probs.device)
        real = steps < frames.unsqueeze(1)  # [B, T]
        places = symbols.unsqueeze(1).expand(-1, len(steps), -1)  # [B, T, S]
        emitted = log_probs.clamp(min=LOG_ZERO).gather(2, places)  # [B, T, S]
        forth, back = _passes(emitted, real, symbols, labels, blank)
        # Padding holds the forward variables of the last frame, so they are in the last row.
        ends = torch.stack((2 * labels, 2 * labels - 1), dim=1)  # [B, 2]: the last blank and the last label
        final = forth[:, -1].gather(1, ends.clamp(min=0)).masked_fill(ends < 0, LOG_ZERO)  # [B, 2]
        level = final.logsumexp(1)
        possible = level > 0.5 * LOG_ZERO
        inside = (real & possible.unsqueeze(1)).unsqueeze(2)
        joint = forth[:, 1:] + back - emitted  # both passes count the emission
        posterior = (joint - level[:, None, None]).clamp(max=0).exp().masked_fill(~inside, 0.0)
        occupancy = torch.zeros_like(log_probs).scatter_add_(2, places, posterior)
        ctx.save_for_backward(occupancy)
        return -level.masked_fill(~possible, 0.0)

    @staticmethod
    def backward(ctx: Any, grad_losses: Tensor) -> tuple[Tensor | None, ...]:
        (occupancy,) = ctx.saved_tensors
        return -occupancy * grad_losses[:, None, None], None, None, None, None


def interleaved(targets: Tensor, labels: Tensor, blank: int) -> Tensor:
    """Insert blanks around all labels: [B, U] -> [B, 2U + 1]; padding is replaced by blanks."""
    batch, size = targets.shape
    padded = torch.arange(size, device=targets.device) >= labels.unsqueeze(1)
    symbols = targets.new_full((batch, 2 * size + 1), blank, dtype=torch.long)
    symbols[:, 1::2] = targets.masked_fill(padded, blank)
    return symbols


def _passes(emitted: Tensor, real: Tensor, symbols: Tensor, labels: Tensor, blank: int) -> tuple[Tensor, Tensor]:
    """Return log-probabilities of the paths up to each state, [B, T + 1, S], and from each state on, [B, T, S].

    Both include the emission of their frame. The second pass is the first one on reversed frames and states, so that
    one loop over 2B rows does both. The first row of the forward pass is the state before all frames.
    """
    batch, frames, states = emitted.shape
    before = F.pad(symbols, (2, 0), value=blank)[:, :states]
    leaps = torch.where((symbols != blank) & (symbols != before), 0.0, LOG_ZERO).to(emitted.dtype)  # from s - 2 to s
    ahead = F.pad(leaps, (0, 2), value=LOG_ZERO)[:, 2:]  # from s to s + 2
    place = torch.arange(states, device=emitted.device)
    # A path starts in the first blank before any emission; a reversed path in the last blank of its transcript.
    first, last = torch.zeros_like(labels).unsqueeze(1), 2 * labels.unsqueeze(1)
    stands = torch.cat((place == first, (place == last).flip(1)))  # [2B, S]
    leaps = torch.cat((leaps, ahead.flip(1)))  # [2B, S]
    emitted = torch.cat((emitted, emitted.flip(1, 2))).transpose(0, 1)  # [T, 2B, S]
    real = torch.cat((real, real.flip(1))).t().unsqueeze(2)  # [T, 2B, 1]
    rows = emitted.new_full((frames + 1, 2 * batch, states + 2), LOG_ZERO)  # two extra columns, the source of shifts
    rows[0, :, 2:].masked_fill_(stands, 0.0)
    for t in range(frames):
        stay = rows[t, :, 2:]
        reached = torch.logaddexp(torch.logaddexp(stay, rows[t, :, 1:-1]), rows[t, :, :-2] + leaps) + emitted[t]
        torch.where(real[t], reached, stay, out=rows[t + 1, :, 2:])
    both = rows[..., 2:].transpose(0, 1)  # [2B, T + 1, S]
    return both[:batch], both[batch:, 1:].flip(1, 2)
