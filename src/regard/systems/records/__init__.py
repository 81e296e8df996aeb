"""Data-to-text generation: descriptions of records."""

from __future__ import annotations

from regard.recipes.checks import check_copying
from regard.recipes.system import System
from regard.systems.records.sections import E2EData, InnsData, RecordsData, RecordsTraining, check_tokenizer

SYSTEM = System(
    name="describe",
    task="regard.systems.records.task:Describing",
    data=(InnsData, E2EData, RecordsData),
    models={"describer": "regard.systems.records.describer:Describer"},
    metrics=("slot_error", "bleu"),
    compares=frozenset({"texts", "records"}),
    uses=frozenset(
        {
            "model.copy",
            "model.coverage",
            "tokenizer.joint",
            "tokenizer.target",
            "train.batch",
            "train.exposure.word_dropout",
            "train.label_smoothing",
            "decode",
        }
    ),
    tokenizer={"kind": "words"},
    train=RecordsTraining,
    checks={"model": check_copying, "tokenizer": check_tokenizer},
)
