"""Whole models: encoders, decoders and what is built of them."""

from regard.models.attending import Attending
from regard.models.bahdanau import Bahdanau
from regard.models.bert import Bert, BertEncoder
from regard.models.bidirectional import Bidirectional
from regard.models.build import brought, build
from regard.models.char_rnn import CharRNN, CharState
from regard.models.conv_encoder import ConvEncoder
from regard.models.copying import Copying
from regard.models.decoder_state import DecoderState
from regard.models.encoded import Encoded
from regard.models.encoder import Encoder
from regard.models.generator import Advanced, AttendingDecoder, EncoderDecoder, Feed, Generator
from regard.models.language_model import LanguageModel
from regard.models.lstmn import LSTMNSeq2Seq
from regard.models.lstmn_encoder import LSTMNEncoder
from regard.models.luong import Luong
from regard.models.outputs import Predicted
from regard.models.seq2seq import Seq2Seq
from regard.models.simple_attention import SimpleAttention
from regard.models.text_cnn import TextCNN
from regard.models.transformer import Transformer, TransformerLM, TransformerState
from regard.models.transformer_encoder import TransformerEncoder
from regard.models.word_encoder import WordEncoder

__all__ = [
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
    "Copying",
    "DecoderState",
    "Encoded",
    "Encoder",
    "EncoderDecoder",
    "Feed",
    "Generator",
    "LSTMNEncoder",
    "LSTMNSeq2Seq",
    "LanguageModel",
    "Luong",
    "Predicted",
    "Seq2Seq",
    "SimpleAttention",
    "TextCNN",
    "Transformer",
    "TransformerEncoder",
    "TransformerLM",
    "TransformerState",
    "WordEncoder",
    "build",
]

__getattr__ = brought
