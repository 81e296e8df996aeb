"""Metric breakdowns by input length, training frequency, and position in the answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from regard.data.fields.labels import Labels
from regard.data.fields.tokenizer import Tokenizer
from regard.evaluate.bootstrap import bootstrap_interval
from regard.evaluate.tally import Tally
from regard.report.bars import Bar
from regard.tasks.prediction import Prediction
from regard.tasks.splits import Split
from regard.tasks.task import Task

_BINS = 8
_FEW = 5  # minimum number of examples or tokens per bar
_SAMPLES = 300  # bootstrap resamples per bar
_OFTEN = (1, 10, 100, 1_000, 10_000, 100_000)
References = Sequence[Sequence[str]]
_POSITIONS = (1, 2, 3, 4, 5, 6, 8, 11, 16, 21, 31, 51, 101)


def by_length(tally: Tally, lengths: Sequence[int]) -> list[Bar]:
    """Return a metric per interval of input length, with confidence intervals; empty if all lengths are equal.

    Args:
        tally: of the metric.
        lengths: of the inputs, in the order of the tally.
    """
    found = np.asarray(lengths)
    bars = []
    for low, high in length_bins(lengths):
        chosen = np.flatnonzero((found >= low) & (found <= high))
        if len(chosen) >= _FEW:
            interval = bootstrap_interval(tally, among=chosen, samples=_SAMPLES)
            value = tally.resampled(chosen)
            if math.isfinite(value):
                bars.append(Bar(_range(low, high), value, len(chosen), interval.low, interval.high))
    return bars if len(bars) > 1 else []


def length_bins(lengths: Sequence[int], bins: int = _BINS) -> list[tuple[int, int]]:
    """Return intervals of lengths, both ends included, that hold about as many examples each.

    >>> length_bins([1, 1, 2, 3, 3, 3, 9, 9], bins=3)
    [(1, 1), (2, 2), (3, 9)]
    """
    order = np.sort(np.asarray(lengths))
    if not len(order):
        return []
    starts = sorted({int(order[place * len(order) // bins]) for place in range(bins)})
    ends = [int(order[order < following].max()) for following in starts[1:]]
    return list(zip(starts, [*ends, int(order[-1])], strict=True))


def by_frequency(
    task: Task, train: Split | None, predictions: Sequence[Prediction], references: References
) -> list[Bar]:
    """Return the recall of reference tokens or labels, grouped by their training frequency.

    Tokens are matched as multisets: order is ignored, repeated tokens must occur as often in the answer.
    """
    encoder = task.encoders.get(task.target_field)
    if train is None or train.encoded is None or not isinstance(encoder, Tokenizer | Labels):
        return []
    ids = np.asarray(train.encoded.ids(task.target_field))
    counts = np.bincount(ids[ids >= 0], minlength=encoder.size).tolist()
    if isinstance(encoder, Labels):
        often = dict(zip(encoder.names, counts, strict=True))
        return _shares(((often.get(name, 0), right) for name, right in _labels(task, predictions, references)), _OFTEN)
    return _shares(((counts[index], right) for index, right in _tokens(encoder, predictions, references)), _OFTEN)


def by_position(task: Task, predictions: Sequence[Prediction], references: References) -> list[Bar]:
    """Return the share of reference words (or characters) that answers have at the same position."""
    encoder = task.encoders.get(task.target_field)
    spelled = isinstance(encoder, Tokenizer) and encoder.kind == "characters"
    pairs = (
        (place + 1, place < len(said) and said[place] == unit)
        for prediction, right in zip(predictions, references, strict=True)
        for said, wanted in [(_units(prediction.text, spelled), _units(right[0], spelled))]
        for place, unit in enumerate(wanted)
    )
    return _shares(pairs, _POSITIONS)


def _units(text: str, spelled: bool) -> Sequence[str]:
    return text if spelled else text.split()


def _tokens(
    encoder: Tokenizer, predictions: Sequence[Prediction], references: References
) -> Iterator[tuple[int, bool]]:
    """Yield each reference token, with True if the answer contains it."""
    said = encoder.encode_all([prediction.text for prediction in predictions])
    wanted = encoder.encode_all([right[0] for right in references])
    for one, other in zip(said, wanted, strict=True):
        left = Counter(one)
        for index in other:
            yield index, left[index] > 0
            left[index] -= 1


def _labels(task: Task, predictions: Sequence[Prediction], references: References) -> Iterator[tuple[str, bool]]:
    for prediction, right in zip(predictions, references, strict=True):
        for wanted, said in zip(task.classes(right[0]), task.classes(prediction.text), strict=True):
            yield wanted, wanted == said


def _shares(pairs: Iterable[tuple[int, bool]], starts: Sequence[int]) -> list[Bar]:
    """Return the share of True per interval of numbers, with Wilson intervals; empty if there is only one bar."""
    totals, rights = np.zeros(len(starts) + 1, np.int64), np.zeros(len(starts) + 1, np.int64)
    for number, right in pairs:
        place = int(np.searchsorted(starts, number, side="right"))
        totals[place] += 1
        rights[place] += right
    names = ["0", *(_range(low, high - 1) for low, high in pairwise(starts)), f"{starts[-1]:,}+"]
    bars = [
        Bar(name, right / total, int(total), *wilson(int(right), int(total)))
        for name, total, right in zip(names, totals.tolist(), rights.tolist(), strict=True)
        if total >= _FEW
    ]
    return bars if len(bars) > 1 else []


def wilson(right: int, total: int) -> tuple[float, float]:
    """Return the 95% Wilson score interval of a proportion.

    >>> [round(end, 4) for end in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    z, share = 1.959964, right / total
    middle = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def histogram(values: NDArray[np.int64], *, bins: int = 16) -> list[Bar]:
    """Return a histogram over intervals of integers.

    >>> [(bar.name, bar.count) for bar in histogram(np.array([1, 1, 2, 7]), bins=3)]
    [('1–3', 3), ('4–6', 0), ('7–9', 1)]
    """
    if not len(values):
        return []
    low, high = int(values.min()), int(values.max())
    width = max(1, -(-(high - low + 1) // bins))
    counts = np.bincount((values - low) // width)
    return [
        Bar(_range(low + place * width, low + (place + 1) * width - 1), float(count), int(count))
        for place, count in enumerate(counts.tolist())
    ]


def _range(low: int, high: int) -> str:
    return f"{_thousands(low)}" if low == high else f"{_thousands(low)}–{_thousands(high)}"


def _thousands(number: int) -> str:
    return f"{number // 1000}k" if number >= 1000 and number % 1000 == 0 else f"{number:,}"
