"""Modified Kneser-Ney smoothing, beside the formulas written out with dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from regard.recipes.load import load
from regard.systems.language_model.baseline import baselines
from regard.systems.language_model.kneser_ney import KneserNey

RNG = np.random.default_rng(5)
SIZE = 7
TEXTS = [RNG.choice(SIZE - 1, size=int(RNG.integers(1, 13))) for _ in range(60)]  # the last token never occurs


def written_out(texts: list[np.ndarray], order: int) -> dict[int, Counter[tuple[object, ...]]]:
    """The counts c of the n-grams of each length, by their definition."""
    occurrences: dict[int, Counter[tuple[object, ...]]] = {length: Counter() for length in range(1, order + 1)}
    for text in texts:
        row = ["<s>", *text.tolist()]
        for end in range(1, len(row)):
            for length in range(1, min(order, end + 1) + 1):
                occurrences[length][tuple(row[end + 1 - length : end + 1])] += 1
    counts = {order: occurrences[order]}
    for length in range(1, order):
        before = Counter(gram[1:] for gram in occurrences[length + 1])
        counts[length] = Counter(
            {gram: times if gram[0] == "<s>" else before[gram] for gram, times in occurrences[length].items()}
        )
    return counts


def probability(counts: dict[int, Counter[tuple[object, ...]]], token: int, history: tuple[object, ...]) -> float:
    """p(token | history) by recursion."""
    length = len(history) + 1
    shorter = 1.0 / SIZE if not history else probability(counts, token, history[1:])
    after = {gram[-1]: times for gram, times in counts[length].items() if gram[:-1] == history and times}
    if not after:
        return shorter
    n = Counter(counts[length].values())
    y = n[1] / (n[1] + 2 * n[2]) if n[1] else 0.0
    estimates = [i - (i + 1) * y * n[i + 1] / n[i] if n[i] else 0.5 for i in (1, 2, 3)]
    discounts = [d if 0 < d < i else 0.5 for i, d in enumerate(estimates, start=1)]
    total = sum(after.values())
    rest = sum(discounts[min(times, 3) - 1] for times in after.values())
    mine = max(after[token] - discounts[min(after[token], 3) - 1], 0.0) if token in after else 0.0
    return mine / total + rest / total * shorter


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_it_is_the_formula(order: int) -> None:
    counts = written_out(TEXTS, order)
    asked = [np.array([0, 3, 1, 6, 2, 2]), np.array([5]), TEXTS[0]]
    wanted = []
    for text in asked:
        row = ["<s>", *text.tolist()]
        wanted += [
            probability(counts, row[end], tuple(row[max(0, end + 1 - order) : end])) for end in range(1, len(row))
        ]
    found = KneserNey(TEXTS, size=SIZE, order=order).probabilities(asked)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("history", [[], [2], [3, 1], [6, 6, 6], [0, 4, 2, 5, 1]])
def test_it_is_a_distribution_behind_any_history(history: list[int]) -> None:
    model = KneserNey(TEXTS, size=SIZE, order=4)
    found = [float(model.probabilities([np.array([*history, token])])[-1]) for token in range(SIZE)]
    assert min(found) > 0
    assert abs(sum(found) - 1) < 1e-12


def test_unigrams_by_hand() -> None:
    """Counts 2, 1, 0 of 3: Y = 1/3, D_1 = 1 - 2/3, D_2 has no value between 0 and 2, so 1/2; the rest is 5/6 of 3."""
    model = KneserNey([np.array([0, 0, 1])], size=3, order=1)
    rest = (1 / 2 + 1 / 3) / 3 / 3
    wanted = [1.5 / 3 + rest, (2 / 3) / 3 + rest, rest]
    np.testing.assert_allclose(model.probabilities([np.arange(3)]), wanted, rtol=1e-12)
    assert abs(model.perplexity([np.arange(3)]) - np.prod(wanted) ** (-1 / 3)) < 1e-12


def test_a_recipe_is_measured_by_its_own_tokens() -> None:
    keys = ["data.train_size=200", "data.valid_size=20", "data.test_size=20"]
    characters = dict(baselines(load("tales", keys).recipe))
    words = dict(baselines(load("tales_pointer", keys).recipe))
    assert [*words] == [f"{order}-grams, Kneser-Ney" for order in (1, 3, 5)]
    assert 1 < characters["9-grams, Kneser-Ney"]["perplexity"] < characters["1-grams, Kneser-Ney"]["perplexity"] / 5
    with pytest.raises(ValueError, match="order"):
        KneserNey(TEXTS, size=SIZE, order=0)
