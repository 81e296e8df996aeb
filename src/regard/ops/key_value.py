"""Key-value attention: separate parts of a vector as key and value (Daniluk et al. 2017)."""

from __future__ import annotations

from torch import Tensor

from regard.ops.card import Card

CARD = Card(
    name="key_value",
    family="shape of use",
    equation="v = [v_k; v_v],  e = score(q, v_k),  c = Σ_s a_s (v_v)_s",
    paper="Daniluk et al. 2017, sec. 2.2; Miller et al. 2016, sec. 3",
    cost="that of the score, at the width of v_k",
    op="split_key_value",
    module="KeyValue",
)


def split_key_value(memory: Tensor, key_dim: int) -> tuple[Tensor, Tensor]:
    r"""Split each vector of a memory into its key and its value.

    .. math:: v_s = [v_{k,s};\, v_{v,s}], \quad e_{ts} = \mathrm{score}(q_t, v_{k,s}), \quad
              c_t = \sum_s a_{ts}\, v_{v,s}

    Without the split, the same channels have to serve both matching and prediction.

    Args:
        memory: [B, S, C].
        key_dim: number of leading channels that are the key, 1 to C - 1.

    Returns:
        (key [B, S, key_dim], value [B, S, C - key_dim]): views, nothing is copied.

    Daniluk et al. 2017, "Frustratingly Short Attention Spans in Neural Language Modeling", section 2.2, halves the
    states; Miller et al. 2016, "Key-Value Memory Networks for Directly Reading Documents", section 3, stores pairs.

    >>> import torch
    >>> split_key_value(torch.tensor([[[1.0, 2.0, 3.0]]]), key_dim=1)
    (tensor([[[1.]]]), tensor([[[2., 3.]]]))
    """
    if memory.dim() != 3:
        raise ValueError(f"key_value: memory must be [B, S, C]; got shape {list(memory.shape)}")
    if not 1 <= key_dim < memory.shape[2]:
        raise ValueError(
            f"key_value: a memory of shape {list(memory.shape)} cannot give {key_dim} channels to its keys and "
            f"the rest to its values; key_dim must lie between 1 and {memory.shape[2] - 1}"
        )
    return memory[..., :key_dim], memory[..., key_dim:]
