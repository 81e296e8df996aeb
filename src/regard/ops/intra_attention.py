"""Attention of a recurrent unit to its own past: the LSTMN (Cheng, Dong & Lapata 2016).

The single memory cell of an LSTM becomes a tape with one cell a word. Before each step the unit reads that tape, and
what it reads stands where the last state and the last cell stood.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.masks import Mask
from regard.ops.additive import CARD as ADDITIVE
from regard.ops.additive import additive_attention
from regard.ops.attended import Attended
from regard.ops.card import Card

CARD = Card(
    name="intra_attention",
    family="whole matrix",
    equation="[h̃_t; c̃_t] = Σ_{i<t} s_i [h_i; c_i],  c_t = f ⊙ c̃_t + i ⊙ ĉ_t",
    paper="Cheng, Dong & Lapata 2016, eq. 4-9",
    cost="T²/2·A tanh; T²·(A + 2D)/2 + 4·T·D·(D + C)",
    op="intra_attention",
    module="LSTMN",
    # The fast ones are those of additive attention, and its own case holds them to the float64 truth.
    conditional=(*ADDITIVE.implementations[1:], *ADDITIVE.conditional),
    kernels=ADDITIVE.kernels,
)


class CellOutput(NamedTuple):
    """The hidden state h_t and the memory cell c_t after a step, both [B, D]."""

    hidden: Tensor
    memory: Tensor


def intra_attention(
    query: Tensor,
    key: Tensor,
    hidden: Tensor,
    memory: Tensor,
    weight: Tensor,
    mask: Mask | None = None,
    *,
    impl: str | None = None,
) -> Attended:
    r"""Read two tapes with one weighting: hidden states and memory cells of the past.

    .. math:: a_i = v^\top \tanh(W_h h_i + W_x x_t + W_{\tilde h} \tilde h_{t-1}), \quad s = \mathrm{softmax}(a), \quad
              [\tilde h_t; \tilde c_t] = \sum_i s_i\, [h_i; c_i]

    Only h is scored; c goes along with h's weights. The score has no bias. :math:`\tilde h_{t-1}` is what the *last
    read* gave, not the last hidden state.

    Args:
        query: [B, H, T, A], projected: W_x x_t + W_h̃ h̃_{t-1}.
        key: [B, H, S, A], projected: W_h h_i.
        hidden: [B, H, S, D], the tape of h.
        memory: [B, H, S, D'], the tape of c.
        weight: [H, A], v.
        mask: what may be attended; None for everything, since a growing tape holds only the past.
        impl: as in `additive_attention`.

    Returns:
        Attended with context [h̃; c̃], [B, H, T, D + D']; zero for an empty tape, as at the first step.

    Cheng, Dong & Lapata 2016, "Long Short-Term Memory-Networks for Machine Reading", equations 4 to 6.

    >>> tape_h, tape_c = torch.tensor([[[[1.0], [3.0]]]]), torch.tensor([[[[10.0], [30.0]]]])
    >>> intra_attention(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 2, 2), tape_h, tape_c, torch.ones(1, 2)).context
    tensor([[[[ 2., 20.]]]])
    """
    if hidden.dim() != 4 or memory.dim() != 4 or hidden.shape[:3] != memory.shape[:3]:
        raise ValueError(
            f"intra_attention: hidden and memory are two tapes [B, H, S, width] of the same steps; "
            f"got {list(hidden.shape)} and {list(memory.shape)}"
        )
    return additive_attention(query, key, torch.cat((hidden, memory), dim=-1), weight, mask, impl=impl)


def lstmn_step(
    word: Tensor,
    hidden: Tensor,
    memory: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    fused: Tensor | None = None,
) -> CellOutput:
    r"""One step of an LSTM whose last state and cell are those that were read from the tapes.

    .. math:: [i; f; o; \hat c] = [\sigma; \sigma; \sigma; \tanh]\, W [\tilde h_t; x_t], \quad
              c_t = f \odot \tilde c_t + i \odot \hat c \;(+\, r_t \odot \tilde\alpha_t), \quad
              h_t = o \odot \tanh(c_t)

    The candidate ĉ goes through tanh; summaries of the paper that write σ for all four are wrong.

    Args:
        word: [B, C], x_t.
        hidden: [B, D], h̃_t.
        memory: [B, D], c̃_t.
        weight: [4D, D + C], W for [h̃_t; x_t]; its rows in the order i, f, o, ĉ.
        bias: [4D]; None for none.
        fused: [B, D], what deep fusion adds to the cell, see `deep_fusion`; None without.

    Returns:
        Cell with h_t and c_t, each [B, D].

    Cheng, Dong & Lapata 2016, equations 7 to 9 (and 14 with `fused`).

    >>> zero, one = torch.zeros(1, 1), torch.ones(1, 1)
    >>> lstmn_step(zero, zero, 2 * one, torch.zeros(4, 2)).memory         # f = 1/2 of the cell that was read
    tensor([[1.]])
    """
    batch, width = hidden.shape
    wanted = (4 * width, width + word.shape[1])
    if weight.shape != wanted or memory.shape != hidden.shape or word.shape[0] != batch:
        raise ValueError(
            f"intra_attention: a step takes word [B, C], hidden and memory [B, D], weight [4D, D + C]; got "
            f"{list(word.shape)}, {list(hidden.shape)}, {list(memory.shape)} and {list(weight.shape)}"
        )
    return lstmn_cell(F.linear(torch.cat((hidden, word), dim=1), weight, bias), memory, fused=fused)


def lstmn_cell(gates: Tensor, memory: Tensor, *, fused: Tensor | None = None) -> CellOutput:
    """The second half of `lstmn_step`: gates [B, 4D] before σ and tanh, in the order i, f, o, ĉ, and c̃_t [B, D].

    >>> lstmn_cell(torch.zeros(1, 4), torch.tensor([[2.0]])).memory
    tensor([[1.]])
    """
    width = memory.shape[1]
    admit, forget, emit = gates[:, : 3 * width].sigmoid().chunk(3, dim=1)
    cell = forget * memory + admit * gates[:, 3 * width :].tanh()
    if fused is not None:
        cell = cell + fused
    return CellOutput(emit * cell.tanh(), cell)


def deep_fusion(word: Tensor, hidden: Tensor, memory: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    r"""Gated memory of the encoder for a decoder's cell: r_t ⊙ α̃_t.

    .. math:: r_t = \sigma(W_r [\tilde\gamma_t; x_t])

    Args:
        word: [B, C], x_t.
        hidden: [B, D], γ̃_t: what inter-attention read from the encoder's hidden tape.
        memory: [B, D], α̃_t: what it read from the encoder's memory tape.
        weight: [D, D + C], W_r for [γ̃_t; x_t].
        bias: [D]; None for none.

    Returns:
        [B, D], the `fused` of `lstmn_step`.

    Cheng, Dong & Lapata 2016, equations 13 and 14.

    >>> deep_fusion(torch.zeros(1, 3), torch.zeros(1, 2), torch.tensor([[4.0, 6.0]]), torch.zeros(2, 5))
    tensor([[2., 3.]])
    """
    wanted = (memory.shape[-1], hidden.shape[-1] + word.shape[-1])
    if weight.shape != wanted:
        raise ValueError(f"intra_attention: deep fusion's weight must be {list(wanted)}; got {list(weight.shape)}")
    return F.linear(torch.cat((hidden, word), dim=1), weight, bias).sigmoid() * memory
