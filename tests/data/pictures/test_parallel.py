"""Work in threads: order, bounds, errors in their place."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from regard.data.pictures.parallel import map_in_order
from regard.data.random_draws import uniform_draws


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_results_come_in_order(workers: int) -> None:
    def work(number: int) -> int:
        time.sleep(0.002 * (number % 3))  # later items finish sooner
        return number

    assert list(map_in_order(work, range(23), workers=workers, ahead=7)) == list(range(23))
    assert list(map_in_order(work, [], workers=workers)) == []


def test_no_more_than_the_bound_is_begun() -> None:
    begun: list[int] = []
    results = map_in_order(begun.append, itertools.count(), workers=2, ahead=5)
    next(results)
    time.sleep(0.05)
    assert len(begun) <= 6
    results.close()  # type: ignore[attr-defined]


def test_work_is_done_in_other_threads_at_the_same_time() -> None:
    together = threading.Barrier(3)  # three items that wait for one another: none ends unless all have begun
    assert len(list(map_in_order(lambda _: together.wait(timeout=10), range(3), workers=3))) == 3


def test_an_error_comes_in_its_place() -> None:
    results = map_in_order(lambda number: 6 // (3 - number), range(9), workers=2)
    assert [next(results) for _ in range(3)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        next(results)


@pytest.mark.parametrize("wrong", [{"workers": -1}, {"ahead": 0}])
def test_numbers_that_are_none(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        map_in_order(str, range(3), **wrong)


def test_draws_are_a_function_of_seed_epoch_and_example() -> None:
    draws = uniform_draws(range(4000), 3, 7, 1)
    assert draws.shape == (4000, 3)
    assert draws.min() >= 0.0
    assert draws.max() < 1.0
    assert abs(draws.mean(0) - 0.5).max() < 5 / (12 * 4000) ** 0.5
    assert (uniform_draws([31, 5], 3, 7, 1) == draws[[31, 5]]).all()
    assert (uniform_draws(range(4000), 3, 7, 2) != draws).all()
    assert uniform_draws([1, 2], 0, 7).shape == (2, 0)
