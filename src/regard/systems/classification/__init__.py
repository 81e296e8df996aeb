"""Classification: a label, several labels or a number for a text or for two."""

from __future__ import annotations

from regard.recipes.data_sections import FolderData
from regard.recipes.system import System
from regard.systems.classification.checks import (
    check_data,
    check_decoding,
    check_training,
    compared,
    compares_texts,
    default_metrics,
    metric_options,
)
from regard.systems.classification.sections import (
    ClaimsData,
    ClassificationDecoding,
    EndingsData,
    LabelledHubData,
    LabelledJsonlData,
    LabelledTableData,
    LabelledTextData,
    MovieReviewsData,
    OpinionsData,
    ReviewsData,
    UtterancesData,
    VerdictsData,
)

SYSTEM = System(
    name="classify",
    task="regard.systems.classification.task:Classification",
    data=(
        EndingsData,
        OpinionsData,
        ClaimsData,
        ReviewsData,
        VerdictsData,
        MovieReviewsData,
        LabelledTextData,
        FolderData,
        LabelledTableData,
        LabelledJsonlData,
        LabelledHubData,
        UtterancesData,
    ),
    models={
        "acceptor": "regard.systems.classification.acceptor:Acceptor",
        "decomposable_attention": "regard.systems.classification.decomposable:DecomposableAttention",
        "esim": "regard.systems.classification.esim:ESIM",
        "hierarchical": "regard.systems.classification.hierarchical:HierarchicalAttention",
    },
    metrics=default_metrics,
    compares=compared,
    select=("metric",),
    metric_options=metric_options,
    uses=frozenset({"train.batch", "train.label_smoothing", "train.r_drop", "train.class_weights"}),
    compares_texts=compares_texts,
    decode=ClassificationDecoding,
    checks={"data": check_data, "train": check_training, "decode": check_decoding},
)
