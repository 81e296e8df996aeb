"""Translation and other sequence-to-sequence tasks on text."""

from __future__ import annotations

from regard.parts import models
from regard.recipes.checks import check_copying
from regard.recipes.data_sections import CmudictData, HubData, JsonlData, PairsData, TableData
from regard.recipes.system import System
from regard.systems.translation.checks import check_decoding, check_guided, check_tokenizer
from regard.systems.translation.sections import (
    ClausesData,
    DatesData,
    DigitsData,
    TranslationDecoding,
    TranslationEvaluation,
    TranslationTraining,
)

SYSTEM = System(
    name="translate",
    default=True,
    task="regard.systems.translation.task:Translation",
    data=(DatesData, DigitsData, ClausesData, PairsData, TableData, JsonlData, HubData, CmudictData),
    models={
        **models("bahdanau", "lstmn", "luong", "seq2seq", "simple_attention", "transformer"),
        "bidirectional": "regard.systems.translation.bidirectional:Bidirectional",
    },
    metrics=("bleu",),
    uses=frozenset(
        {
            "model.copy",
            "model.coverage",
            "tokenizer.joint",
            "tokenizer.target",
            "train.batch",
            "train.exposure.sampling",
            "train.exposure.word_dropout",
            "train.exposure.corruption",
            "train.label_smoothing",
            "train.r_drop",
            "decode",
        }
    ),
    train=TranslationTraining,
    decode=TranslationDecoding,
    evaluate=TranslationEvaluation,
    checks={"model": check_copying, "tokenizer": check_tokenizer, "decode": check_decoding, "train": check_guided},
    commands={"align": "regard.systems.translation.commands:command"},
)
