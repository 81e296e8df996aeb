"""Translation: from one text to another."""

from __future__ import annotations

from regard.recipes.data_sections import CmudictData, HubData, JsonlData, PairsData, TableData
from regard.recipes.system import System
from regard.recipes.translator_sections import (
    BahdanauSection,
    BidirectionalSection,
    LSTMNSection,
    LuongSection,
    Seq2SeqSection,
    SimpleAttentionSection,
    TransformerSection,
)
from regard.systems.translation.checks import check_decoding, check_tokenizer
from regard.systems.translation.sections import DatesData, Decoding, DigitsData, Evaluating, Training

SYSTEM = System(
    name="translate",
    default=True,
    task="regard.systems.translation.task:Translation",
    data=(DatesData, DigitsData, PairsData, TableData, JsonlData, HubData, CmudictData),
    models={
        BahdanauSection: "regard.models.bahdanau:Bahdanau",
        LSTMNSection: "regard.models.lstmn:LSTMNSeq2Seq",
        LuongSection: "regard.models.luong:Luong",
        Seq2SeqSection: "regard.models.seq2seq:Seq2Seq",
        SimpleAttentionSection: "regard.models.simple_attention:SimpleAttention",
        TransformerSection: "regard.models.transformer:Transformer",
        BidirectionalSection: "regard.models.bidirectional:Bidirectional",
    },
    metrics=("bleu",),
    uses=frozenset(
        {
            "tokenizer.joint",
            "tokenizer.target",
            "train.batch",
            "train.exposure.sampling",
            "train.exposure.word_dropout",
            "train.exposure.corruption",
            "train.label_smoothing",
            "decode",
        }
    ),
    train=Training,
    decode=Decoding,
    evaluate=Evaluating,
    checks={"tokenizer": check_tokenizer, "decode": check_decoding},
)
