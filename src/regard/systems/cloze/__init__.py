"""Cloze reading: the word of a passage that fills the blank of a question."""

from __future__ import annotations

from regard.recipes.system import System
from regard.systems.cloze.sections import (
    CBTData,
    ClozeData,
    ClozeDecoding,
    ClozeTraining,
    NewsData,
    WhodunitData,
    check_tokenizer,
    metric_options,
)

SYSTEM = System(
    name="cloze",
    task="regard.systems.cloze.task:ClozeAnswering",
    data=(WhodunitData, CBTData, NewsData, ClozeData),
    models={"cloze_reader": "regard.systems.cloze.cloze_reader:ClozeReader"},
    metrics=("accuracy",),
    compares=frozenset({"labels", "texts"}),
    select=("metric",),
    metric_options=metric_options,
    uses=frozenset({"train.batch"}),
    tokenizer={"kind": "words"},
    train=ClozeTraining,
    decode=ClozeDecoding,
    checks={"tokenizer": check_tokenizer},
)
