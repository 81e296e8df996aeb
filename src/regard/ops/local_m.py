"""Local attention with monotonic alignment, local-m (Luong, Pham & Manning 2015)."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.card import Card
from regard.ops.softmax import masked_softmax

CARD = Card(
    name="local_m",
    family="aligner",
    equation="a_t = softmax(e_t) over |s - t| ≤ D, 0 elsewhere",
    paper="Luong, Pham & Manning 2015, sec. 3.2 (local-m)",
    cost="T·S",
    op="local_m_weights",
    module="LocalM",
)


def local_m_weights(
    energy: Tensor, mask: Mask | None = None, *, window: int, step: int = 0, hold: bool = False
) -> Tensor:
    r"""Softmax in a window that moves by one key per query: local-m.

    .. math:: p_t = t, \quad a_{ts} = \frac{\exp e_{ts}}{\sum_{|s' - p_t| \le D} \exp e_{ts'}}
              \ \text{for}\ |s - p_t| \le D, \quad 0\ \text{elsewhere}

    Queries and keys are both counted from 0, so query t attends to 2D + 1 keys around index t, fewer at the ends. The
    window is aligned to the *start* of the memory, unlike `Mask.window`, which is aligned to its end.

    The paper does not say what happens past the end. Here a query past the last key by more than D has nothing in its
    window, and zero weights. The authors' code holds p_t at the last word before the end-of-sentence mark, so that the
    window stays on the end for ever: with `hold`, p_t = min(t, S - 1), S the true length.

    Args:
        energy: [B, H, T, S].
        mask: what may be attended; None for everything.
        window: D, keys on either side of the centre.
        step: index of the first query, for step-by-step decoding.
        hold: keep p_t at the last true key once it is past it.

    Returns:
        Weights [B, H, T, S], in float32 for half-precision energies.

    Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.2.

    >>> local_m_weights(torch.zeros(1, 1, 3, 4), window=1)[0, 0]
    tensor([[0.5000, 0.5000, 0.0000, 0.0000],
            [0.3333, 0.3333, 0.3333, 0.0000],
            [0.0000, 0.3333, 0.3333, 0.3333]])
    >>> local_m_weights(torch.zeros(1, 1, 1, 4), Mask.padding([2]), window=0, step=9, hold=True)[0, 0]
    tensor([[0., 1., 0., 0.]])
    """
    if window < 0 or step < 0:
        raise ValueError(f"local_m: window and step count keys and queries; got window={window}, step={step}")
    if energy.dim() != 4:
        raise ValueError(f"local_m: energy must be [B, H, T, S]; got shape {list(energy.shape)}")
    batch, _, queries, keys = energy.shape
    centre = torch.arange(step, step + queries, device=energy.device).unsqueeze(1)  # [t, 1]
    if hold:
        lengths = None if mask is None else mask.lengths(batch, keys)
        last = keys - 1 if lengths is None else (lengths.to(energy.device) - 1).view(-1, 1, 1, 1)
        centre = centre.clamp(max=last) if isinstance(last, int) else torch.minimum(centre, last)  # [b, 1, t, 1]
    far = (torch.arange(keys, device=energy.device) - centre).abs() > window
    return masked_softmax(energy.masked_fill(far, -torch.inf), mask)
