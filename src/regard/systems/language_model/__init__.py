"""Language models: how a text goes on."""

from __future__ import annotations

from regard.recipes.data_sections import HubData, JsonlData, TableData, TextData
from regard.recipes.system import System
from regard.systems.language_model.sections import (
    CharRNNSection,
    Decoding,
    LanguageModelSection,
    LSTMNLMSection,
    PointerLMSection,
    TalesData,
    TransformerLMSection,
)

SYSTEM = System(
    name="language_model",
    task="regard.systems.language_model.task:LanguageModelling",
    data=(TextData, TableData, JsonlData, HubData, TalesData),
    models={
        CharRNNSection: "regard.models.char_rnn:CharRNN",
        LanguageModelSection: "regard.models.language_model:LanguageModel",
        LSTMNLMSection: "regard.models.lstmn_lm:LSTMNLM",
        PointerLMSection: "regard.models.pointer_lm:PointerLM",
        TransformerLMSection: "regard.models.transformer:TransformerLM",
    },
    compares=None,
    uses=frozenset(
        {
            "train.batch",
            "train.batch.window",
            "train.exposure.word_dropout",
            "train.exposure.corruption",
            "train.label_smoothing",
            "decode",
            "evaluate.rows",
        }
    ),
    decode=Decoding,
)
