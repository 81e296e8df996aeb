"""History term of an additive score: a recurrent network per key encodes its past attention weights."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.ops.card import Card
from regard.ops.markov_term import neighbours

CARD = Card(
    name="history_term",
    family="score term",
    equation="m_{j,i} = GRU(ξ(α_{j-1}; i), m_{j-1,i})",
    paper='lecture notes on attention, "explicitly remember past alignments with an RNN"; GRU: Cho et al. 2014',
    cost="T·S·3F·(F + 2k+1), and T·S·F·A inside the score",
    op="history_features",
    module="History",
)


def history_features(weights: Tensor, state: Tensor, input_weight: Tensor, state_weight: Tensor) -> Tensor:
    r"""Compute one GRU step per key, whose input is the last attention to the key and its neighbours.

    .. math::
        x_i &= [\alpha_{j-1,\,i-k}, \dots, \alpha_{j-1,\,i+k}] \\
        r_i &= \sigma(W_r x_i + U_r m_i), \quad z_i = \sigma(W_z x_i + U_z m_i) \\
        n_i &= \tanh(W_n x_i + r_i \odot U_n m_i), \quad m'_i = (1 - z_i) \odot n_i + z_i \odot m_i

    The new state m' is the feature of key i. The Markov term uses the last step and the fertility term the sum of all
    steps; here the summary of the past is learned. There are no biases, so the state of a key without any attention in
    its neighbourhood is exactly 0, as are the features of those two terms.

    Args:
        weights: [B, H, 1, S], α_{j-1}.
        state: [B, H, S, F], m of each key; zeros before the first query.
        input_weight: [3F, 2k + 1], W_r, W_z, W_n: the order of `torch.nn.GRUCell`.
        state_weight: [3F, F], U_r, U_z, U_n.

    Returns:
        The new state [B, H, S, F].

    Raises:
        ValueError: shapes that do not fit.

    The notes only name the idea; the cell is that of Cho et al. 2014, "Learning Phrase Representations using RNN
    Encoder-Decoder", section 2.3, with the reset gate behind U_n, where PyTorch has it.

    >>> weights, nothing = torch.tensor([[[[0.0, 0.0, 1.0]]]]), torch.zeros(1, 1, 3, 1)
    >>> history_features(weights, nothing, torch.ones(3, 1), torch.ones(3, 1)).flatten()   # (1 - σ(1)) tanh 1
    tensor([0.000, 0.000, 0.205])
    """
    _check(weights, state, input_weight, state_weight)
    window = neighbours("history_term", weights, input_weight.shape[1] // 2).squeeze(2)
    from_input = window @ input_weight.mT.to(window.dtype)
    from_state = state @ state_weight.mT.to(state.dtype)
    reset, update, candidate = from_input.chunk(3, dim=-1)
    reset_state, update_state, candidate_state = from_state.chunk(3, dim=-1)
    new = torch.tanh(candidate + torch.sigmoid(reset + reset_state) * candidate_state)
    return new + torch.sigmoid(update + update_state) * (state - new)


def _check(weights: Tensor, state: Tensor, input_weight: Tensor, state_weight: Tensor) -> None:
    if weights.dim() != 4 or weights.shape[2] != 1:
        raise ValueError(f"history_term: weights must be those of one query, [B, H, 1, S]; got {list(weights.shape)}")
    batch, heads, _, keys = weights.shape
    features = state.shape[-1]
    if state.shape != (batch, heads, keys, features):
        raise ValueError(
            f"history_term: state must be [B, H, S, F] = {[batch, heads, keys, 'F']}; got {list(state.shape)}"
        )
    if input_weight.dim() != 2 or input_weight.shape[0] != 3 * features or input_weight.shape[1] % 2 == 0:
        raise ValueError(
            f"history_term: input_weight must be [3F, 2k + 1] = {[3 * features, 'odd']}; got {list(input_weight.shape)}"
        )
    if state_weight.shape != (3 * features, features):
        raise ValueError(
            f"history_term: state_weight must be [3F, F] = {[3 * features, features]}; got {list(state_weight.shape)}"
        )
