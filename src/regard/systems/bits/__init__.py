"""Algorithmic tasks of Neural Turing Machines: sequences of vectors as inputs, bits as outputs."""

from __future__ import annotations

from regard.recipes.system import System
from regard.systems.bits.sections import (
    AssociativeRecallData,
    CopyData,
    NgramsData,
    PrioritySortData,
    RepeatCopyData,
    check_training,
)

SYSTEM = System(
    name="bits",
    task="regard.systems.bits.task:Bits",
    data=(CopyData, RepeatCopyData, AssociativeRecallData, NgramsData, PrioritySortData),
    models={"ntm": "regard.systems.bits.ntm:NTM", "rnn": "regard.systems.bits.vector_rnn:VectorRNN"},
    metrics=("exact_match",),
    uses=frozenset({"train.batch"}),
    checks={"train": check_training},
)
