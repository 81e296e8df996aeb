"""Modules with parameters, built from `regard.ops`."""

from regard.nn.aligners import Addressing, Aligned, Aligner, Hard, LinearAligner, LocalM, LocalP, SlotSoftmax, Softmax
from regard.nn.attention import Attention
from regard.nn.attention_module import AttentionModule, CapturableModule
from regard.nn.cells import Cells
from regard.nn.checkpointing import checkpoint_gradients
from regard.nn.coattention import Coattention
from regard.nn.cpu_decode.pack import pack, packed_copy
from regard.nn.crf import CRF, LabelOrder
from regard.nn.ctc import CTC
from regard.nn.deep_lstmn import DeepLSTMN, DeepLSTMNState
from regard.nn.external_memory import ExternalMemory
from regard.nn.fusion import DeepFusion, FusionState, FusionStep, ShallowFusion
from regard.nn.glimpse import Glimpse, LocationPolicy, LocationSample, StateBaseline, location_loss
from regard.nn.graph import GraphAttention
from regard.nn.hops import MemoryHops, SentenceEncoder, StoryEncoder
from regard.nn.key_value import KeyValue
from regard.nn.lstmn import LSTMN, LSTMNCell, LSTMNState, LSTMNStep
from regard.nn.memory import Memory
from regard.nn.multi_head import MultiHead
from regard.nn.ntm_memory import HeadsOutput, NTMHeads, NTMMemory
from regard.nn.pointers import AttentionOverAttention, PointerSentinel
from regard.nn.positions import LearnedPositions, SinusoidalPositions
from regard.nn.reinforce import MovingBaseline, Reinforce
from regard.nn.rnn import Recurrent, RecurrentState, reverse_sequences
from regard.nn.rotary import Rotary, rotate
from regard.nn.scores import Additive, Bilinear, Concat, Cosine, Dot, Location, ScaledDot, Score
from regard.nn.sparse_rows import SparseRows
from regard.nn.state import AttentionState, Past
from regard.nn.structure_losses import DoublyStochastic, GlobalFertility, Symmetry
from regard.nn.structured import PairFactors, RowColumnLayer, StructuredSelfAttention
from regard.nn.terms import Fertility, History, LocationFeatures, Markov, Position, RecurrentTerm, Term
from regard.nn.transformer_layer import LayerConfig, LayerState, TransformerLayer

__all__ = [
    "CRF",
    "CTC",
    "LSTMN",
    "Additive",
    "Addressing",
    "Aligned",
    "Aligner",
    "Attention",
    "AttentionModule",
    "AttentionOverAttention",
    "AttentionState",
    "Bilinear",
    "CapturableModule",
    "Cells",
    "Coattention",
    "Concat",
    "Cosine",
    "DeepFusion",
    "DeepLSTMN",
    "DeepLSTMNState",
    "Dot",
    "DoublyStochastic",
    "ExternalMemory",
    "Fertility",
    "FusionState",
    "FusionStep",
    "Glimpse",
    "GlobalFertility",
    "GraphAttention",
    "Hard",
    "HeadsOutput",
    "History",
    "KeyValue",
    "LSTMNCell",
    "LSTMNState",
    "LSTMNStep",
    "LabelOrder",
    "LayerConfig",
    "LayerState",
    "LearnedPositions",
    "LinearAligner",
    "LocalM",
    "LocalP",
    "Location",
    "LocationFeatures",
    "LocationPolicy",
    "LocationSample",
    "Markov",
    "Memory",
    "MemoryHops",
    "MovingBaseline",
    "MultiHead",
    "NTMHeads",
    "NTMMemory",
    "PairFactors",
    "Past",
    "PointerSentinel",
    "Position",
    "Recurrent",
    "RecurrentState",
    "RecurrentTerm",
    "Reinforce",
    "Rotary",
    "RowColumnLayer",
    "ScaledDot",
    "Score",
    "SentenceEncoder",
    "ShallowFusion",
    "SinusoidalPositions",
    "SlotSoftmax",
    "Softmax",
    "SparseRows",
    "StateBaseline",
    "StoryEncoder",
    "StructuredSelfAttention",
    "Symmetry",
    "Term",
    "TransformerLayer",
    "checkpoint_gradients",
    "location_loss",
    "pack",
    "packed_copy",
    "reverse_sequences",
    "rotate",
]
