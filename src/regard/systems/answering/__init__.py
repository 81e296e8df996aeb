"""Question answering about a story, with one word as the answer."""

from __future__ import annotations

from regard.recipes.system import System
from regard.systems.answering.sections import StoriesData, WorldData, check_tokenizer, metric_options

SYSTEM = System(
    name="answer",
    task="regard.systems.answering.task:Answering",
    data=(StoriesData, WorldData),
    models={
        "attentive_reader": "regard.systems.answering.attentive_reader:AttentiveReader",
        "memory_network": "regard.systems.answering.memory_network:MemoryNetwork",
        "entity_network": "regard.systems.answering.entity_network:EntityNetwork",
    },
    metrics=("accuracy",),
    compares=frozenset({"labels", "texts"}),
    select=("metric",),
    metric_options=metric_options,
    uses=frozenset({"train.batch", "train.label_smoothing"}),
    tokenizer={"kind": "words", "split": "whitespace"},
    checks={"tokenizer": check_tokenizer},
)
