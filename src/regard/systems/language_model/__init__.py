"""Language models: next-token prediction on texts."""

from __future__ import annotations

from regard.parts import models
from regard.recipes.data_sections import HubData, JsonlData, TableData, TextData
from regard.recipes.system import System
from regard.systems.language_model.sections import (
    LanguageModelDecoding,
    LanguageModelEvaluation,
    LanguageModelTraining,
    TalesData,
    check_dynamic,
    check_penalties,
)

SYSTEM = System(
    name="language_model",
    task="regard.systems.language_model.task:LanguageModelling",
    data=(TextData, TableData, JsonlData, HubData, TalesData),
    models={
        **models("char_rnn", "language_model", "transformer_lm"),
        "lstmn_lm": "regard.systems.language_model.lstmn_lm:LSTMNLM",
        "pointer_lm": "regard.systems.language_model.pointer_lm:PointerLM",
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
    train=LanguageModelTraining,
    decode=LanguageModelDecoding,
    evaluate=LanguageModelEvaluation,
    checks={"train": check_penalties, "evaluate": check_dynamic},
    pretrains=True,
)
