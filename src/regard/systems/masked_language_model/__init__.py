"""Masked language models: predicting masked words, the pretraining objective of BERT."""

from __future__ import annotations

from regard.parts import models
from regard.recipes.data_sections import HubData, JsonlData, TableData, TextData
from regard.recipes.system import System
from regard.systems.classification.sections import OpinionsData
from regard.systems.masked_language_model.sections import MaskedTraining, check_tokenizer, check_training

SYSTEM = System(
    name="masked_language_model",
    task="regard.systems.masked_language_model.task:MaskedLanguageModelling",
    data=(TextData, TableData, JsonlData, HubData, OpinionsData),
    models={
        **models("bert"),
        "masked_lm": "regard.systems.masked_language_model.word_filler:MaskedLM",
        "middle_word": "regard.systems.masked_language_model.word_filler:MiddleWord",
    },
    compares=None,
    uses=frozenset({"train.batch", "train.batch.window", "train.label_smoothing"}),
    train=MaskedTraining,
    checks={"tokenizer": check_tokenizer, "train": check_training},
    pretrains=True,
    commands={
        "import": "regard.systems.masked_language_model.commands:import_command",
        "export": "regard.systems.masked_language_model.commands:export_command",
    },
)
