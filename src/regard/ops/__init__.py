"""Stateless functions on tensors: the reference of each mechanism and its faster implementations."""

from regard.ops.additive import additive_attention, additive_score
from regard.ops.attended import Attended
from regard.ops.attention_over_attention import AttendedOver, attention_over_attention
from regard.ops.bilinear import bilinear_attention, bilinear_score
from regard.ops.card import Card
from regard.ops.coattention import Coattended, coattention
from regard.ops.concat import concat_attention, concat_score
from regard.ops.cosine import cosine_attention, cosine_score
from regard.ops.ctc import CTCAlignment, ctc_alignment, ctc_attention
from regard.ops.dot import dot_attention, dot_score
from regard.ops.doubly_stochastic import doubly_stochastic_penalty
from regard.ops.fertility_term import fertility_features
from regard.ops.glimpse import glimpse
from regard.ops.global_fertility import fertility_log_likelihood
from regard.ops.graph import Edges, GraphAttended, add_self_loops, graph_attention
from regard.ops.hard import Sample, hard_weights, reinforce_loss
from regard.ops.heads import merge_heads, split_heads
from regard.ops.history_term import history_features
from regard.ops.intra_attention import CellOutput, deep_fusion, intra_attention, lstmn_cell, lstmn_step
from regard.ops.key_value import split_key_value
from regard.ops.learned_positions import learned_positions
from regard.ops.linear import linear_weights
from regard.ops.linear_chain import BestPath, LinearChain, linear_chain, linear_chain_conditionals, linear_chain_path
from regard.ops.local_m import local_m_weights
from regard.ops.local_p import local_p_weights
from regard.ops.location import location_attention, location_score
from regard.ops.location_term import location_features
from regard.ops.markov_term import markov_features
from regard.ops.memory_hops import (
    Hops,
    Story,
    insert_empty,
    memory_hop,
    memory_hops,
    position_encoding,
    slot_softmax,
    time_index,
)
from regard.ops.ntm_addressing import circular_shift, interpolate, ntm_address, sharpen
from regard.ops.ntm_memory import ntm_read, ntm_write
from regard.ops.pointer_sentinel import PointerMixture, pointer_sentinel
from regard.ops.pointer_sum import pointer_candidates, pointer_sum
from regard.ops.position_term import position_features
from regard.ops.scaled_dot import scaled_dot_attention, scaled_dot_score
from regard.ops.sinusoidal import sinusoidal_positions
from regard.ops.softmax import masked_softmax, softmax_attention
from regard.ops.structured import frobenius_penalty, structured_attention
from regard.ops.symmetry import symmetry_bonus
from regard.ops.weights import TopK, Weights

__all__ = [
    "Attended",
    "AttendedOver",
    "BestPath",
    "CTCAlignment",
    "Card",
    "CellOutput",
    "Coattended",
    "Edges",
    "GraphAttended",
    "Hops",
    "LinearChain",
    "PointerMixture",
    "Sample",
    "Story",
    "TopK",
    "Weights",
    "add_self_loops",
    "additive_attention",
    "additive_score",
    "attention_over_attention",
    "bilinear_attention",
    "bilinear_score",
    "circular_shift",
    "coattention",
    "concat_attention",
    "concat_score",
    "cosine_attention",
    "cosine_score",
    "ctc_alignment",
    "ctc_attention",
    "deep_fusion",
    "dot_attention",
    "dot_score",
    "doubly_stochastic_penalty",
    "fertility_features",
    "fertility_log_likelihood",
    "frobenius_penalty",
    "glimpse",
    "graph_attention",
    "hard_weights",
    "history_features",
    "insert_empty",
    "interpolate",
    "intra_attention",
    "learned_positions",
    "linear_chain",
    "linear_chain_conditionals",
    "linear_chain_path",
    "linear_weights",
    "local_m_weights",
    "local_p_weights",
    "location_attention",
    "location_features",
    "location_score",
    "lstmn_cell",
    "lstmn_step",
    "markov_features",
    "masked_softmax",
    "memory_hop",
    "memory_hops",
    "merge_heads",
    "ntm_address",
    "ntm_read",
    "ntm_write",
    "pointer_candidates",
    "pointer_sentinel",
    "pointer_sum",
    "position_encoding",
    "position_features",
    "reinforce_loss",
    "scaled_dot_attention",
    "scaled_dot_score",
    "sharpen",
    "sinusoidal_positions",
    "slot_softmax",
    "softmax_attention",
    "split_heads",
    "split_key_value",
    "structured_attention",
    "symmetry_bonus",
    "time_index",
]
