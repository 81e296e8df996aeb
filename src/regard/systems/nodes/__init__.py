"""Nodes: node classification in one graph."""

from __future__ import annotations

from regard.recipes.system import System
from regard.systems.nodes.sections import CommunitiesData, GraphData, PlanetoidData, metric_options

SYSTEM = System(
    name="nodes",
    task="regard.systems.nodes.task:Nodes",
    data=(CommunitiesData, PlanetoidData, GraphData),
    models={"gat": "regard.systems.nodes.gat:GAT"},
    metrics=("accuracy",),
    compares=frozenset({"labels", "texts"}),
    select=("metric", "loss"),
    metric_options=metric_options,
    uses=frozenset({"train.label_smoothing", "train.class_weights"}),
)
