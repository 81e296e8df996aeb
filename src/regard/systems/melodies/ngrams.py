"""Characters by their frequencies behind the characters before: the baseline of models of melodies."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

_END = "\0"


class NGrams:
    r"""An n-gram model with Witten-Bell smoothing.

    .. math:: p(w \mid h) = \frac{c(hw) + T(h)\, p(w \mid h')}{c(h) + T(h)}

    h are the n - 1 characters before w, h' is h without its first, c counts, and T(h) is the number of different
    characters behind h. Below the empty h lies the uniform distribution over all characters, one for the end of a text
    and one for all unknown ones. Every text begins with an empty h.

    Args:
        texts: to learn from.
        order: n.

    Witten & Bell 1991, method C; Chen & Goodman 1998, section 2.5.

    >>> model = NGrams(["aab"], order=1)        # 4 tokens of 3 kinds: "a" has (2 + 3 / 4) / (4 + 3)
    >>> round(model.probability("a", ""), 4), round(model.probability("x", ""), 4)
    (0.3929, 0.1071)
    """

    def __init__(self, texts: Iterable[str], *, order: int = 6) -> None:
        if order < 1:
            raise ValueError(f"order must be at least 1; got {order}")
        self.order = order
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for text in texts:
            for before, token in self._tokens(text):
                for begin in range(len(before) + 1):
                    self.counts[before[begin:]][token] += 1
        self.totals = {before: counts.total() for before, counts in self.counts.items()}
        self.floor = 1.0 / (len(self.counts[""]) + 1)

    def probability(self, token: str, before: str) -> float:
        """Return p(token | before)."""
        before = before[len(before) - min(len(before), self.order - 1) :]
        found = self.floor
        for begin in range(len(before), -1, -1):  # from the empty history to the longest
            total = self.totals.get(before[begin:])
            if total is None:
                break
            counts = self.counts[before[begin:]]
            found = (counts[token] + len(counts) * found) / (total + len(counts))
        return found

    def nats(self, texts: Iterable[str]) -> float:
        """Return the mean of -log p per character; the end of each text counts as one."""
        values = [-math.log(self.probability(token, before)) for text in texts for before, token in self._tokens(text)]
        return sum(values) / len(values)

    def _tokens(self, text: str) -> Iterable[tuple[str, str]]:
        """Yield each character with those before it, and the end."""
        for at in range(len(text) + 1):
            yield text[max(0, at - self.order + 1) : at], text[at] if at < len(text) else _END
