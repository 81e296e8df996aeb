"""Tasks by the names that recipes give them."""

from __future__ import annotations

from regard.tasks.labelling import Classification, Tagging
from regard.tasks.language_modelling import LanguageModelling
from regard.tasks.task import Task
from regard.tasks.translation import Translation

TASKS: dict[str, type[Task]] = {
    "translate": Translation,
    "language_model": LanguageModelling,
    "classify": Classification,
    "tag": Tagging,
}
