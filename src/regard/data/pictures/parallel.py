"""Parallel map in threads, with results in the order of the items."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_order(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    workers: int | None = None,
    ahead: int | None = None,
) -> Iterator[Result]:
    """Yield `function(item)` of every item, computed in threads before the consumer needs it.

    Threads suffice for images, recordings and archives, because their decoders release the GIL. At most `ahead` results
    are in memory, however slow the consumer is. An exception is raised at the position of its result. Pending work is
    cancelled when the iterator is closed.

    Args:
        function: function of an item; it must be thread-safe.
        items: consumed lazily; may be infinite.
        workers: number of threads; None for one per core, up to 8; 0 runs in the calling thread.
        ahead: maximum number of items in progress or finished but not yet consumed; None for four per worker.

    >>> list(map_in_order(lambda x: x * x, range(5), workers=2))
    [0, 1, 4, 9, 16]
    """
    workers = min(os.cpu_count() or 1, 8) if workers is None else workers
    ahead = 4 * max(workers, 1) if ahead is None else ahead
    if workers < 0 or ahead < 1:
        raise ValueError(f"map_in_order: workers must be at least 0 and ahead at least 1; got {workers} and {ahead}")
    if workers == 0:
        return map(function, items)
    return _in_threads(function, iter(items), workers, ahead)


def _in_threads(
    function: Callable[[Item], Result], items: Iterator[Item], workers: int, ahead: int
) -> Iterator[Result]:
    pool = ThreadPoolExecutor(workers, thread_name_prefix="regard-data")
    try:
        pending: deque[Future[Result]] = deque(pool.submit(function, item) for item in islice(items, ahead))
        while pending:
            result = pending.popleft().result()
            pending.extend(pool.submit(function, item) for item in islice(items, 1))
            yield result
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
