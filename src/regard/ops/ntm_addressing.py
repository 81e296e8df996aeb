"""Addressing of a Neural Turing Machine's heads (Graves, Wayne & Danihelka 2014).

The steps: content addressing, interpolation with the previous weighting, a shift along the tape, and sharpening against
the blur of shifts. Weights are [B, H, T, N] here: N rows of memory, T = 1 in use, because w_t needs w_{t-1}.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.card import Card
from regard.ops.softmax import statistics_dtype

CARD = Card(
    name="ntm_addressing",
    family="aligner",
    equation="w ∝ (s ∗ (g w^c + (1-g) w_{t-1}))^γ",
    paper="Graves, Wayne & Danihelka 2014, eq. 5-9",
    cost="T·N·K for K shifts",
    op="ntm_address",
    module="Addressing",
)


def ntm_address(
    content: Tensor, previous: Tensor, gate: Tensor, shift: Tensor, gamma: Tensor, mask: Mask | None = None
) -> Tensor:
    r"""Weighting of a head for its next read or write: interpolate, shift, sharpen.

    .. math:: w^g = g\, w^c + (1-g)\, w_{t-1}, \quad
              \tilde w(i) = \sum_j w^g(j)\, s(i-j), \quad
              w(i) = \tilde w(i)^\gamma \Big/ \sum_j \tilde w(j)^\gamma

    Args:
        content: [B, H, T, N], w^c: the softmax of β cos, see `cosine_score`.
        previous: [B, H, T, N], w_{t-1}.
        gate: [B, H, T], g in (0, 1): 1 uses content alone, 0 keeps the previous weighting.
        shift: [B, H, T, K], s: a distribution over the offsets -(K-1)/2 ... (K-1)/2, K odd.
        gamma: [B, H, T], γ >= 1.
        mask: which rows there are; None for all. The tape is a ring of these rows, see `circular_shift`.

    Returns:
        Weights [B, H, T, N], in float32 for half-precision inputs; zero where there is nothing to attend to.

    Graves, Wayne & Danihelka 2014, "Neural Turing Machines", section 3.3, equations 7 to 9 (5 and 6 give w^c). The
    fourth step, sharpening, is often left out of summaries; without it every shift blurs the weighting a little more.

    >>> first, one = torch.tensor([[[[1.0, 0.0, 0.0]]]]), torch.ones(1, 1, 1)
    >>> ntm_address(first, first, one, torch.tensor([[[[0.0, 0.2, 0.8]]]]), 2 * one)      # 0.04 : 0.64
    tensor([[[[0.0588, 0.9412, 0.0000]]]])
    """
    if content.shape != previous.shape:
        raise ValueError(
            f"ntm_addressing: content and previous must both be [B, H, T, N]; "
            f"got {list(content.shape)} and {list(previous.shape)}"
        )
    return sharpen(circular_shift(interpolate(content, previous, gate), shift, mask), gamma)


def interpolate(content: Tensor, previous: Tensor, gate: Tensor) -> Tensor:
    """Compute g w^c + (1 - g) w_{t-1}: weights [B, H, T, N], gate [B, H, T]. Equation 7.

    >>> interpolate(torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([[[[0.0, 1.0]]]]), torch.tensor([[[0.75]]]))
    tensor([[[[0.7500, 0.2500]]]])
    """
    _check_knob("gate", gate, content)
    content = content.to(statistics_dtype(content.dtype))
    return previous.to(content.dtype).lerp(content, gate.unsqueeze(3).to(content.dtype))


def circular_shift(weights: Tensor, shift: Tensor, mask: Mask | None = None) -> Tensor:
    r"""Move a weighting along the ring of rows: all of the shift on +1 takes the focus from row i to row i + 1.

    .. math:: \tilde w(i) = \sum_j w(j)\, s\bigl((i - j) \bmod N\bigr)

    A convolution; `torch.nn.functional.conv1d` is a correlation and would move the focus the other way.

    Args:
        weights: [B, H, T, N].
        shift: [B, H, T, K], K odd; entry k moves by k - (K-1)/2.
        mask: which rows there are. The ring consists of these, in their order, so that padding changes nothing: with
            three rows and two of padding, the row after the third is the first. Other rows get weight zero.

    Returns:
        Weights [B, H, T, N], in float32 for half-precision inputs.

    Graves, Wayne & Danihelka 2014, equation 8.

    >>> last, plus_one = torch.tensor([[[[0.0, 0.0, 1.0, 0.0]]]]), torch.tensor([[[[0.0, 0.0, 1.0]]]])
    >>> circular_shift(last, plus_one)
    tensor([[[[0., 0., 0., 1.]]]])
    >>> circular_shift(last, plus_one, Mask.padding([3]))
    tensor([[[[1., 0., 0., 0.]]]])
    """
    if shift.dim() != 4 or shift.shape[:3] != weights.shape[:3] or shift.shape[3] % 2 == 0:
        raise ValueError(
            f"ntm_addressing: shift must be [B, H, T, K] with K odd and [B, H, T] = {list(weights.shape[:3])}; "
            f"got {list(shift.shape)}"
        )
    weights, shift = (part.to(statistics_dtype(part.dtype)) for part in (weights, shift))
    reach = shift.shape[3] // 2
    if mask is None:
        turned = [weights.roll(offset, -1) if offset else weights for offset in range(-reach, reach + 1)]
    else:
        turned = _turned(weights, mask, reach)
    return (shift.unsqueeze(4) * torch.stack(turned, dim=3)).sum(3)  # [B, H, T, K, N] summed over K


def _turned(weights: Tensor, mask: Mask, reach: int) -> list[Tensor]:
    """Return the weighting shifted by -reach, ..., reach positions on the ring of the rows that `mask` allows."""
    batch, heads, queries, rows = weights.shape
    allowed = mask.allowed((batch, heads, queries, rows), device=weights.device)
    allowed = allowed.expand(*allowed.shape[:3], rows)
    ring = (~allowed).to(torch.uint8).argsort(dim=-1, stable=True)  # the allowed rows in order, then the others
    position, size = allowed.cumsum(-1) - 1, allowed.sum(-1, keepdim=True).clamp(min=1)
    # [B, H or 1, T or 1, N] each
    sources = (ring.gather(-1, (position - offset).remainder(size)) for offset in range(-reach, reach + 1))
    # [B, H, T, N] each
    return [weights.gather(-1, source.expand_as(weights)).masked_fill(~allowed, 0.0) for source in sources]


def sharpen(weights: Tensor, gamma: Tensor) -> Tensor:
    r"""Concentrate a weighting: w(i)^γ over its sum. γ = 1 only normalises; a weighting of zeros stays zero.

    .. math:: w(i) = \tilde w(i)^\gamma \Big/ \sum_j \tilde w(j)^\gamma, \quad \gamma \ge 1

    A softmax of γ log w, so that no γ underflows to 0/0.

    Args:
        weights: [B, H, T, N], not negative.
        gamma: [B, H, T].

    Returns:
        Weights [B, H, T, N], in float32 for half-precision inputs.

    Graves, Wayne & Danihelka 2014, equation 9.

    >>> sharpen(torch.tensor([[[[0.5, 0.25, 0.25]]]]), torch.tensor([[[2.0]]]))      # 4 : 1 : 1
    tensor([[[[0.6667, 0.1667, 0.1667]]]])
    """
    _check_knob("gamma", gamma, weights)
    weights, gamma = (part.to(statistics_dtype(part.dtype)) for part in (weights, gamma))
    smallest = torch.finfo(weights.dtype).tiny
    sharp = (weights.clamp(min=smallest).log() * gamma.unsqueeze(3)).softmax(-1)
    return sharp.masked_fill(weights < smallest, 0.0)


def _check_knob(name: str, knob: Tensor, weights: Tensor) -> None:
    """A number for each weighting."""
    if weights.dim() != 4 or knob.shape != weights.shape[:3]:
        raise ValueError(
            f"ntm_addressing: {name} must be [B, H, T] for weights [B, H, T, N]; "
            f"got {list(knob.shape)} and {list(weights.shape)}"
        )
