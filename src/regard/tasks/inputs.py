"""Inputs of a trained model, each with its place: texts, lines of a file or its columns; and files to evaluate on."""

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
        text: as the task reads it; "" for an unreadable one.
        where: its place, `file:line`; None for a text of the command line.
        problem: the reason why it cannot be read; None for a readable one.
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
        bad = lone_surrogate(text) is not None  # as Python marks bytes of the command line
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
    """Yield each input with its answer, in order; an input without an answer has a problem.

    An input that the model refuses is found by bisection, so that the others in its batch are answered all the same.

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


def check_inputs(texts: Sequence[Any], longest: int) -> None:
    """Refuse a text that cannot be encoded, or one so long that an answer would take minutes or all memory.

    Args:
        texts: inputs as the task parses them; those that are not texts are not checked.
        longest: maximal number of characters, `decode.max_text`.

    Raises:
        TextError: the first such text.

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
    """Return overrides of a run's recipe that make files its test split.

    Args:
        recipe: of the run.
        files: one file, a folder, or source and target of pairs; none for the recipe's own split.
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
