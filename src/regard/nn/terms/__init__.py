"""Terms inside an additive score."""

from regard.nn.terms.base import Term

__all__ = ["Term"]
