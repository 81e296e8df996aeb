"""tanh as a line and a few sines: fits by span, number of terms and error, and the choice among them.

    |tanh x - α x - Σ_n c_n sin(ω_n x)| <= error     for |x| <= span

Slope, frequencies and amplitudes are all fitted, so that the largest error is smallest: Gauss-Newton steps with
Lawson's weights, and then Newton's on the condition that the error reaches its largest size with alternating signs at
2N + 2 points of (0, span], which all of these do. Each term divides the error by about the same factor, a smaller one
on wider spans. Even fits, whose frequencies are multiples of the first, have the amplitudes of least error (a linear
program) at the best of all first frequencies.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources

import torch

TOLERANCE = {torch.bfloat16: 1.5 * 2.0**-8, torch.float16: 1.5 * 2.0**-11}
"""The error of a tanh that is allowed unless said otherwise: a step and a half of the dtype below 1, which is what the
equation computed in that dtype errs by at most (README.md)."""

LIMIT = 64.0
"""The largest |q| and |k|: float32 has their angles ω q to 3e-5."""


@dataclass(frozen=True)
class HarmonicFit:
    """A line and sines that stand for a tanh on [-span, span]; `even` if their frequencies are ω, 2ω, 3ω, ...

    >>> fit = choose(1.0, tolerance=1e-3)
    >>> round(fit.slope, 3), fit.terms
    (0.674, 1)
    """

    span: float
    error: float
    slope: float
    frequencies: tuple[float, ...]
    amplitudes: tuple[float, ...]
    even: bool = False

    @property
    def terms(self) -> int:
        """N, the number of sines: two features for each hidden unit and term."""
        return len(self.frequencies)


def choose(span: float, tolerance: float, *, even: bool = False) -> HarmonicFit | None:
    """The fit with the fewest terms that covers a span within a tolerance; None where there is none, or for NaN.

    Even ones cost up to a term more.

    >>> fit = choose(8.3, tolerance=4e-3)
    >>> fit.terms, fit.span, fit.error
    (6, 9, 0.00159)
    >>> choose(8.3, tolerance=1e-3).terms
    7
    >>> choose(8.3, tolerance=5e-3).terms, choose(8.3, tolerance=5e-3, even=True).terms
    (5, 6)
    """
    able = [fit for fit in fits(even=even) if span <= fit.span and fit.error <= tolerance]
    return min(able, key=lambda fit: (fit.terms, fit.error), default=None)


def widest(tolerance: float) -> float:
    """The widest span that a fit covers within a tolerance; 0 where there is none.

    >>> widest(4e-3), widest(1e-4)
    (20, 16)
    """
    return max((fit.span for fit in fits() if fit.error <= tolerance), default=0)


@functools.cache
def fits(*, even: bool = False) -> tuple[HarmonicFit, ...]:
    """All fits, or all even ones, read from `harmonic_fits.json` when they are first needed.

    A row is span, error, slope, frequencies (of an even fit the first one alone) and amplitudes.

    >>> len(fits()), len(fits(even=True)), fits(even=True)[2].frequencies
    (79, 24, (1.553664, 3.107328))
    """
    table = resources.files("regard.ops.additive").joinpath("harmonic_fits.json").read_text(encoding="utf-8")
    return tuple(_fit(*row, even=even) for row in json.loads(table)["even" if even else "free"])


def _fit(
    span: float, error: float, slope: float, frequencies: float | list[float], amplitudes: list[float], *, even: bool
) -> HarmonicFit:
    if not isinstance(frequencies, list):
        frequencies = [frequencies * n for n in range(1, len(amplitudes) + 1)]
    return HarmonicFit(span, error, slope, tuple(frequencies), tuple(amplitudes), even=even)
