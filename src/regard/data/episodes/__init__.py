"""Sequences of vectors with bits to answer: the five tasks of Neural Turing Machines, drawn without end."""

from regard.data.episodes.algorithm import Algorithm, Asked
from regard.data.episodes.associative_recall import AssociativeRecall
from regard.data.episodes.copy_task import Copy
from regard.data.episodes.drawn import Drawn
from regard.data.episodes.episodes import Episodes
from regard.data.episodes.ngrams import Ngrams
from regard.data.episodes.priority_sort import PrioritySort
from regard.data.episodes.repeat_copy import RepeatCopy

ALGORITHMS: dict[str, type[Algorithm]] = {
    "copy": Copy,
    "repeat_copy": RepeatCopy,
    "associative_recall": AssociativeRecall,
    "ngrams": Ngrams,
    "priority_sort": PrioritySort,
}
"""By the names that recipes give them."""

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Asked",
    "AssociativeRecall",
    "Copy",
    "Drawn",
    "Episodes",
    "Ngrams",
    "PrioritySort",
    "RepeatCopy",
]
