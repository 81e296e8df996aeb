"""Cross-checks of recipes that transcribe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.recipes.section import own_keys
from regard.systems.speech.sections import SpeechDecoding, SpeechTraining

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe

_CTC = "ctc"


def check_training(recipe: Recipe) -> None:
    """Labels that are smoothed are those of a decoder, and windows are of running text."""
    if recipe.train.label_smoothing and recipe.model.kind == _CTC:
        raise ValueError("label_smoothing is of a decoder, and the model ctc has none; leave it out")
    if recipe.train.batch.window is not None:
        raise ValueError("a window is of running text; recordings are read whole: set batch.sentences or batch.tokens")
    features = getattr(recipe.data, "features", None)
    if own_keys(recipe.train, SpeechTraining).voices is not None and features is not None and features.deltas:
        raise ValueError("voices moves bands, and deltas are none; set data.features.deltas to 0, or leave voices out")


def check_decoding(recipe: Recipe) -> None:
    """Frames are not sampled; scores of both kinds are of a listener that was trained with both."""
    decode = own_keys(recipe.decode, SpeechDecoding)
    if decode.language_model is not None and (recipe.model.kind != _CTC or recipe.search().strategy != "beam"):
        raise ValueError("language_model is for the model ctc with strategy 'beam'; leave it out")
    if recipe.model.kind == _CTC:
        if recipe.search().strategy == "sample":
            raise ValueError("the model ctc is decoded with strategy 'greedy' or 'beam'; it draws no samples")
        if decode.ctc_weight is not None:
            raise ValueError("ctc_weight mixes CTC with attention, and the model ctc has no attention; leave it out")
    elif decode.ctc_weight and not recipe.model.ctc:
        raise ValueError("ctc_weight needs a listener that is trained with CTC too; set model.ctc above 0")
