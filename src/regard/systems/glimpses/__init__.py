"""Glimpses: picture labels from a sequence of small glimpses, with networks over whole pictures for comparison."""

from __future__ import annotations

from regard.recipes.system import System
from regard.systems.glimpses.sections import (
    DrawnDigitsData,
    LabelledPicturesData,
    MnistData,
    default_metrics,
    metric_options,
)

SYSTEM = System(
    name="glimpse",
    task="regard.systems.glimpses.task:Glimpses",
    data=(DrawnDigitsData, MnistData, LabelledPicturesData),
    models={
        "glimpse_network": "regard.systems.glimpses.glimpse_network:GlimpseNetwork",
        "fully_connected": "regard.systems.glimpses.whole_image:FullyConnected",
        "convolutional": "regard.systems.glimpses.whole_image:Convolutional",
    },
    metrics=default_metrics,
    compares=frozenset({"labels", "texts"}),
    select=("metric", "loss"),
    metric_options=metric_options,
    uses=frozenset({"train.batch", "train.label_smoothing"}),
)
