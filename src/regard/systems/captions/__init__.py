"""Captions: a sentence for a picture."""

from __future__ import annotations

from regard.recipes.system import System
from regard.systems.captions.checks import check_decoding, check_training
from regard.systems.captions.sections import Decoding, Flickr8kData, PicturesData, ScenesData, Training

SYSTEM = System(
    name="caption",
    task="regard.systems.captions.task:Captioning",
    data=(ScenesData, PicturesData, Flickr8kData),
    models={"captioner": "regard.systems.captions.captioner:Captioner"},
    metrics=("exact_match", "caption_bleu", "cider"),
    uses=frozenset({"train.batch", "train.label_smoothing", "decode"}),
    train=Training,
    decode=Decoding,
    checks={"train": check_training, "decode": check_decoding},
)
