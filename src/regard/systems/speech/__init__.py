"""Speech recognition: transcription of recordings."""

from __future__ import annotations

from regard.recipes.system import System
from regard.systems.speech.sections import (
    FsddData,
    RecordingsData,
    SpeechDecoding,
    SpeechTraining,
    TonesData,
    check_decoding,
    check_training,
)

SYSTEM = System(
    name="transcribe",
    task="regard.systems.speech.task:Transcription",
    data=(TonesData, FsddData, RecordingsData),
    models={
        "ctc": "regard.systems.speech.ctc_recogniser:CTCRecogniser",
        "listener": "regard.systems.speech.listener:Listener",
    },
    metrics=("wer", "cer", "exact_match"),
    select=("metric", "loss"),
    uses=frozenset({"train.batch", "train.label_smoothing", "decode"}),
    tokenizer={"kind": "characters"},
    train=SpeechTraining,
    decode=SpeechDecoding,
    checks={"train": check_training, "decode": check_decoding},
)
