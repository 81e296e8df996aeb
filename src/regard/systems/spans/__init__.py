"""Extractive question answering: answers that are spans of a passage."""

from __future__ import annotations

from regard.recipes.system import System
from regard.systems.spans.sections import DiariesData, SpansData, SquadData, check_tokenizer

SYSTEM = System(
    name="spans",
    task="regard.systems.spans.task:SpanAnswering",
    data=(DiariesData, SquadData, SpansData),
    models={
        "coattention_reader": "regard.systems.spans.coattention_reader:CoattentionReader",
        "span_reader": "regard.systems.spans.span_reader:SpanReader",
    },
    metrics=("squad_f1", "squad_exact"),
    select=("metric",),
    uses=frozenset({"train.batch"}),
    checks={"tokenizer": check_tokenizer},
)
