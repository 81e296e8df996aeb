"""Location attention (Luong, Pham & Manning 2015)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.inner_product import inner_product
from regard.ops.softmax import softmax_attention

CARD = Card(
    name="location",
    family="score",
    equation="e = W q, one row of W for each position",
    paper="Luong, Pham & Manning 2015, eq. 8 and footnote 6",
    cost="T·S·D + T·S·Dv",
    op="location_attention",
    module="Location",
)


def location_score(query: Tensor, weight: Tensor, keys: int) -> Tensor:
    """Compute e_ts = w_s . q_t for the first L positions, -inf from position L on.

    Args:
        query: [B, H, T, D].
        weight: [H, L, D], one row for each position.
        keys: S, number of keys.

    Returns:
        Energies [B, H, T, S], in float32 for half-precision inputs.

    >>> location_score(torch.ones(1, 1, 1, 1), torch.tensor([[[2.0], [3.0]]]), 3)
    tensor([[[[2., 3., -inf]]]])
    """
    if query.dim() != 4 or weight.dim() != 3 or weight.shape != (query.shape[1], weight.shape[1], query.shape[3]):
        raise ValueError(
            "location: query [B, H, T, D] and weight [H, L, D] must share H and D; "
            f"got {list(query.shape)} and {list(weight.shape)}"
        )
    energy = inner_product(query, weight[:, :keys], 1.0)
    return F.pad(energy, (0, keys - energy.shape[3]), value=-torch.inf)


def location_attention(
    query: Tensor, value: Tensor, weight: Tensor, mask: Mask | None = None, *, dropout: float = 0.0
) -> Attended:
    r"""Location attention: energies of *positions* from the query alone, independent of the keys' content.

    .. math:: e_t = W q_t \in \mathbb{R}^L, \quad a_t = \mathrm{softmax}(e_{t,1:S}), \quad
              c_t = \sum_s a_{ts}\, \mathrm{value}_s

    W has a row for each of L positions, so the alignment has a fixed length. For a shorter source only its first S
    entries are used; in a longer one the words past L are ignored: their weight is exactly 0. The paper does not say
    whether the first S entries are normalised again. Here the softmax is over the entries that remain, so that the
    weights sum to one and padding changes nothing.

    Args:
        query: [B, H, T, D].
        value: [B, H, S, Dv].
        weight: [H, L, D], W of each head.
        mask: what may be attended; None for everything. A row that may attend to nothing before L is zero.
        dropout: probability of dropping a weight.

    Returns:
        Attended with context [B, H, T, Dv].

    Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation", equation 8 and
    footnote 6. The notes print softmax(W_a s_i) without saying that its length is fixed.

    >>> value = torch.tensor([[[[1.0], [3.0], [99.0]]]])
    >>> location_attention(torch.ones(1, 1, 1, 1), value, torch.zeros(1, 2, 1)).context   # the third is past L
    tensor([[[[2.]]]])
    """
    if value.dim() != 4 or value.shape[:2] != query.shape[:2]:
        raise ValueError(
            "location: query [B, H, T, D] and value [B, H, S, Dv] must share B and H; "
            f"got {list(query.shape)} and {list(value.shape)}"
        )
    return softmax_attention(location_score(query, weight, value.shape[2]), value, mask, dropout=dropout)
