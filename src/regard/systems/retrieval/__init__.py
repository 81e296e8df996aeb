"""Passage retrieval: dual encoders, BM25, and cross-encoders for re-ranking."""

from __future__ import annotations

from regard.recipes.data_sections import HubData, JsonlData, TableData
from regard.recipes.system import System
from regard.systems.retrieval.checks import check_decoding, check_training
from regard.systems.retrieval.sections import RetrievalDecoding, RetrievalTraining, SmallAdsData, SquadSearchData

SYSTEM = System(
    name="retrieve",
    task="regard.systems.retrieval.task:Retrieving",
    data=(SmallAdsData, TableData, JsonlData, SquadSearchData, HubData),
    models={
        "dual_encoder": "regard.systems.retrieval.dual_encoder:DualEncoder",
        "cross_encoder": "regard.systems.retrieval.cross_encoder:CrossEncoder",
    },
    metrics=(
        "mrr",
        {"recall_at": {"k": 1}},
        {"recall_at": {"k": 5}},
        {"recall_at": {"k": 10}},
        "ndcg",
    ),
    compares=frozenset({"rankings"}),
    select=("metric",),
    uses=frozenset({"train.batch"}),
    train=RetrievalTraining,
    decode=RetrievalDecoding,
    checks={"train": check_training, "decode": check_decoding},
    commands={
        "index": "regard.systems.retrieval.commands:index_command",
        "search": "regard.systems.retrieval.commands:search_command",
    },
)
