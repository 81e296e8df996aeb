"""What brings a search of its own."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from regard.decode.hypothesis import Hypothesis
from regard.decode.request import Request
from regard.decode.search import Search


@runtime_checkable
class Engine(Protocol):
    """A model together with another program's search; `generate` hands it the whole request."""

    def search(self, request: Request, search: Search) -> list[list[Hypothesis]]:
        """Up to `n_best` hypotheses for each input, best first; a setting that it does not have is a ValueError."""
        ...
