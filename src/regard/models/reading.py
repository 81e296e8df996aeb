"""What a model that reads a text asks of an encoder."""

from __future__ import annotations

from regard.models.bert import BertEncoder
from regard.models.encoder import Encoder
from regard.models.lstmn_encoder import LSTMNEncoder
from regard.models.transformer_encoder import TransformerEncoder

ReadingEncoder = Encoder | LSTMNEncoder | TransformerEncoder | BertEncoder
