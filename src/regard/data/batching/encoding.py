"""Encoding of examples in chunks, in several processes if the files are large."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from typing import Any, NamedTuple

from regard.data.example import Example, Examples
from regard.data.fields.column import EncodedRows
from regard.data.fields.field import Field
from regard.data.problems import DataError, shortened

CHUNK = Field.CHUNK
LARGE = 64 * 2**20
# Up to FEW cores are used well by the threads of the tokenizers library; one reader cannot feed more than MANY.
FEW, MANY = 4, 8

Progress = Callable[[int], None]


class Chunk(NamedTuple):
    """Encoded examples: the rows of each part of each field."""

    size: int
    fields: dict[str, dict[str, EncodedRows]]


def encode_chunks(
    examples: Examples, fields: Mapping[str, Field[Any]], workers: int | None, progress: Progress | None
) -> Iterator[Chunk]:
    """Yield the encoded chunks of all examples in order; only a few are in memory at a time."""
    large = sum(path.stat().st_size for path in examples.files) > LARGE
    if workers is None:
        cores = os.cpu_count() or 1
        workers = min(cores, MANY) if large and cores > FEW else 0
    source, size = iter(examples), min((field.CHUNK for field in fields.values()), default=CHUNK)
    parts = iter(lambda: list(islice(source, size)), [])
    chunks = _apart(parts, fields, workers) if workers else (encode(part, fields) for part in parts)
    count = 0
    with _reported(progress, large) as report:
        for chunk in chunks:
            yield chunk
            count += chunk.size
            report(count)


def encode(examples: Sequence[Example], fields: Mapping[str, Field[Any]]) -> Chunk:
    """Encode some examples: the rows of each part of each field."""
    return Chunk(len(examples), {name: _encoded(examples, name, field) for name, field in fields.items()})


def _encoded(examples: Sequence[Example], name: str, field: Field[Any]) -> dict[str, EncodedRows]:
    for example in examples:
        if name not in example.fields:
            raise DataError(f"{example.where}: there is no field {name!r}, only {', '.join(example.fields)}")
    try:
        return _checked([example.fields[name] for example in examples], name, field)
    except DataError:
        for example in examples:  # encoded one by one, so that the message names the line
            try:
                _checked([example.fields[name]], name, field)
            except DataError as error:
                raise DataError(f"{example.where}: {error}") from error
        raise


def _checked(values: Sequence[Any], name: str, field: Field[Any]) -> dict[str, EncodedRows]:
    """Encode values and check that each part has its fixed number of rows per example."""
    found = field.encode(values)
    for part in field.parts:
        if part.rows is not None and (odd := found[part.name].counts != part.rows).any():
            value = values[int(odd.argmax())]
            raise DataError(f"the field {name!r} has one value per example, and here is {shortened(repr(value))}")
    return found


def _apart(parts: Iterator[list[Example]], fields: Mapping[str, Field[Any]], workers: int) -> Iterator[Chunk]:
    """Encode in worker processes, with at most two chunks per process in flight."""
    # A forked child would inherit the threads of torch and tokenizers in whatever state they are in.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin, initargs=(dict(fields),))
    waiting: deque[Future[Chunk]] = deque()
    try:
        for part in parts:
            waiting.append(pool.submit(_work, part))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


_fields: dict[str, Field[Any]] = {}


def _begin(fields: dict[str, Field[Any]]) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core per process
    _fields.update(fields)


def _work(chunk: list[Example]) -> Chunk:
    return encode(chunk, _fields)


@contextmanager
def _reported(progress: Progress | None, large: bool) -> Iterator[Progress]:
    """Yield a function that reports the count: the caller's, a progress bar for large files, or a no-op."""
    if progress is not None or not large:
        yield progress or (lambda _: None)
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("encoding"), TextColumn("{task.completed:,.0f} examples"), TimeElapsedColumn()
    console = Console(stderr=True)
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("encoding", total=None)
        yield lambda count: bar.update(task, completed=count)
