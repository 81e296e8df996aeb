"""From a model to outputs: greedy search, sampling and beam search over one protocol."""

from regard.decode.constraint import Constrained, Constraint, Prefix, Trie
from regard.decode.ensemble import Ensemble
from regard.decode.forced import score
from regard.decode.generate import generate
from regard.decode.hypothesis import Hypothesis
from regard.decode.penalties import Penalty
from regard.decode.search import Search
from regard.decode.unknown import replace_unknown
from regard.protocol import Generates, Selectable, Step

__all__ = [
    "Constrained",
    "Constraint",
    "Ensemble",
    "Generates",
    "Hypothesis",
    "Penalty",
    "Prefix",
    "Search",
    "Selectable",
    "Step",
    "Trie",
    "generate",
    "replace_unknown",
    "score",
]
