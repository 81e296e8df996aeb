"""Local attention with predictive alignment, local-p (Luong, Pham & Manning 2015)."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.card import Card
from regard.ops.softmax import masked_softmax, statistics_dtype

CARD = Card(
    name="local_p",
    family="aligner",
    equation="a_ts = softmax_{|s - ⌊p⌋| ≤ D}(e_t)_s · exp(-(s - p)² / 2σ²),  p = S σ(vᵀ tanh(W q)),  σ = D/2",
    paper="Luong, Pham & Manning 2015, eq. 9-10 (local-p)",
    cost="T·S, and T·A·(Cq + 1) for the positions",
    op="local_p_weights",
    module="LocalP",
)


def local_p_weights(energy: Tensor, position: Tensor, mask: Mask | None = None, *, window: int) -> Tensor:
    r"""Softmax in a window around a predicted position, times a Gaussian centred on it: local-p.

    .. math:: a_{ts} = \frac{\exp e_{ts}}{\sum_{|s' - \lfloor p_t\rfloor| \le D} \exp e_{ts'}}
              \exp\Bigl(-\frac{(s - p_t)^2}{2\sigma^2}\Bigr), \quad \sigma = \frac{D}{2}

    The Gaussian is a factor *after* the softmax, without renormalisation: the weights sum to less than one, and the
    difference grows with the distance of the position from matching keys. Adding the exponent to the energies, or
    renormalising, is a different function. The window moves by whole keys, so the position gets a gradient only through
    the Gaussian.

    Args:
        energy: [B, H, T, S].
        position: [B, H or 1, T], p_t, real, keys counted from 0.
        mask: what may be attended; None for everything.
        window: D >= 1, keys on either side of the position.

    Returns:
        Weights [B, H, T, S], in float32 for half-precision energies.

    Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation", equation 10.

    >>> local_p_weights(torch.zeros(1, 1, 1, 5), torch.tensor([[[2.0]]]), window=2)   # (1/5) exp(-(s - 2)² / 2)
    tensor([[[[0.0271, 0.1213, 0.2000, 0.1213, 0.0271]]]])
    """
    _check(energy, position, window)
    position = position.to(statistics_dtype(energy.dtype)).unsqueeze(3)
    place = torch.arange(energy.shape[3], device=energy.device, dtype=position.dtype)
    far = (place - position.detach().floor()).abs() > window
    curve = torch.exp(-2.0 * ((place - position) / window).square())  # 1 / 2σ² = 2 / D²
    return masked_softmax(energy.masked_fill(far, -torch.inf), mask) * curve


def _check(energy: Tensor, position: Tensor, window: int) -> None:
    if window < 1:
        raise ValueError(f"local_p: the width of the bell curve is window / 2, so window must be >= 1; got {window}")
    wanted = list(energy.shape[:3])
    if energy.dim() != 4 or list(position.shape) not in (wanted, [wanted[0], 1, wanted[2]]):
        raise ValueError(
            "local_p: energy must be [B, H, T, S] and position [B, H or 1, T]; "
            f"got {list(energy.shape)} and {list(position.shape)}"
        )
