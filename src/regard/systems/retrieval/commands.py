"""`regard index` and `regard search`: build a passage index and query it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from regard.cli.early_checks import check_input, check_output, check_runs
from regard.cli.screen import fail, show

if TYPE_CHECKING:
    from regard.systems.retrieval.index import Index
    from regard.systems.retrieval.ranking import Ranking
    from regard.systems.retrieval.searcher import Searcher

_TASK = "retrieve"
_UNBOUND = ["decode.passages=null"]
_CHUNK = 64  # queries per batch


def index_command(
    run: Annotated[Path, typer.Argument(help="Folder of a run of the task retrieve: runs/small_ads")],
    passages: Annotated[Path, typer.Argument(help="File with one passage per line, .gz too.")],
    output: Annotated[Path, typer.Option(help="Output file, .safetensors.")] = Path("index.safetensors"),
    precision: Annotated[
        Literal["float32", "float16"], typer.Option(help="Numbers of the vectors; float16 takes half the space.")
    ] = "float32",
) -> None:
    """Build an index of passages (BM25 and, with a dual encoder, vectors) for `regard search`."""
    if output.suffix != ".safetensors":
        fail(f"{output}: the name of an index ends in .safetensors")
    check_runs(run, task=_TASK)
    check_input(passages)
    check_output(output)

    import torch

    from regard.predictor import load
    from regard.runs.files import DiskError, atomic_path
    from regard.systems.retrieval.dual_encoder import DualEncoder
    from regard.systems.retrieval.index import Index
    from regard.systems.retrieval.searcher import TextEncoder
    from regard.systems.retrieval.task import Retrieving, passages_of

    try:
        loaded = load(run, overrides=_UNBOUND)
        assert isinstance(loaded.task, Retrieving)
        index = Index(passages_of(passages))
        if isinstance(loaded.model, DualEncoder):
            encoder = TextEncoder(loaded.model, loaded.task.tokenizer)
            kind = torch.float16 if precision == "float16" else torch.float32
            index = Index(index.passages, encoder.passages(index.passages).to(kind), encoder.signature)
        with atomic_path(output) as draft:
            index.save(draft)
    except (DiskError, ValueError) as problem:
        fail(str(problem))
    width = "words alone" if index.vectors is None else f"vectors of width {index.vectors.shape[1]}"
    show(f"{escape(str(output))}: {len(index):,} passages, {width}")


def search_command(
    run: Annotated[Path, typer.Argument(help="Folder of a run of the task retrieve: runs/small_ads")],
    queries: Annotated[list[str] | None, typer.Argument(help="Queries.")] = None,
    index: Annotated[Path, typer.Option(help="Index that `regard index` wrote.")] = Path("index.safetensors"),
    file: Annotated[Path | None, typer.Option(help="File with one query per line, .gz too.")] = None,
    n_best: Annotated[int, typer.Option(help="Number of passages per query.", min=1)] = 5,
    by: Annotated[
        Literal["vectors", "bm25", "hybrid"] | None,
        typer.Option(help="Ranking; default: vectors, and bm25 for a cross-encoder."),
    ] = None,
    rerank: Annotated[Path | None, typer.Option(help="Run of a cross-encoder that re-ranks the best.")] = None,
    candidates: Annotated[int, typer.Option(help="Number of passages to re-rank.", min=1)] = 20,
    matrix: Annotated[
        Path | None, typer.Option(help="Picture of the similarity of queries and passages: .png, .svg, .pdf or .html.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per query.")] = False,
) -> None:
    """Search an index for the passages that answer queries."""
    if bool(queries) == (file is not None):
        fail("give queries, or a file of them with --file; one of the two")
    check_runs(run, [] if rerank is None else [rerank], task=_TASK)
    check_input(file)
    check_input(index)
    check_output(matrix)

    from regard.data.problems import DataError
    from regard.systems.retrieval.index import Index
    from regard.systems.retrieval.task import passages_of

    try:
        asked = passages_of(file) if file is not None else [" ".join(one.split()) for one in queries or []]
        if not all(asked):
            raise DataError("a query is blank; write a word or more")
        searcher = _searcher(run, Index.load(index), by, rerank, candidates)
        if matrix is not None:
            _draw(searcher, asked, n_best, matrix)
        for begin in range(0, len(asked), _CHUNK):
            part = asked[begin : begin + _CHUNK]
            for line in _printed(searcher.index, part, searcher.rank(part, n_best), as_json=as_json):
                typer.echo(line)
    except ValueError as problem:
        fail(str(problem))


def _searcher(run: Path, index: Index, by: str | None, rerank: Path | None, candidates: int) -> Searcher:
    """Return the searcher of an index for a run, optionally with the run of a re-ranker.

    Raises:
        ValueError: the index was built with another model, or a run has the wrong kind of model.
    """
    from dataclasses import replace

    from regard.predictor import load
    from regard.systems.retrieval.cross_encoder import CrossEncoder
    from regard.systems.retrieval.searcher import CrossEncoderReranker
    from regard.systems.retrieval.task import Retrieving

    overrides = [*_UNBOUND, f"decode.candidates={candidates}", *([] if by is None else [f"decode.by={by}"])]
    loaded = load(run, overrides=overrides)
    assert isinstance(loaded.task, Retrieving)
    found = loaded.task.search_of(loaded.model, index)  # type: ignore[arg-type]  # a model of this task
    if rerank is None:
        return found
    second = load(rerank, overrides=_UNBOUND)
    if found.reranker is not None or not isinstance(second.model, CrossEncoder):
        raise ValueError(f"a dual_encoder is re-ranked by a cross_encoder; {run} or {rerank} is another model")
    assert isinstance(second.task, Retrieving)
    return replace(found, reranker=CrossEncoderReranker(second.model, second.task.tokenizer, candidates))


def _printed(index: Index, queries: Sequence[str], rankings: Sequence[Ranking], *, as_json: bool) -> Iterator[str]:
    """Yield output lines: score and passage, with a blank line between queries; or one JSON object per query."""
    for number, (query, ranked) in enumerate(zip(queries, rankings, strict=True)):
        found = [
            {"number": place, "score": round(score, 6), "passage": index.passages[place]}
            for place, score in zip(ranked.numbers.tolist(), ranked.scores.tolist(), strict=True)
        ]
        if as_json:
            yield json.dumps({"query": query, "passages": found}, ensure_ascii=False)
            continue
        if number:
            yield ""
        yield from (f"{one['score']:.4f}\t{one['passage']}" for one in found)
        if not found:
            yield "(no passage has a word of the query)"


def _draw(searcher: Searcher, queries: Sequence[str], n_best: int, path: Path) -> None:
    """Plot the similarity of the queries to the top passages of all queries, and write the figure."""
    from regard.systems.retrieval.view import similarity_panel
    from regard.view.panels import draw

    if searcher.encoder is None:
        raise ValueError("--matrix draws similarities of vectors; search with the run of a dual_encoder")
    rankings = searcher.rank(queries, n_best)
    best = dict.fromkeys(number for one in rankings for number in one.numbers.tolist())
    draw([similarity_panel(searcher.encoder, queries, [searcher.index.passages[one] for one in best])], path)
