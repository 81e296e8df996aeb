"""Prediction inputs with their location (texts, file lines, file columns), and evaluation files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from regard.data.example import BadLine, line_number
from regard.data.formats.encodings import lone_surrogate
from regard.data.formats.lines import LONGEST, bounded_lines, lines
from regard.data.problems import TextError, shortened
from regard.recipes.errors import RecipeError
from regard.recipes.file_data import (
    LINES,
    FileLayout,
    file_section,
    format_of,
    input_formats,
    measured_section,
)
from regard.recipes.sections import Recipe
from regard.tasks.task import Task, task_class

Answer = TypeVar("Answer")


class Input(NamedTuple):
    """One input of `predict`.

    Attributes:
        text: the input in the task's format; "" if it is invalid.
        where: its location, `file:line`; None for a text of the command line.
        problem: error message of an invalid input; None if it is valid.
    """

    text: str
    where: str | None = None
    problem: str | None = None

    @property
    def line(self) -> int | None:
        """Line number in its file."""
        return None if self.where is None else line_number(self.where)


def texts(given: Iterable[str]) -> Iterator[Input]:
    """Yield inputs of the command line."""
    for text in given:
        shown = text.encode("utf-8", "replace").decode()
        bad = lone_surrogate(text) is not None  # Python decodes invalid UTF-8 of the command line to lone surrogates
        yield Input("", None, f"{shortened(shown)!r} has bytes that are not UTF-8") if bad else Input(text)


def standard_input() -> Iterator[Input]:
    """Yield the lines of standard input."""
    for number, raw in enumerate(bounded_lines(sys.stdin.buffer, "standard input"), start=1):
        where = f"standard input:{number}"
        if raw is None:
            yield Input("", where, f"the line has more than {LONGEST:,} bytes; cut it into several")
            continue
        try:
            yield Input(raw.decode("utf-8").rstrip("\r\n"), where)
        except UnicodeDecodeError:
            yield Input("", where, "the line is not UTF-8 (iconv -t utf-8 converts it)")


def input_format(recipe: Recipe, path: Path, layout: FileLayout) -> str:
    """Return the format of a file of inputs: a format of `data`, or `lines`, one text per line.

    Raises:
        RecipeError: options of the command line that contradict each other.
    """
    allowed = [LINES, *input_formats(recipe.system)]
    found = format_of(recipe.data, path, layout, allowed)
    if found is None and layout.columns:
        raise RecipeError(f"{path}: --source and --header are of columns; say which with --format table or jsonl")
    return found or LINES


def file_inputs(recipe: Recipe, task: Task, path: Path, layout: FileLayout) -> Iterator[Input]:
    """Yield the inputs in a file, in its order.

    Args:
        recipe: of the run; its data section has the defaults of the layout.
        task: joins the fields of an example to a text.
        path: the file.
        layout: options of the command line.

    Raises:
        RecipeError: options of the command line that contradict each other.
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
        Input("", item.where, item.why) if isinstance(item, BadLine) else Input(task.ask(item.fields), item.where)
        for item in reader.items()
    )


def answered(
    inputs: Sequence[Input], answer: Callable[[list[str]], Sequence[Answer]]
) -> Iterator[tuple[Input, Answer | None]]:
    """Yield each input with its answer, in order; an input without an answer has its `problem` set.

    Bisects a batch that the model rejects, so that one invalid input does not prevent the answers to the others.

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
        # k invalid inputs among n cost about k log n further calls instead of n.
        half = len(inputs) // 2
        yield from chain(_halved(inputs[:half], answer), _halved(inputs[half:], answer))
        return
    yield from zip(inputs, found, strict=True)


def check_inputs(texts: Sequence[Any], longest: int) -> None:
    """Reject texts that cannot be encoded, or are long enough to exhaust time or memory.

    Args:
        texts: parsed inputs; those that are not strings are not checked.
        longest: maximal number of characters, `decode.max_text`.

    Raises:
        TextError: the first invalid text.

    >>> check_inputs(["a text", "another"], longest=6)
    Traceback (most recent call last):
    regard.data.problems.TextError: 'another' has 7 characters and decode.max_text is 6; cut it, or set --decode ...
    """
    for text in texts:
        if not isinstance(text, str):
            continue
        if lone_surrogate(text) is not None:
            raise TextError(
                f"{shortened(text)!r} has a byte that is not UTF-8, or half of a surrogate pair; write it in UTF-8"
            )
        if len(text) > longest:
            raise TextError(
                f"{shortened(text)!r} has {len(text):,} characters and decode.max_text is {longest:,}; cut it, or set "
                f"--decode max_text={len(text)}"
            )


def file_overrides(recipe: Recipe, files: Sequence[Path], layout: FileLayout) -> list[str]:
    """Return recipe overrides that make files the test split of a run.

    Args:
        recipe: of the run.
        files: one file, a folder, or source and target files of pairs; none for the recipe's test split.
        layout: options of the command line.

    Raises:
        RecipeError: the format of a file is unknown.
    """
    if not files:
        return [f"data.{key}={json.dumps(value)}" for key, value in layout.reading().items()]
    reading = task_class(recipe.task).reading(recipe)
    two = recipe.system.joins_texts(recipe) or recipe.system.two_columns(recipe) is not None
    fields = (reading.question, reading.second) if two else (reading.question,)
    section = measured_section(recipe.data, recipe.system, files, layout, fields, reading.answer)
    return [f"data={json.dumps(section, ensure_ascii=False)}"]
