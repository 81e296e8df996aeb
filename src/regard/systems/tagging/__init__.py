"""Sequence tagging: one tag per word of a text."""

from __future__ import annotations

from regard.recipes.data_sections import ColumnsData, ConlluData, HubData, JsonlData
from regard.recipes.system import System
from regard.systems.tagging.checks import check_data, check_tokenizer, feature_column

SYSTEM = System(
    name="tag",
    task="regard.systems.tagging.task:Tagging",
    data=(ColumnsData, ConlluData, JsonlData, HubData),
    models={"transducer": "regard.systems.tagging.transducer:Transducer"},
    metrics=("accuracy",),
    compares=frozenset({"labels", "chunks", "texts"}),
    select=("metric",),
    uses=frozenset(
        {
            "model.encoder.characters",
            "model.encoder.feature_dim",
            "train.batch",
            "train.label_smoothing",
            "train.class_weights",
        }
    ),
    two_texts=feature_column,
    checks={"data": check_data, "tokenizer": check_tokenizer},
)
