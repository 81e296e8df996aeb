"""Length and coverage penalties: from a sum of log-probabilities to the score of a hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from torch import Tensor

Length = Literal["none", "average", "gnmt"]

_LEAST = 1e-4  # lower bound of coverage, so that a source word without attention has a finite cost


@dataclass(frozen=True)
class Penalty:
    r"""Score of a hypothesis, from its token log-probabilities and its alignment.

    .. math::
        s(y) = \frac{1}{lp(n)} \sum_{t=1}^{n} \log p(y_t) + \beta \sum_s \log \min(\sum_t a_{ts}, 1), \qquad
        lp(n) = 1, \; n^\alpha, \; ((5 + n) / 6)^\alpha

    where n is the number of tokens, including EOS. `str` returns the formula.

    Attributes:
        length: "none", "average" (n^α) or "gnmt" (((5+n)/6)^α).
        alpha: α >= 0; 0 for the plain sum; 1 with "average" for the mean log-probability per token.
        coverage: β >= 0, the cost of source positions without attention.

    Reference: Wu et al. 2016, "Google's Neural Machine Translation System", eq. 14. They write log 0 for a source word
    without any attention; here coverage is at least 10⁻⁴, so that scores stay finite.

    >>> gnmt = Penalty("gnmt", alpha=0.6)
    >>> print(gnmt)
    Σ log p / ((5 + n) / 6)^0.6
    >>> gnmt.score([-0.5] * 7), Penalty().score([-0.5] * 7)
    (-2.309, -3.5)
    """

    length: Length = "none"
    alpha: float = 1.0
    coverage: float = 0.0

    def __post_init__(self) -> None:
        if self.length not in get_args(Length):
            raise ValueError(f"the length penalty is one of {', '.join(get_args(Length))}; got {self.length!r}")
        if self.alpha < 0 or self.coverage < 0:
            raise ValueError(
                f"penalties need alpha >= 0 and coverage >= 0; got alpha={self.alpha}, coverage={self.coverage}"
            )

    def divisor(self, n: int) -> float:
        """Return lp(n), which never decreases with n."""
        match self.length:
            case "none":
                return 1.0
            case "average":
                return float(max(n, 1) ** self.alpha)
            case "gnmt":
                return float(((5 + n) / 6) ** self.alpha)

    def uncovered(self, coverage: Tensor) -> Tensor:
        """Return β Σ_s log min(coverage_s, 1), at most 0; `coverage`: [..., S], 1 at padding."""
        return self.coverage * coverage.clamp(_LEAST, 1.0).log().sum(-1)

    def score(self, log_probs: Sequence[float], alignment: Tensor | None = None) -> float:
        """Return s(y) of a complete hypothesis; `alignment`: [T, S], required if `coverage` > 0."""
        total = 0.0
        for log_prob in log_probs:  # sequentially, as in the search: sum() uses compensated summation since Python 3.12
            total += log_prob
        total /= self.divisor(len(log_probs))
        if self.coverage == 0:
            return total
        if alignment is None:
            raise ValueError("a coverage penalty needs a model that attends to its source; set coverage=0")
        return total + float(self.uncovered(alignment.double().sum(0)))

    def __str__(self) -> str:
        divided = {"none": "", "average": f" / n^{self.alpha:g}", "gnmt": f" / ((5 + n) / 6)^{self.alpha:g}"}
        covered = f" + {self.coverage:g} Σ_s log min(Σ_t a_ts, 1)" if self.coverage else ""
        return f"Σ log p{divided[self.length]}{covered}"
