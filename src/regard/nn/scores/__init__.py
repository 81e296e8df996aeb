"""Scores: how well a query and a key match."""

from regard.nn.scores.additive import Additive
from regard.nn.scores.base import Score
from regard.nn.scores.bilinear import Bilinear
from regard.nn.scores.concat import Concat
from regard.nn.scores.cosine import Cosine
from regard.nn.scores.covered import Covered
from regard.nn.scores.dot import Dot, ScaledDot
from regard.nn.scores.location import Location

__all__ = ["Additive", "Bilinear", "Concat", "Cosine", "Covered", "Dot", "Location", "ScaledDot", "Score"]
