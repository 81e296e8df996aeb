"""Whole models: encoders, decoders and what is built of them."""

from regard.models.acceptor import Acceptor
from regard.models.attending import Attending
from regard.models.bahdanau import Bahdanau
from regard.models.bert import Bert, BertEncoder
from regard.models.bidirectional import Bidirectional
from regard.models.build import build
from regard.models.char_rnn import CharRNN, CharState
from regard.models.conv_encoder import ConvEncoder
from regard.models.conv_features import ConvFeatures
from regard.models.copying import Copying
from regard.models.decoder_state import DecoderState
from regard.models.encoded import Encoded
from regard.models.encoder import Encoder
from regard.models.frame_encoder import FrameEncoder
from regard.models.generator import Advanced, AttendingDecoder, EncoderDecoder, Feed, Generator
from regard.models.graph import GAT, GraphTrace
from regard.models.language_model import LanguageModel
from regard.models.lstmn import LSTMNSeq2Seq
from regard.models.lstmn_encoder import LSTMNEncoder
from regard.models.lstmn_lm import LSTMNLM
from regard.models.luong import Luong
from regard.models.memory_network import MemoryNetwork
from regard.models.memory_transformer import MemoryTransformer
from regard.models.ntm import NTM, NTMState, NTMTrace
from regard.models.outputs import Predicted
from regard.models.pointer_lm import PointerLM, PointerState
from regard.models.seq2seq import Seq2Seq
from regard.models.simple_attention import SimpleAttention
from regard.models.span_reader import SpanReader
from regard.models.text_store import Stored
from regard.models.transducer import Transducer
from regard.models.transformer import Transformer, TransformerLM, TransformerState
from regard.models.transformer_encoder import TransformerEncoder
from regard.models.vector_rnn import VectorRNN

__all__ = [
    "GAT",
    "LSTMNLM",
    "NTM",
    "Acceptor",
    "Advanced",
    "Attending",
    "AttendingDecoder",
    "Bahdanau",
    "Bert",
    "BertEncoder",
    "Bidirectional",
    "CharRNN",
    "CharState",
    "ConvEncoder",
    "ConvFeatures",
    "Copying",
    "DecoderState",
    "Encoded",
    "Encoder",
    "EncoderDecoder",
    "Feed",
    "FrameEncoder",
    "Generator",
    "GraphTrace",
    "LSTMNEncoder",
    "LSTMNSeq2Seq",
    "LanguageModel",
    "Luong",
    "MemoryNetwork",
    "MemoryTransformer",
    "NTMState",
    "NTMTrace",
    "PointerLM",
    "PointerState",
    "Predicted",
    "Seq2Seq",
    "SimpleAttention",
    "SpanReader",
    "Stored",
    "Transducer",
    "Transformer",
    "TransformerEncoder",
    "TransformerLM",
    "TransformerState",
    "VectorRNN",
    "build",
]
