"""`regard remember`: encode texts as the external memory of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from regard.cli.early_checks import check_input, check_output, check_runs
from regard.cli.screen import fail, show


def command(
    run: Annotated[Path, typer.Argument(help="Folder of a run of the task recall: runs/glossary")],
    texts: Annotated[Path, typer.Argument(help="File with one text per line, .gz too.")],
    output: Annotated[Path, typer.Option(help="Output file, .safetensors.")] = Path("memory.safetensors"),
) -> None:
    """Encode texts once as external memory, for `regard predict RUN --decode memory=FILE`."""
    if output.suffix != ".safetensors":
        fail(f"{output}: the name of a stored memory ends in .safetensors")
    check_runs(run, task="recall")
    check_input(texts)
    check_output(output)

    from regard.predictor import load
    from regard.runs.files import DiskError, atomic_path
    from regard.systems.recall.memory_transformer import MemoryTransformer
    from regard.systems.recall.task import Recalling

    try:
        loaded = load(run, overrides=["decode.memory=null"])
        assert isinstance(loaded.task, Recalling)
        assert isinstance(loaded.model, MemoryTransformer)
        stored = loaded.task.store(loaded.model, texts)
        with atomic_path(output) as draft:
            stored.save(draft)
    except (DiskError, ValueError) as problem:
        fail(str(problem))
    size = f"{len(stored):,} texts, {len(stored.states):,} states of width {stored.states.shape[1]}"
    show(f"{escape(str(output))}: {size}")
