"""`regard predict`: ask a trained model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from regard.cli.screen import fail, notice

if TYPE_CHECKING:
    from regard.tasks.prediction import Prediction

_CHUNK = 256


def command(
    run: Annotated[Path, typer.Argument(help="The folder of a run: runs/dates")],
    texts: Annotated[list[str] | None, typer.Argument(help="What to ask; without it, standard input.")] = None,
    file: Annotated[Path | None, typer.Option(help="Ask each line of this file (.gz is read as it is).")] = None,
    output: Annotated[Path | None, typer.Option(help="Write here instead of standard output.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with scores.")] = False,
    alignment: Annotated[bool, typer.Option(help="Draw where each piece looked; with --json, its weights.")] = False,
    n_best: Annotated[int, typer.Option(help="So many answers to each text.", min=1)] = 1,
    decode: Annotated[list[str] | None, typer.Option(help="Another search: --decode beam_size=10")] = None,
    ensemble: Annotated[list[Path] | None, typer.Option(help="Another run that answers with this one.")] = None,
    only: Annotated[Path | None, typer.Option(help="Answer with a line of this file, nothing else.")] = None,
    engine: Annotated[Literal["own", "ctranslate2"], typer.Option(help="Who searches.")] = "own",
    compute: Annotated[str | None, typer.Option(help="Numbers of the engine ctranslate2: --compute int8")] = None,
) -> None:
    """Ask a trained model: texts, a file, or standard input, line by line."""
    from regard.runs.folder import RunError, check_task, task_of

    if texts and file is not None:
        fail("texts and --file together; give one of them")
    if any(one.partition("=")[0].strip() == "n_best" for one in decode or []):
        fail("--decode n_best: how many answers are given is --n-best")
    try:
        task = task_of(run)
        for other in ensemble or []:
            check_task(other, task)
    except RunError as problem:
        fail(str(problem))

    import torch

    from regard.loading import load
    from regard.train import heap
    from regard.train.threads import choose

    try:
        overrides = [f"decode.{one}" for one in decode or []]
        predictor = load(run, *(ensemble or []), overrides=overrides, engine=engine, compute=compute)
        torch.set_num_threads(choose(predictor.model))
        heap.keep()
        trie = None if only is None else predictor.allowed(only)
        draw = _DRAWINGS.get(predictor.recipe.task, _weights) if alignment else _nothing
        with _opened(output) as out:
            for chunk in _chunks(texts or _lines(file)):
                for doubt in predictor.task.doubts(predictor.model, chunk):
                    notice(doubt)
                for answers in predictor.n_best(chunk, n_best, only=trie):
                    out.write(_json(answers, n_best, alignment) if as_json else _text(answers, n_best, draw))
                out.flush()
    except ValueError as problem:
        fail(str(problem))


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    """Where answers go."""
    if path is None:
        yield sys.stdout
        return
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as problem:
        fail(f"{path}: cannot be written ({problem.strerror})")
    with file:
        yield file


def _lines(path: Path | None) -> Iterator[str]:
    """The lines of a file or of standard input."""
    from regard.data.lines import lines
    from regard.data.problems import DataError

    if path is not None:
        for line in lines(path):
            if line.problem:
                raise DataError(f"{path}:{line.number}: not UTF-8; convert it with iconv -t utf-8")
            yield line.text
        return
    for number, raw in enumerate(sys.stdin.buffer, start=1):
        try:
            yield raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise DataError(f"standard input, line {number}: not UTF-8; convert it with iconv -t utf-8") from None


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Some texts at a time; a person at a terminal is answered line by line."""
    size = 1 if not isinstance(texts, list) and sys.stdin.isatty() else _CHUNK
    iterator = iter(texts)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _json(answers: list[Prediction], n_best: int, alignment: bool) -> str:
    row = answers[0].as_json(alignment=alignment)
    if n_best > 1:
        row["n_best"] = [one.as_json(alignment=alignment) for one in answers]
    return json.dumps(row, ensure_ascii=False) + "\n"


def _text(answers: list[Prediction], n_best: int, draw: Callable[[Prediction], str]) -> str:
    """A line for each answer, with its score in front where there are several, and a drawing below."""
    parts = []
    for one in answers:
        line = " ".join(one.text.splitlines())
        parts.append(f"{one.score:.4f}\t{line}" if n_best > 1 else line)
        if drawn := draw(one):
            parts.append(drawn + "\n")
    return "\n".join(parts) + "\n"


def _weights(answer: Prediction) -> str:
    """Where each piece looked, or that it cannot have looked anywhere."""
    from regard.view.terminal import heat_map

    drawn = answer.drawn()
    if drawn is None:
        return "(the model attends to nothing that could be drawn)" if answer.tokens else ""
    weights, rows = drawn
    return heat_map(weights, answer.source_tokens, rows).plain


def _tags(answer: Prediction) -> str:
    """Each tag under its word."""
    from regard.view.terminal import stacked

    return stacked(answer.source_tokens, answer.tokens).plain


def _hops(answer: Prediction) -> str:
    """Where each hop looked in the story; of a node, whom it reads."""
    from regard.view.terminal import story_map

    return "" if answer.alignment is None else story_map(answer.alignment, answer.source_tokens).plain


def _texts(answer: Prediction) -> str:
    """Which texts of the memory each piece looked at."""
    from regard.view.terminal import story_map

    return "" if answer.alignment is None else story_map(answer.alignment, answer.source_tokens, answer.tokens).plain


def _boundaries(answer: Prediction) -> str:
    """Where the answer may begin and end."""
    from regard.tasks.spans import around
    from regard.view.terminal import heat_map

    weights, pieces = around(answer)
    return heat_map(weights, pieces, ("begins", "ends")).plain


def _nothing(answer: Prediction) -> str:
    """No drawing."""
    return ""


_DRAWINGS = {"tag": _tags, "answer": _hops, "nodes": _hops, "recall": _texts, "spans": _boundaries}
