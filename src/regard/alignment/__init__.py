"""Word alignment: links of words in sentence pairs, from statistics of a corpus or from attention."""

from regard.alignment.links import GoldLinks, Link, Links, parse_gold, parse_pharaoh, pharaoh, read_gold, read_links
from regard.alignment.symmetrise import Symmetrisation, symmetrise

__all__ = [
    "GoldLinks",
    "Link",
    "Links",
    "Symmetrisation",
    "parse_gold",
    "parse_pharaoh",
    "pharaoh",
    "read_gold",
    "read_links",
    "symmetrise",
]
