"""Bootstrap over sentences: the interval of a metric, and whether one system is better than another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from regard.evaluate.metric_result import MetricResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Resamples(Protocol):
    """A metric that can be scored on any choice of its sentences: a `Tally`, or a `RecomputedMetric` metric."""

    def __len__(self) -> int: ...

    def resampled(self, picks: NDArray[np.int64]) -> float:
        """The metric over these sentences."""


@dataclass(frozen=True)
class RecomputedMetric:
    """Any metric over lists of texts as something to resample: computed anew for each resample, so slow and general.

    >>> import numpy as np
    >>> count = lambda texts, _: sum(len(text.split()) for text in texts)
    >>> words = RecomputedMetric(count, ["a b", "c"], [["x"], ["y"]])
    >>> words.resampled(np.array([0, 0, 1]))
    5.0
    """

    metric: Callable[[list[str], list[Sequence[str]]], float | MetricResult]
    hypotheses: Sequence[str]
    references: Sequence[Sequence[str]]

    def __len__(self) -> int:
        return len(self.hypotheses)

    def resampled(self, picks: NDArray[np.int64]) -> float:
        """The metric over these sentences."""
        found = self.metric([self.hypotheses[at] for at in picks], [self.references[at] for at in picks])
        return float(found.value if isinstance(found, MetricResult) else found)


class PairedComparison(NamedTuple):
    """Two systems on the same sentences.

    Attributes:
        first, second: the metric of each on the whole set.
        difference: second - first.
        mean: the mean of that difference over the resamples.
        low, high: the interval that holds the difference in `level` of the resamples.
        p_value: how probable a difference at least this large, in either direction, is if there is none.
        sacrebleu_p_value: sacrebleu's p-value, by its formula on the same resamples.
        samples, level, seed: how it was computed.
    """

    first: float
    second: float
    difference: float
    mean: float
    low: float
    high: float
    p_value: float
    sacrebleu_p_value: float
    samples: int
    level: float
    seed: int

    def __str__(self) -> str:
        return (
            f"{self.first:#.4g} → {self.second:#.4g}: {self.difference:+.4g} "
            f"[{self.low:+.4g}, {self.high:+.4g}], p = {self.p_value:.4f} "
            f"(bootstrap:{self.samples}|level:{self.level:g}|seed:{self.seed})"
        )


class Interval(NamedTuple):
    """Interval of a metric over resamples of its sentences.

    Attributes:
        low, high: the ends that hold the metric in `level` of the resamples.
        samples, level, seed: how it was computed.
    """

    low: float
    high: float
    samples: int
    level: float
    seed: int

    @property
    def signature(self) -> str:
        """Computation, as sacrebleu prints it: `bs:1000|seed:0`, with the level."""
        return f"bs:{self.samples}|level:{self.level:g}|seed:{self.seed}"


def bootstrap_interval(
    counted: Resamples,
    *,
    among: NDArray[np.int64] | None = None,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    r"""Return the percentile interval of a metric over resamples of its sentences (Koehn 2004).

    Args:
        counted: the tally of a system, or a `RecomputedMetric` metric.
        among: the sentences that are resampled, by number; None for all.
        samples: B.
        level: of the interval.
        seed: same seed, same answer.

    >>> from regard.evaluate import exact_match_tally
    >>> right = exact_match_tally(["a"] * 80 + ["?"] * 20, ["a"] * 100)
    >>> bootstrap_interval(right)
    Interval(low=0.72, high=0.88, samples=1000, level=0.95, seed=0)
    """
    import numpy as np

    chosen = np.arange(len(counted)) if among is None else among
    if len(chosen) == 0 or samples < 1 or not 0 < level < 1:
        raise ValueError(
            "bootstrap: it needs sentences, 1 sample or more and a level between 0 and 1; "
            f"got {len(chosen)} sentences, {samples} samples, level {level}"
        )
    draws = np.random.default_rng(seed)
    found = [counted.resampled(chosen[draws.integers(len(chosen), size=len(chosen))]) for _ in range(samples)]
    low, high = np.nanquantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), samples, level, seed)


def paired_bootstrap(
    first: Resamples, second: Resamples, *, samples: int = 1000, level: float = 0.95, seed: int = 0
) -> PairedComparison:
    r"""Draws as many sentences as there are, with replacement, again and again, the same ones for both systems.

    .. math:: p = \frac{1 + \#\{b : |\Delta_b - \bar\Delta| \ge |\Delta|\}}{1 + B}

    with Δ the difference on the whole set, :math:`\Delta_b` that on resample b of B and :math:`\bar\Delta` its mean.

    Args:
        first: the tally of one system (`bleu_tally`, ...), or a `RecomputedMetric` metric.
        second: that of the other, over the same sentences in the same order.
        samples: B.
        level: of the interval, whose ends are percentiles of the :math:`\Delta_b`.
        seed: same seed, same answer.

    Returns:
        Comparison; a positive difference means that the second has the larger value, the worse one for error rates.

    Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation". The p-value is two-sided and
    shifted, as in Riezler & Maxwell 2005: it asks how far resampling alone moves the difference. Koehn's own, the share
    of resamples in which the better system loses, is one-sided. Two equal systems have p = 1.

    `sacrebleu_p_value` is that of sacrebleu's paired bootstrap (`sacrebleu --paired-bs`), which takes absolute values
    before it centres:

    .. math:: p' = \frac{1 + \#\{b : |\Delta_b| - \overline{|\Delta|} > |\Delta|\}}{1 + B}

    Where resamples agree which system is better, that counts one tail of the two, about half of p. Where they do not,
    the mean of :math:`|\Delta_b|` exceeds :math:`|\bar\Delta|`, and p' is smaller still: for normal
    :math:`\Delta_b` with Δ at 1 and 2 standard deviations p is 0.32 and 0.046, and p' 0.12 and 0.022.

    >>> from regard.evaluate import exact_match_tally
    >>> truth = [str(number) for number in range(200)]
    >>> worse, better = (exact_match_tally(truth[:right] + ["?"] * (200 - right), truth) for right in (100, 150))
    >>> print(paired_bootstrap(worse, better))
    0.5000 → 0.7500: +0.25 [+0.19, +0.31], p = 0.0010 (bootstrap:1000|level:0.95|seed:0)
    """
    if len(first) != len(second):
        raise ValueError(
            f"paired bootstrap: the systems have {len(first)} and {len(second)} sentences; "
            "a paired test needs the same sentences in the same order"
        )
    if len(first) == 0 or samples < 1 or not 0 < level < 1:
        raise ValueError(
            "paired bootstrap: it needs sentences, 1 sample or more and a level between 0 and 1; "
            f"got {len(first)} sentences, {samples} samples, level {level}"
        )
    import numpy as np

    everything = np.arange(len(first))
    whole = first.resampled(everything), second.resampled(everything)
    difference = whole[1] - whole[0]
    draws = np.random.default_rng(seed)
    differences = np.empty(samples)
    for sample in range(samples):
        picks = draws.integers(len(first), size=len(first))
        differences[sample] = second.resampled(picks) - first.resampled(picks)
    mean = differences.mean()
    low, high = np.quantile(differences, [(1 - level) / 2, (1 + level) / 2])
    extreme = int((np.abs(differences - mean) >= abs(difference)).sum())
    sizes = np.abs(differences)
    larger = int((sizes - sizes.mean() > abs(difference)).sum())
    p_values = (1 + extreme) / (1 + samples), (1 + larger) / (1 + samples)
    return PairedComparison(*whole, difference, float(mean), float(low), float(high), *p_values, samples, level, seed)
