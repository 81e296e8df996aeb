"""Examples to ids, in chunks, in several processes when it is worth it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.data.example import Example, Examples
from regard.data.field_kind import FieldKind, value_type
from regard.data.problems import DataError
from regard.data.sentences import Sentences, encoded_sentences

CHUNK = 4096
LARGE = 64 * 2**20
FEW, MANY = 4, 8  # cores: the library's own threads keep a few busy, one reader feeds no more than so many

Progress = Callable[[int], None]


class Encoder(Protocol):
    """Turns the values of a field into ids: a `Tokenizer`, `Labels`, `LabelSets`; or `Numbers` into other numbers."""

    @property
    def fingerprint(self) -> str:
        """What decides the ids."""

    def encode_all(self, values: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """The ids of many values."""

    def field_kind(self, value: Any) -> FieldKind:
        """The form in which such values are kept."""


class Chunk(NamedTuple):
    """Some examples: for each field all ids and the length of each example; and the kind of each field."""

    size: int
    fields: dict[str, tuple[NDArray[Any], NDArray[np.int64]]]
    kinds: dict[str, FieldKind]


def encoded(
    examples: Examples, encoders: Mapping[str, Encoder], workers: int | None, progress: Progress | None
) -> Iterator[Chunk]:
    """The chunks of all examples in order; no more than a few at a time are in memory."""
    large = sum(path.stat().st_size for path in examples.files) > LARGE
    if workers is None:
        cores = os.cpu_count() or 1
        workers = min(cores, MANY) if large and cores > FEW else 0
    source = iter(examples)
    texts = iter(lambda: list(islice(source, CHUNK)), [])
    chunks = _apart(texts, encoders, workers) if workers else (encode(chunk, encoders) for chunk in texts)
    count = 0
    with _reported(progress, large) as report:
        for chunk in chunks:
            yield chunk
            count += chunk.size
            report(count)


def encode(examples: Sequence[Example], encoders: Mapping[str, Encoder]) -> Chunk:
    """The ids of some examples."""
    fields: dict[str, tuple[NDArray[Any], NDArray[np.int64]]] = {}
    kinds: dict[str, FieldKind] = {}
    for name, encoder in encoders.items():
        rows = _rows(examples, name, encoder)
        first = examples[0].fields[name]
        kinds[name] = first.KIND if isinstance(first, Sentences) else encoder.field_kind(first)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        ids = np.fromiter((index for row in rows for index in row), value_type(kinds[name]), int(lengths.sum()))
        fields[name] = ids, lengths
    return Chunk(len(examples), fields, kinds)


def _rows(examples: Sequence[Example], name: str, encoder: Encoder) -> Sequence[Sequence[Any]]:
    for example in examples:
        if name not in example.fields:
            raise DataError(f"{example.where}: there is no field {name!r}, only {', '.join(example.fields)}")
    try:
        values = [example.fields[name] for example in examples]
        if isinstance(values[0], Sentences):
            return encoded_sentences(values, encoder.encode_all)
        return encoder.encode_all(values)
    except DataError:
        for example in examples:  # which one was it?
            try:
                encoder.encode_all([example.fields[name]])
            except DataError as error:
                raise DataError(f"{example.where}: {error}") from error
        raise


def _apart(texts: Iterator[list[Example]], encoders: Mapping[str, Encoder], workers: int) -> Iterator[Chunk]:
    """Encode in other processes, two chunks a process ahead."""
    # A forked child would inherit the threads of torch and tokenizers in whatever state they are in.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin, initargs=(dict(encoders),))
    waiting: deque[Future[Chunk]] = deque()
    try:
        for chunk in texts:
            waiting.append(pool.submit(_work, chunk))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


_encoders: dict[str, Encoder] = {}


def _begin(encoders: dict[str, Encoder]) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core a process
    _encoders.update(encoders)


def _work(chunk: list[Example]) -> Chunk:
    return encode(chunk, _encoders)


@contextmanager
def _reported(progress: Progress | None, large: bool) -> Iterator[Progress]:
    """Where to report the count to: the caller's function, a bar for large files, or nowhere."""
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
