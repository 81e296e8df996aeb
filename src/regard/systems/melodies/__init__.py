"""Melodies in ABC notation: language models of tunes, with playback as MIDI and WAV."""

from __future__ import annotations

from regard.parts import models
from regard.recipes.system import System
from regard.systems.language_model.sections import (
    LanguageModelDecoding,
    LanguageModelEvaluation,
    LanguageModelTraining,
    check_dynamic,
    check_penalties,
)
from regard.systems.melodies.sections import AirsData, TunesData

SYSTEM = System(
    name="melody",
    task="regard.systems.melodies.task:Melodies",
    data=(AirsData, TunesData),
    models=models("char_rnn", "language_model", "transformer_lm"),
    compares=None,
    uses=frozenset(
        {
            "train.batch",
            "train.exposure.word_dropout",
            "train.exposure.corruption",
            "train.label_smoothing",
            "decode",
        }
    ),
    tokenizer={"kind": "characters"},
    train=LanguageModelTraining,
    decode=LanguageModelDecoding,
    evaluate=LanguageModelEvaluation,
    checks={"train": check_penalties, "evaluate": check_dynamic},
    commands={"play": "regard.systems.melodies.commands:command"},
)
