"""Summarisation: subject lines for the bodies of e-mails."""

from __future__ import annotations

from regard.parts import models
from regard.recipes.checks import check_copying
from regard.recipes.system import System
from regard.systems.summaries.sections import MailData, NoticesData

SYSTEM = System(
    name="summarise",
    task="regard.systems.summaries.task:Summarising",
    data=(NoticesData, MailData),
    models=models("bahdanau", "luong", "seq2seq", "transformer"),
    metrics=("rouge1", "rouge2", "rougeL", "repetition"),
    uses=frozenset(
        {
            "model.copy",
            "model.coverage",
            "tokenizer.joint",
            "tokenizer.target",
            "train.batch",
            "train.exposure.word_dropout",
            "train.exposure.corruption",
            "train.label_smoothing",
            "train.r_drop",
            "decode",
        }
    ),
    checks={"model": check_copying},
)
