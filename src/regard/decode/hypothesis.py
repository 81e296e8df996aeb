"""Hypotheses: the results of a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from regard.decode.penalties import Penalty
from regard.deferred import deferrable, deferred


@deferrable("log_probs", "score", "alignment")
@dataclass(frozen=True)
class Hypothesis:
    """One output of a model, with all terms of its score.

    `tokens`, `log_probs` and the rows of `alignment` correspond one to one, so a finished hypothesis ends in EOS;
    `output` omits it. BOS is not included. An engine may defer log-probabilities, score and alignment to first use.

    Attributes:
        tokens: ids, with EOS last if `finished`.
        log_probs: the model's log-probability of each token, before temperature and constraints.
        score: the ranking score; `recompute()` returns exactly this number.
        penalty: the formula of the score; `str` prints it.
        alignment: [T, S] on the CPU, attention of token t to source position s, averaged over heads, without the
            padding of the source; None without attention.
        finished: True if EOS was reached before the maximal length.

    >>> hypothesis = Hypothesis.of((7, 4, 3), (-0.1, -0.2, -0.3), Penalty("average"), finished=True)
    >>> hypothesis.output, hypothesis.score
    ((7, 4), -0.2)
    >>> hypothesis.recompute() == hypothesis.score
    True
    """

    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]
    score: float
    penalty: Penalty
    finished: bool
    alignment: Tensor | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        tokens: tuple[int, ...],
        log_probs: tuple[float, ...],
        penalty: Penalty,
        *,
        finished: bool,
        alignment: Tensor | None = None,
    ) -> Hypothesis:
        """Return a hypothesis with its score."""
        return Hypothesis(tokens, log_probs, penalty.score(log_probs, alignment), penalty, finished, alignment)

    @classmethod
    def later(
        cls,
        tokens: tuple[int, ...],
        log_probs: Callable[[], tuple[float, ...]],
        penalty: Penalty,
        *,
        finished: bool,
        alignment: Callable[[], Tensor],
    ) -> Hypothesis:
        """A hypothesis whose log-probabilities, score and alignment are computed when they are first read.

        Its penalty has no coverage, so the score does not read the alignment.
        """
        score = deferred(lambda: penalty.score(log_probs()))
        return Hypothesis(tokens, deferred(log_probs), score, penalty, finished, deferred(alignment))

    @property
    def output(self) -> tuple[int, ...]:
        """The tokens without EOS."""
        return self.tokens[:-1] if self.finished else self.tokens

    def recompute(self) -> float:
        """Return the score, computed from the log-probabilities, the alignment and the penalty."""
        return self.penalty.score(self.log_probs, self.alignment if self.penalty.coverage else None)
