"""Terms inside an additive score."""

from regard.nn.terms.base import RecurrentTerm, Term
from regard.nn.terms.fertility import Fertility
from regard.nn.terms.history import History
from regard.nn.terms.location import LocationFeatures
from regard.nn.terms.markov import Markov
from regard.nn.terms.position import Position

__all__ = ["Fertility", "History", "LocationFeatures", "Markov", "Position", "RecurrentTerm", "Term"]
