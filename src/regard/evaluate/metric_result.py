"""Score: a number that says how it was made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MetricResult:
    """The value of a metric with its signature.

    Attributes:
        name: of the metric, as it is printed.
        value: BLEU, chrF and TER between 0 and 100, as sacrebleu defines them; shares (METEOR, accuracy, F1, error
            rates) between 0 and 1.
        signature: everything that changes the value and is not the data: `key:value` pairs joined by `|`.
        count: how many sentences, or tokens where the metric is an average over tokens.

    >>> print(MetricResult("BLEU", 41.0213, "nrefs:1|case:lc|tok:13a", 1000))
    BLEU 41.02 (nrefs:1|case:lc|tok:13a)
    """

    name: str
    value: float
    signature: str
    count: int

    def __str__(self) -> str:
        return f"{self.name} {format_number(self.value)} ({self.signature})"


def format_number(value: float, form: str = "#.4g") -> str:
    """A number for people.

    >>> format_number(41.0213), format_number(float("inf"))
    ('41.02', 'not finite')
    """
    return format(value, form) if math.isfinite(value) else "not finite"


def strict(values: Mapping[str, float]) -> dict[str, float | None]:
    """Values by name as JSON can hold them: what is not finite is null.

    >>> strict({"loss": 750.0, "perplexity": float("inf")})
    {'loss': 750.0, 'perplexity': None}
    """
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def signature(**parts: object) -> str:
    """The pairs as one line: `signature(nrefs=1, case="lc")` is `"nrefs:1|case:lc"`; booleans become yes and no."""
    words = {True: "yes", False: "no"}
    return "|".join(f"{key}:{words[v] if isinstance(v, bool) else v}" for key, v in parts.items())
