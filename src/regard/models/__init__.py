"""Complete models: encoders, decoders, language models and encoder-decoders."""

from regard.models.attention_config import AttentionConfig
from regard.models.bahdanau import Bahdanau
from regard.models.bert import Bert, BertEncoder
from regard.models.build import build, system_model
from regard.models.char_rnn import CharRNN, CharState
from regard.models.conv_encoder import ConvEncoder
from regard.models.copying import Copying
from regard.models.decoder_state import DecoderState
from regard.models.encoded import Encoded
from regard.models.generator import AttendingDecoder, DecoderOutput, EncoderDecoder, Generator, NextInput
from regard.models.language_model import LanguageModel
from regard.models.lstmn import LSTMNSeq2Seq
from regard.models.lstmn_encoder import LSTMNEncoder
from regard.models.luong import Luong
from regard.models.model_output import ModelOutput
from regard.models.recurrent_encoder import RecurrentEncoder
from regard.models.seq2seq import Seq2Seq
from regard.models.simple_attention import SimpleAttention
from regard.models.text_cnn import TextCNN
from regard.models.transformer import Transformer, TransformerLM, TransformerState
from regard.models.transformer_encoder import TransformerEncoder
from regard.models.word_encoder import WordEncoder

__all__ = [
    "AttendingDecoder",
    "AttentionConfig",
    "Bahdanau",
    "Bert",
    "BertEncoder",
    "CharRNN",
    "CharState",
    "ConvEncoder",
    "Copying",
    "DecoderOutput",
    "DecoderState",
    "Encoded",
    "EncoderDecoder",
    "Generator",
    "LSTMNEncoder",
    "LSTMNSeq2Seq",
    "LanguageModel",
    "Luong",
    "ModelOutput",
    "NextInput",
    "RecurrentEncoder",
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

__getattr__ = system_model
