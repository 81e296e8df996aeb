"""Terms inside an additive score."""

from regard.nn.terms.base import RecurrentTerm, Term
from regard.nn.terms.fertility import Fertility
from regard.nn.terms.location import LocationFeatures
from regard.nn.terms.markov import Markov
from regard.nn.terms.position import Position
from regard.nn.terms.recall import Recall

__all__ = ["Fertility", "LocationFeatures", "Markov", "Position", "Recall", "RecurrentTerm", "Term"]
