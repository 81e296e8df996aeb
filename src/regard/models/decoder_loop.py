"""Teacher forcing of RNNsearch as a single fused loop, for CUDA graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.models.decoder_state import DecoderState
from regard.models.model_output import ModelOutput
from regard.nn.aligners import Softmax
from regard.nn.attention import Attention
from regard.nn.rnn import RecurrentState
from regard.nn.scores import Additive
from regard.ops.attending_gru import attending_gru
from regard.ops.softmax import weigh_values
from regard.ops.weights import Weights

if TYPE_CHECKING:
    from regard.models.bahdanau import Bahdanau


def loop_fits(model: Bahdanau) -> bool:
    """Return whether the fused loop supports a decoder: one GRU, additive attention, softmax, no dropout in between."""
    reader, cells = model.attention, model.layers.cells
    return (
        type(reader) is Attention
        and reader.impl is None
        and type(reader.score) is Additive
        and type(reader.align) is Softmax
        and not (len(reader.score.terms) or reader.dropout or cells.recurrent_dropout or cells.weight_dropout)
        and (cells.kind, cells.num_layers) == ("gru", 1)
    )


def unroll_in_loop(model: Bahdanau, tokens: Tensor, state: DecoderState) -> ModelOutput:
    """Compute `Bahdanau.unroll` with `regard.ops.attending_gru`: the same function up to rounding.

    Products that do not depend on the previous step are hoisted out of the loop: those of the embeddings, and those of
    the values with the GRU's input weights, since a weighted mean of products is the product of the weighted mean.
    """
    assert isinstance(model.attention, Attention)
    assert isinstance(model.attention.score, Additive)
    words, width = model.embed(tokens, state), model.words.table.embedding_dim
    from_inputs, from_state, input_bias, state_bias = model.layers.weights(0)
    asks = model.attention.score.query_map
    assert asks is not None
    ask_bias = asks.weight.new_zeros(len(asks.weight)) if asks.bias is None else asks.bias
    memory = state.shared.memory
    batch, _, size, _ = memory.key.shape
    values = memory.value.squeeze(1)  # [B, S, C]
    allowed = torch.ones(batch, size, dtype=torch.bool, device=tokens.device)
    if memory.mask is not None:
        allowed = allowed & memory.mask.allowed((batch, 1, 1, size), device=tokens.device)[:, 0, 0]
    hidden, weights = attending_gru(
        F.linear(words.transpose(0, 1), from_inputs[:, :width], input_bias),  # [T, B, 3D]
        state.layers.top,
        memory.key.squeeze(1),
        F.linear(values, from_inputs[:, width:]),
        allowed,
        torch.cat((asks.weight, from_state)),
        torch.cat((ask_bias, state_bias)),
        model.attention.score.weight.squeeze(0),
    )
    hidden, weights = hidden.transpose(0, 1), weights.transpose(0, 1)  # [B, T, D], [B, T, S]
    assert state.read is not None
    read = replace(state.read, step=state.read.step + tokens.shape[1])
    after = DecoderState(RecurrentState(hidden[:, -1:]), state.memory, read)
    seen = Weights.of(weights.unsqueeze(1), has_heads=False)
    return ModelOutput(model.output(hidden, words, weigh_values(weights, values)), after, seen)
