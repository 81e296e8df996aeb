"""Tasks by the names that recipes give them."""

from __future__ import annotations

from regard.tasks.answering import Answering
from regard.tasks.bits import Bits
from regard.tasks.labelling import Classification, Tagging
from regard.tasks.language_modelling import LanguageModelling
from regard.tasks.masked_language_modelling import MaskedLanguageModelling
from regard.tasks.nodes import Nodes
from regard.tasks.recalling import Recalling
from regard.tasks.spans import SpanAnswering
from regard.tasks.task import Task
from regard.tasks.translation import Translation

TASKS: dict[str, type[Task]] = {
    "translate": Translation,
    "language_model": LanguageModelling,
    "masked_language_model": MaskedLanguageModelling,
    "classify": Classification,
    "tag": Tagging,
    "answer": Answering,
    "bits": Bits,
    "recall": Recalling,
    "spans": SpanAnswering,
    "nodes": Nodes,
}
