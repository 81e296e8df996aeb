"""Episode generators of the five tasks of Neural Turing Machines."""

from regard.systems.bits.episodes.algorithm import Algorithm, EpisodeQuestion
from regard.systems.bits.episodes.associative_recall import AssociativeRecall
from regard.systems.bits.episodes.copy_task import Copy
from regard.systems.bits.episodes.drawn import Drawn
from regard.systems.bits.episodes.episodes import Episodes
from regard.systems.bits.episodes.ngrams import Ngrams
from regard.systems.bits.episodes.priority_sort import PrioritySort
from regard.systems.bits.episodes.repeat_copy import RepeatCopy

ALGORITHMS: dict[str, type[Algorithm]] = {
    "copy": Copy,
    "repeat_copy": RepeatCopy,
    "associative_recall": AssociativeRecall,
    "ngrams": Ngrams,
    "priority_sort": PrioritySort,
}
"""Tasks by their name in a recipe (`data.format`)."""

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "AssociativeRecall",
    "Copy",
    "Drawn",
    "EpisodeQuestion",
    "Episodes",
    "Ngrams",
    "PrioritySort",
    "RepeatCopy",
]
