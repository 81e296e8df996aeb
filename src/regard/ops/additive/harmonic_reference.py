"""The harmonic way in plain PyTorch: the algebra of `impl="harmonic"` on any device and in any dtype.

Σ_a v_a α (q_a + k_a) = α Σ_a v_a q_a + α Σ_a v_a k_a
Σ_a v_a Σ_n c_n sin(ω_n (q_a + k_a)) = Σ_an v_a c_n [sin(ω_n q_a) cos(ω_n k_a) + cos(ω_n q_a) sin(ω_n k_a)]
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.ops.additive.harmonic_fit import HarmonicFit


def score(query: Tensor, key: Tensor, weight: Tensor, fit: HarmonicFit) -> Tensor:
    """Energies [B, H, T, S], within fit.error · Σ|v| of the exact ones where |q + k| <= fit.span.

    >>> from regard.ops.additive.harmonic_fit import choose
    >>> query, key, weight = torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 3, 2), torch.ones(1, 2)
    >>> score(query, key, weight, choose(1.0, tolerance=1e-4))   # 2 tanh 1
    tensor([[[[1.52, 1.52, 1.52]]]])
    """
    queries, keys = features(query, key, weight, fit)
    asked, kept = (shifts(rows, weight, fit) for rows in (query, key))
    return queries @ keys.mT + (asked.unsqueeze(3) + kept.unsqueeze(2))


def features(query: Tensor, key: Tensor, weight: Tensor, fit: HarmonicFit) -> tuple[Tensor, Tensor]:
    """Features of the queries, [B, H, T, 2NA], and of the keys, [B, H, S, 2NA]: their products are the sines' part."""
    frequencies, amplitudes = query.new_tensor(fit.frequencies), query.new_tensor(fit.amplitudes)
    share = weight[:, None, None] * amplitudes[:, None]  # [H, 1, N, A]
    asked, kept = (tensor.unsqueeze(3) * frequencies[:, None] for tensor in (query, key))  # [B, H, rows, N, A]
    queries = torch.stack((share * asked.sin(), share * asked.cos()), dim=4)  # [B, H, T, N, A, 2]
    keys = torch.stack((kept.cos(), kept.sin()), dim=4)  # [B, H, S, N, A, 2]
    return queries.flatten(3), keys.flatten(3)


def shifts(rows: Tensor, weight: Tensor, fit: HarmonicFit) -> Tensor:
    """α Σ_a v_a x_a of each row x, [B, H, rows]: the line's part of every energy that the row has a part in."""
    return fit.slope * (rows * weight[:, None]).sum(-1)


def span(query: Tensor, key: Tensor) -> tuple[float, float]:
    """The largest |q_a + k_a| over all pairs of a query and a key, and the largest |q_a| or |k_a|.

    Computed from the extremes per unit without forming pairs: the largest sum is the sum of the maxima. Synchronises
    with the device once.

    >>> span(torch.tensor([[[[5.0], [6.0]]]]), torch.tensor([[[[-6.5], [-5.0]]]]))   # 6 - 5 = 1, 5 - 6.5 = -1.5
    (1.5, 6.5)
    """
    if query.numel() == 0 or key.numel() == 0:
        return 0.0, 0.0
    (low, high), (key_low, key_high) = (torch.aminmax(tensor, dim=2) for tensor in (query, key))
    low, high, key_low, key_high = low.float(), high.float(), key_low.float(), key_high.float()
    reach = torch.maximum(high + key_high, -(low + key_low)).amax()
    size = torch.stack((low, high, key_low, key_high)).abs().amax()
    widest, largest = torch.stack((reach, size)).tolist()  # stacked to synchronise with the device once
    return widest, largest
