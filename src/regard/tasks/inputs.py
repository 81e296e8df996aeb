"""Inputs: what a trained model is asked, each with its place: texts, the lines of a file, or its columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from regard.data.encodings import lone_surrogate
from regard.data.example import Bad, line_number
from regard.data.lines import LONGEST, bounded_lines, lines
from regard.data.problems import TextError, shortened
from regard.recipes.errors import RecipeError
from regard.recipes.file_data import LINES, Layout, file_section, format_of, input_formats
from regard.recipes.sections import Recipe
from regard.tasks.task import Task

Answer = TypeVar("Answer")


class Input(NamedTuple):
    """One text that a model is asked.

    Attributes:
        text: as the task reads it; "" where it cannot be read.
        where: its place, `file:line`; None for a text of the command line.
        problem: why it cannot be read; None if it can.
    """

    text: str
    where: str | None = None
    problem: str | None = None

    @property
    def line(self) -> int | None:
        """The number of its line."""
        return None if self.where is None else line_number(self.where)


def texts(given: Iterable[str]) -> Iterator[Input]:
    """Return texts without a place."""
    for text in given:
        shown = text.encode("utf-8", "replace").decode()
        bad = lone_surrogate(text) is not None  # as Python marks bytes of the command line
        yield Input("", None, f"{shortened(shown)!r} has bytes that are not UTF-8") if bad else Input(text)


def standard_input() -> Iterator[Input]:
    """Return the lines of standard input."""
    for number, raw in enumerate(bounded_lines(sys.stdin.buffer, "standard input"), start=1):
        where = f"standard input:{number}"
        if raw is None:
            yield Input("", where, f"the line has more than {LONGEST:,} bytes; cut it into several")
            continue
        try:
            yield Input(raw.decode("utf-8").rstrip("\r\n"), where)
        except UnicodeDecodeError:
            yield Input("", where, "the line is not UTF-8 (iconv -t utf-8 converts it)")


def input_format(recipe: Recipe, path: Path, layout: Layout) -> str:
    """Return how a file of inputs is read: a format of `data`, or `lines`, a text on each line.

    Raises:
        RecipeError: the command line says something that cannot be.
    """
    allowed = [LINES, *input_formats(recipe.system)]
    found = format_of(recipe.data, path, layout, allowed)
    if found is None and layout.columns:
        raise RecipeError(f"{path}: --source and --header are of columns; say which with --format table or jsonl")
    return found or LINES


def file_inputs(recipe: Recipe, task: Task, path: Path, layout: Layout) -> Iterator[Input]:
    """Return what a file asks, in its order.

    Args:
        recipe: of the run; its data section says how files are read where the command line does not.
        task: what makes a text of the fields of an example.
        path: the file.
        layout: what the command line says of it.

    Raises:
        RecipeError: the command line says something that cannot be.
        DataError: the file cannot be read, or lacks a column.
    """
    form = input_format(recipe, path, layout)
    if form == LINES:
        encoding = layout.encoding or str(getattr(recipe.data, "encoding", "utf-8"))
        longest = int(getattr(recipe.data, "max_line", LONGEST))
        return (
            Input(line.text, f"{path}:{line.number}", line.problem)
            for line in lines(path, encoding, longest, pipe=True)
        )
    section = file_section(recipe.data, recipe.system, form, path, layout, task.input_fields, None)
    try:
        data = input_formats(recipe.system)[form].model_validate(section)
    except ValidationError as problem:
        said = problem.errors()[0]
        key = ".".join(map(str, said["loc"]))
        raise RecipeError(f"{path}: {key or form}: {said['msg'].removeprefix('Value error, ')}") from None
    source = section.get("source")
    columns = dict(zip(task.input_fields, source if isinstance(source, list) else [source], strict=False))
    reader = data.reader(section["train"], task.reading(recipe)).asking(columns)
    return (
        Input("", item.where, item.why) if isinstance(item, Bad) else Input(task.ask(item.fields), item.where)
        for item in reader.items()
    )


def answered(
    inputs: Sequence[Input], answer: Callable[[list[str]], Sequence[Answer]]
) -> Iterator[tuple[Input, Answer | None]]:
    """Return each input with its answer, in their order; an input that cannot be answered comes with its problem.

    A text that the model cannot be asked is found by halving, so that the others are answered all the same.

    >>> def shout(texts):
    ...     if "" in texts: raise TextError("nothing to say")
    ...     return [text.upper() for text in texts]
    >>> [(one.problem, said) for one, said in answered([Input("a"), Input(""), Input("b")], shout)]
    [(None, 'A'), ('nothing to say', None), (None, 'B')]
    """
    readable = [one for one in inputs if one.problem is None]
    found = _halved(readable, answer)
    for one in inputs:
        yield (one, None) if one.problem is not None else next(found)


def _halved(
    inputs: Sequence[Input], answer: Callable[[list[str]], Sequence[Answer]]
) -> Iterator[tuple[Input, Answer | None]]:
    if not inputs:
        return
    try:
        found = answer([one.text for one in inputs])
    except TextError as problem:
        if len(inputs) == 1:
            yield inputs[0]._replace(problem=str(problem)), None
            return
        half = len(inputs) // 2
        yield from chain(_halved(inputs[:half], answer), _halved(inputs[half:], answer))
        return
    yield from zip(inputs, found, strict=True)
