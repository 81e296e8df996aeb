"""`regard align`: word alignment by the attention of a run, or by a statistical aligner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer
from rich.markup import escape
from rich.table import Table

from regard.cli.early_checks import check_input, check_output, check_runs
from regard.cli.screen import fail, notice, show
from regard.view.console import Console
from regard.view.text import check_suffix

if TYPE_CHECKING:
    from rich.progress import Progress

    from regard.alignment.links import Links
    from regard.explain.panel import Panel
    from regard.systems.translation.aligning import AlignmentInput, RunAligner

AlignerName = Literal["ibm1", "diagonal", "hmm"]
Method = Literal["forward", "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
Found = dict[str, "list[Links]"]
"""Links of each pair by direction; the last entry is the output."""


def command(
    run: Annotated[Path | None, typer.Argument(help="Folder of a run that translates: runs/de_en")] = None,
    source: Annotated[
        Path | None, typer.Option(help="Source texts, one per line; without --target lines 'source ||| target'.")
    ] = None,
    target: Annotated[Path | None, typer.Option(help="Target texts, one per line.")] = None,
    split: Annotated[
        Literal["test", "valid", "train"] | None, typer.Option(help="Texts of the run's data in place of files.")
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(help="Gold links per line, i-j sure and ipj possible: print AER.")
    ] = None,
    gold_from: Annotated[
        int | None, typer.Option(help="Number of the first word in gold links; default: by the file.", min=0, max=1)
    ] = None,
    aligner: Annotated[AlignerName | None, typer.Option(help="Statistical aligner in place of a run.")] = None,
    corpus: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Source and target file of more text for the statistical aligner.")
    ] = None,
    reverse: Annotated[Path | None, typer.Option(help="Run of the other direction.")] = None,
    symmetrise: Annotated[
        Method, typer.Option(help="Join of two directions; forward: source to target alone.")
    ] = "grow-diag-final-and",
    layer: Annotated[
        int | None, typer.Option(help="Layer of a Transformer, from 1; default: the run's.", min=1)
    ] = None,
    head: Annotated[int | None, typer.Option(help="Head, from 1; default: the run's.", min=1)] = None,
    shift: Annotated[
        bool | None, typer.Option(help="Attention one step later, when a word is read; default: the run's.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Link all pairs of words with this weight; default: the largest.", min=0, max=1)
    ] = None,
    choose: Annotated[
        bool, typer.Option(help="Choose layer, head and shift on these texts, or on validation, and keep them.")
    ] = False,
    offsets: Annotated[bool, typer.Option(help="Print match and probability mass by offset.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Picture of attention with gold links outlined.")] = None,
    line: Annotated[list[int] | None, typer.Option(help="Line to draw, from 1; repeatable.", min=1)] = None,
    output: Annotated[Path | None, typer.Option(help="Output file of links; default: standard output.")] = None,
) -> None:
    """Align words: links in the Pharaoh format, 0-0 1-1, by attention or by a statistical aligner."""
    if (run is None) == (aligner is None):
        fail("give a run, runs/de_en, or a statistical aligner, --aligner hmm; one of them")
    _check_texts(run, source, target, split, choose=choose)
    of_runs = {"reverse": reverse, "layer": layer, "head": head, "shift": shift, "threshold": threshold}
    of_runs |= {"choose": choose or None, "offsets": offsets or None}
    if run is None and (given := [name for name, value in of_runs.items() if value is not None]):
        fail(f"--{given[0]} is for a run; leave it out")
    if run is not None and corpus is not None:
        fail("--corpus is text for a statistical aligner; give --aligner, or leave it out")
    if run is not None:
        check_runs(run, [] if reverse is None else [reverse], task="translate")
    for path in (source, target, gold, *(corpus or ())):
        check_input(path)
    for path in (output, picture):
        check_output(path)
    files, lines = (source, target, gold), tuple(line or [1])
    where = (layer, head, shift)

    from regard.runs.files import DiskError

    try:
        if picture is not None:
            check_suffix(picture, picture.suffix)
        _run(
            _AlignInput(run, files, split, gold_from, aligner, corpus, reverse, symmetrise, where, threshold),
            _AlignOutput(choose, offsets, picture, lines, output),
        )
    except (DiskError, ValueError) as problem:
        fail(str(problem))


class _AlignInput(NamedTuple):
    """Options for the input of the command: texts and aligner."""

    run: Path | None
    files: tuple[Path | None, Path | None, Path | None]
    split: Literal["test", "valid", "train"] | None
    gold_from: int | None
    aligner: AlignerName | None
    corpus: tuple[Path, Path] | None
    reverse: Path | None
    method: Method
    where: tuple[int | None, int | None, bool | None]
    threshold: float | None


class _AlignOutput(NamedTuple):
    """Options for the outputs of the command."""

    choose: bool
    offsets: bool
    picture: Path | None
    lines: tuple[int, ...]
    output: Path | None


def _run(asked: _AlignInput, wanted: _AlignOutput) -> None:
    """Read the texts, align them, and write the requested outputs."""
    from rich.progress import Progress

    from regard.systems.translation.aligning import RunAligner, texts_of_files, texts_of_split

    attention = None if asked.run is None else RunAligner.of(asked.run, threshold=asked.threshold)
    source, target, gold = asked.files
    texts: AlignmentInput | None = None
    if source is not None:
        texts = texts_of_files(source, target, gold, asked.gold_from)
    elif attention is not None and asked.split is not None:
        texts = texts_of_split(attention.loaded, asked.split, gold, asked.gold_from)
    if wanted.picture is not None and texts is not None and (last := max(wanted.lines)) > len(texts.pairs):
        fail(f"--line {last}: there are {len(texts.pairs)} pairs")
    screen = Console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as progress:
        if attention is not None:
            attention = _chosen(attention, texts, asked.where, progress, choose=wanted.choose)
        if texts is None:  # only a choice was requested
            return
        found = _aligned(attention, texts, asked, progress)
    _report(texts, found)
    if wanted.offsets and attention is not None:
        _show_offsets(attention, texts)
    if wanted.picture is not None:
        _draw(_panels(attention, texts, found, wanted.lines), wanted.picture)
    quiet = texts.gold is not None or wanted.offsets or wanted.choose or wanted.picture is not None
    _write([*found.values()][-1], wanted.output, quiet=quiet)


def _aligned(attention: RunAligner | None, texts: AlignmentInput, asked: _AlignInput, progress: Progress) -> Found:
    if attention is not None:
        return _by_attention(attention, texts, asked.reverse, asked.method, progress)
    assert asked.aligner is not None
    return _by_statistics(texts, asked.aligner, asked.corpus, asked.method, progress)


def _check_texts(
    run: Path | None, source: Path | None, target: Path | None, split: str | None, *, choose: bool
) -> None:
    if target is not None and source is None:
        fail("--target is given without --source; give both, or --source with lines 'source ||| target'")
    if source is not None and split is not None:
        fail("both --source and --split are given; give one of them")
    if run is None and source is None:
        fail("there are no texts; give them with --source FILE --target FILE")
    if source is None and split is None and not choose:
        fail("there are no texts; give them with --source FILE --target FILE, or --split test for the run's own")


def _chosen(
    attention: RunAligner,
    texts: AlignmentInput | None,
    given: tuple[int | None, int | None, bool | None],
    progress: Progress,
    *,
    choose: bool,
) -> RunAligner:
    """Return the aligner with layer, head and shift: from options, as stored in the run, or chosen and stored now."""
    from dataclasses import replace

    from regard.recipes.errors import RecipeError
    from regard.systems.translation.aligning import rank_choices

    if not choose and (attention.is_chosen or given != (None, None, None)):
        return attention.with_choice(*given)
    folder = attention.loaded.run.folder
    job = progress.add_task("choosing layer, head and shift", total=None)
    try:
        order = rank_choices(attention, texts if choose else None, lambda done: progress.advance(job, done))
    except (RecipeError, OSError, ValueError) as problem:
        if choose:
            raise
        notice(f"no layer and head were chosen for {folder} ({problem}); {attention.choice} is used")
        return attention
    progress.remove_task(job)
    if not order:
        fail("there is no pair with words on both sides to choose on; give others with --source and --target")
    best = order[0]
    best.save(folder)
    notice(f"{folder} keeps {best}: AER {best.aer:.3f} by {best.by}")
    if choose:
        table = Table("layer", "head", "shift", f"AER by {best.by}", title="best choices", title_justify="left")
        for one in order[:5]:
            table.add_row(
                str(one.layer), "mean" if one.head is None else str(one.head), str(one.shift), f"{one.aer:.4f}"
            )
        show(table)
    return replace(attention, choice=best)


def _by_statistics(
    texts: AlignmentInput,
    name: AlignerName,
    corpus: tuple[Path, Path] | None,
    method: Method,
    progress: Progress,
) -> Found:
    from regard.alignment.statistical import iterations_of
    from regard.alignment.symmetrise import transpose_links
    from regard.systems.translation.aligning import both_directions, with_corpus

    pairs = with_corpus(texts.pairs, corpus)
    job = progress.add_task(f"{name}, {len(pairs):,} pairs", total=2 * iterations_of(name))
    forward, back = both_directions(pairs, name, lambda done: progress.advance(job, done))
    count = len(texts.pairs)
    return _joined(forward[:count], [transpose_links(links) for links in back[:count]], method)


def _by_attention(
    attention: RunAligner, texts: AlignmentInput, reverse: Path | None, method: Method, progress: Progress
) -> Found:
    from regard.alignment.symmetrise import transpose_links
    from regard.systems.translation.aligning import RunAligner

    job = progress.add_task("pairs", total=len(texts.pairs) * (1 if reverse is None else 2))
    forward = attention.links(texts.pairs, lambda done: progress.advance(job, done))
    if reverse is None:
        return {str(attention.choice): forward}
    other = RunAligner.of(reverse, threshold=attention.threshold)
    other = _chosen(other, None, (None, None, None), progress, choose=False)
    back = other.links(texts.turned(), lambda done: progress.advance(job, done))
    return _joined(forward, [transpose_links(links) for links in back], method)


def _joined(forward: list[Links], back: list[Links], method: Method) -> Found:
    from regard.alignment.symmetrise import symmetrise

    if method == "forward":
        return {"backward": back, "forward": forward}
    both = [symmetrise(one, other, method) for one, other in zip(forward, back, strict=True)]
    return {"forward": forward, "backward": back, method: both}


def _report(texts: AlignmentInput, found: Found) -> None:
    """Print the alignment error rate of each direction if there are gold links."""
    from regard.evaluate.alignment_error import alignment_scores

    if texts.gold is None:
        return
    sure, possible = ([getattr(one, kind) for one in texts.gold] for kind in ("sure", "possible"))
    table = Table("links", "AER", "precision", "recall", "F1", "number", title_justify="left")
    table.title = f"{len(texts.pairs):,} pairs, {sum(map(len, sure)):,} sure links"
    for name, links in found.items():
        scores = alignment_scores(links, sure, possible)
        table.add_row(name, *(f"{score.value:.4f}" for score in scores.values()), f"{sum(map(len, links)):,}")
    show(table)


def _show_offsets(attention: RunAligner, texts: AlignmentInput) -> None:
    from regard.alignment.statistical import align

    gold = texts.gold
    links = align(texts.pairs, "diagonal") if gold is None else [one.possible for one in gold]
    against = "links of the diagonal aligner" if gold is None else "gold links"
    table = Table("offset", "match", "mass", "words", title=f"attention on {against}", title_justify="left")
    for score in attention.offsets(texts.pairs, links):
        table.add_row(f"{score.offset:+d}", f"{score.match:.3f}", f"{score.mass:.3f}", f"{score.words:,}")
    show(table)


def _panels(attention: RunAligner | None, texts: AlignmentInput, found: Found, lines: tuple[int, ...]) -> list[Panel]:
    from regard.systems.translation.aligning import statistical_panel

    panels = []
    for number in lines:
        pair = texts.pairs[number - 1]
        gold: Links = frozenset() if texts.gold is None else texts.gold[number - 1].possible
        if attention is None:
            panels.append(statistical_panel(pair, [*found.values()][-1][number - 1], gold))
        else:
            panels.append(attention.panel(pair, gold))
    return panels


def _draw(panels: list[Panel], path: Path) -> None:
    from regard.view.panels import draw

    if (doubt := draw(panels, path)) is not None:
        notice(doubt)
    show(escape(str(path)))


def _write(links: list[Links], output: Path | None, *, quiet: bool) -> None:
    """Write the links, one line per pair; to standard output only if no other output was requested."""
    from regard.alignment.links import pharaoh
    from regard.runs.files import atomic_path

    if output is not None:
        with atomic_path(output) as draft:
            draft.write_text("".join(f"{pharaoh(one)}\n" for one in links), encoding="utf-8")
    elif not quiet:
        typer.echo("\n".join(map(pharaoh, links)))
