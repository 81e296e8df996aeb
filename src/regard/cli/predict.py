"""`regard predict`: predictions of a trained model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from regard.cli.early_checks import check_input, check_output, check_runs
from regard.cli.screen import fail, notice
from regard.cli.start_up import quick_start
from regard.view.text import visible

if TYPE_CHECKING:
    from regard.data.problems import SkippedLines
    from regard.predictor import Predictor
    from regard.recipes.file_data import FileLayout
    from regard.tasks.inputs import Input
    from regard.tasks.prediction import Prediction
    from regard.tasks.task import Task

_CHUNK = 256


def command(
    run: Annotated[Path, typer.Argument(help="Folder of a run: runs/dates")],
    texts: Annotated[
        list[str] | None, typer.Argument(help="Input texts; default: the lines of standard input.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Input file, .gz too: columns, or one text per line.")] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="Format of the file: lines, table, jsonl, ...; default: by its name.")
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Input column, by name or by number from 0; twice for two texts.")
    ] = None,
    header: Annotated[bool | None, typer.Option(help="First line names the columns, or is data.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of the file: --encoding cp1252")] = None,
    bad_lines: Annotated[
        Literal["refuse", "skip"],
        typer.Option(help="Stop at a line that cannot be read, or leave its answer blank."),
    ] = "refuse",
    output: Annotated[Path | None, typer.Option(help="Output file; default: standard output.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line, with scores.")] = False,
    alignment: Annotated[
        bool, typer.Option(help="Attention weights, drawn below each answer; as numbers with --json.")
    ] = False,
    confidence: Annotated[
        bool, typer.Option(help="Calibrated probability that an answer is right, in front of it; of captions.")
    ] = False,
    align: Annotated[
        Literal["pharaoh"] | None, typer.Option(help="Word links behind each answer: the house ||| 0-0 1-1")
    ] = None,
    n_best: Annotated[int, typer.Option(help="Number of answers per input; a blank line separates inputs.", min=1)] = 1,
    decode: Annotated[
        list[str] | None, typer.Option(help="Search settings that differ from the recipe's: --decode beam_size=10")
    ] = None,
    ensemble: Annotated[
        list[Path] | None, typer.Option(help="Another run, averaged with this one; repeatable.")
    ] = None,
    only: Annotated[Path | None, typer.Option(help="Only the lines of this file as answers.")] = None,
    engine: Annotated[
        Literal["own", "ctranslate2", "onnx"], typer.Option(help="Search by regard, or by another program.")
    ] = "own",
    compute: Annotated[str | None, typer.Option(help="Number type of the search: --compute int8")] = None,
) -> None:
    """Predict with a trained model: texts, a file, or standard input, line by line."""
    from regard.recipes.file_data import FileLayout

    if texts and file is not None:
        fail("both texts and --file are given; give one of them")
    layout = FileLayout(form, tuple(source or ()), None, header, encoding)
    if file is None and layout != FileLayout():
        fail("--format, --source, --header and --encoding describe a file; give it with --file FILE")
    if any(one.partition("=")[0].strip() == "n_best" for one in decode or []):
        fail("--decode n_best is set by --n-best; use that option")
    overrides = [f"decode.{one}" for one in decode or []]
    check_runs(run, ensemble or [], overrides=overrides)
    check_input(file)
    check_input(only)
    check_output(output)

    with quick_start():
        from regard.cli.early_checks import explain_file_error
        from regard.cpu_settings import tune_cpu_for_answers
        from regard.data.problems import SkippedLines
        from regard.predictor import load
        from regard.tasks.inputs import answered

    try:
        with quick_start():
            predictor = load(run, *(ensemble or []), overrides=overrides, engine=engine, compute=compute)
        tune_cpu_for_answers(predictor.model)
        trie = None if only is None else predictor.allowed(only)
        # escape control characters only on a terminal
        shown = visible if output is None and not as_json and sys.stdout.isatty() else str
        draw = _drawing(predictor.task) if alignment else _nothing
        inputs = _inputs(predictor, texts, file, layout)

        def answer(asked: list[Any]) -> list[list[Prediction]]:
            answers = predictor.n_best(asked, n_best, only=trie)
            return answers if align is None else predictor.linked(answers)

        # interactive: answer each line immediately
        size = 1 if texts is None and file is None and sys.stdin.isatty() else _CHUNK
        skipped, between = SkippedLines(), ""
        apart = "\n" if n_best > 1 and not as_json else ""  # a blank line separates the predictions of two inputs
        with _opened(output) as out:
            while chunk := list(islice(inputs, size)):
                for doubt in predictor.task.input_warnings(
                    predictor.model, [one.text for one in chunk if not one.problem]
                ):
                    notice(doubt)
                for one, answers in answered(chunk, answer):
                    out.write(between)
                    between = apart
                    if answers is None:
                        out.flush()  # print the predictions before the error message
                        _pass_over(one, skipped, bad_lines)
                        out.write(_json_problem(one) if as_json else "\t\n" if n_best > 1 else "\n")
                    elif as_json:
                        out.write(_json(one, answers, n_best, alignment))
                    else:
                        out.write(shown(_text(answers, n_best, draw, confidence=confidence)))
                out.flush()
        if skipped.count:
            notice(explain_file_error(str(skipped)))
    except ValueError as problem:
        fail(explain_file_error(str(problem)))


def _inputs(predictor: Predictor, given: list[str] | None, file: Path | None, layout: FileLayout) -> Iterator[Input]:
    """Yield the inputs from the command line, a file, or standard input."""
    from regard.recipes.file_data import LINES, tabular
    from regard.tasks.inputs import file_inputs, input_format, standard_input, texts

    if given:
        return texts(given)
    if file is None:
        return standard_input()
    by_name = layout.format is None and len(predictor.task.input_fields) == 1 and tabular(file)
    if by_name and input_format(predictor.recipe, file, layout) == LINES:
        notice(f"each line of {file} is one input; for columns give --format table or jsonl, and --source COLUMN")
    return file_inputs(predictor.recipe, predictor.task, file, layout)


def _pass_over(one: Input, skipped: SkippedLines, bad_lines: str) -> None:
    """Count a skipped input, or end the command after printing the predictions before it."""
    from regard.cli.early_checks import explain_file_error

    said = str(one.problem) if one.where is None else f"{one.where}: {one.problem}"
    if bad_lines == "refuse":
        said = explain_file_error(said)
        fail(said if one.where is None else f"{said}; mend the line, or leave it out with --bad-lines skip")
    skipped.add(said)


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    """Open the output file, or standard output."""
    if path is None:
        yield sys.stdout
        return
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as problem:
        fail(f"{path}: cannot be written ({problem.strerror})")
    with file:
        yield file


def _json(one: Input, answers: list[Prediction], n_best: int, alignment: bool) -> str:
    row: dict[str, object] = {} if one.line is None else {"line": one.line}
    row |= answers[0].as_json(alignment=alignment)
    if n_best > 1:
        row["n_best"] = [one.as_json(alignment=alignment) for one in answers]
    return json.dumps(row, ensure_ascii=False) + "\n"


def _json_problem(one: Input) -> str:
    row = {} if one.line is None else {"line": one.line}
    return json.dumps({**row, "source": one.text, "text": None, "problem": one.problem}, ensure_ascii=False) + "\n"


def _text(answers: list[Prediction], n_best: int, draw: Callable[[Prediction], str], *, confidence: bool) -> str:
    """Format one line per prediction: its score if there are several, the output, its links, and a drawing below."""
    from regard.alignment.links import pharaoh

    parts = []
    for one in answers:
        line = " ".join(one.text.splitlines())
        if one.links is not None:
            line = f"{line} ||| {pharaoh(one.links)}".rstrip()
        if confidence:
            line = f"{_confidence(one):.2f}\t{line}"
        parts.append(f"{one.score:.4f}\t{line}" if n_best > 1 else line)
        if drawn := draw(one):
            parts.append(drawn + "\n")
    return "\n".join(parts) + "\n"


def _confidence(answer: Prediction) -> float:
    if answer.confidence is None:
        raise ValueError(
            "--confidence: this run has no calibrated confidence; runs of captions have (train.confidence)"
        )
    return answer.confidence


def _drawing(task: Task) -> Callable[[Prediction], str]:
    """Return a function that draws the attention of a prediction, or reports that there is none."""

    def drawn(answer: Prediction) -> str:
        found = task.drawing(answer)
        if found is None:
            return "(the model attends to nothing that could be drawn)" if answer.tokens else ""
        return found.plain

    return drawn


def _nothing(answer: Prediction) -> str:
    """Return an empty drawing."""
    return ""
