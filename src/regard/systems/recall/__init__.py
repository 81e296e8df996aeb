"""Recall: question answering from an external memory."""

from __future__ import annotations

from regard.recipes.data_sections import HubData, JsonlData, TableData
from regard.recipes.system import System
from regard.systems.recall.sections import GlossaryData, RecallDecoding, check_decoding

SYSTEM = System(
    name="recall",
    task="regard.systems.recall.task:Recalling",
    data=(GlossaryData, TableData, JsonlData, HubData),
    models={"memory_transformer": "regard.systems.recall.memory_transformer:MemoryTransformer"},
    metrics=("exact_match",),
    uses=frozenset(
        {
            "train.batch",
            "train.exposure.word_dropout",
            "train.exposure.corruption",
            "train.label_smoothing",
            "decode",
        }
    ),
    decode=RecallDecoding,
    checks={"decode": check_decoding},
    two_texts="what is asked and the fact that answers it",
    commands={"remember": "regard.systems.recall.commands:command"},
)
