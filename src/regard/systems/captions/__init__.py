"""Image captioning: a sentence for a picture."""

from __future__ import annotations

from regard.recipes.system import System
from regard.systems.captions.sections import (
    CaptionDecoding,
    CaptionedPicturesData,
    CaptionTraining,
    Flickr8kData,
    ScenesData,
    check_decoding,
    check_training,
)

SYSTEM = System(
    name="caption",
    task="regard.systems.captions.task:Captioning",
    data=(ScenesData, CaptionedPicturesData, Flickr8kData),
    models={"captioner": "regard.systems.captions.captioner:Captioner"},
    metrics=("exact_match", "caption_bleu", "cider"),
    uses=frozenset({"train.batch", "train.label_smoothing", "decode"}),
    train=CaptionTraining,
    decode=CaptionDecoding,
    checks={"train": check_training, "decode": check_decoding},
)
