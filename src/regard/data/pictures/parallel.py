"""Work on many items in threads, with results in the order of the items."""

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

    Threads suffice for pictures, recordings and archives: their decoders release Python's lock. At most `ahead` results
    wait in memory, however slow the consumer is, and however many items there are. An error is raised where its
    result would have come. Work that has not begun is dropped when the iterator is closed.

    Args:
        function: what to do with an item; several threads call it at the same time.
        items: taken lazily; there may be infinitely many.
        workers: how many threads; None for one per core, 8 at most; 0 does the work in the calling thread.
        ahead: how many items are in progress or finished but not yet consumed; None for four per worker.

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
