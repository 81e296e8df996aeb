"""Dialogue response generation: replies to the last turns of a dialogue."""

from __future__ import annotations

from regard.parts import models
from regard.recipes.checks import check_copying
from regard.recipes.system import System
from regard.systems.replies.sections import DialoguesData, SmalltalkData

SYSTEM = System(
    name="reply",
    task="regard.systems.replies.task:Replying",
    data=(SmalltalkData, DialoguesData),
    models=models("bahdanau", "luong", "seq2seq", "transformer"),
    metrics=("rouge1", "rougeL", {"distinct": {"n": 1}}, {"distinct": {"n": 2}}, "repetition"),
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
