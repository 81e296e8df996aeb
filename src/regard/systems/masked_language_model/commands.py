"""`regard import` and `regard export`: BERTs from and for Hugging Face's transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from regard.cli.early_checks import check_runs
from regard.cli.screen import fail, show


def import_command(
    folder: Annotated[
        Path, typer.Argument(help="Folder of the saved model: config.json, model.safetensors, vocab.txt")
    ],
    run: Annotated[Path, typer.Argument(help="Folder of the new run: runs/bert")],
) -> None:
    """Import a BERT saved by Hugging Face transformers as a run."""
    if not folder.is_dir():
        fail(f"{folder}: there is no such folder; give the one that save_pretrained wrote")

    from regard.runs.run import Run
    from regard.systems.masked_language_model.hugging_face import import_bert

    try:
        import_bert(folder, Run(run))
    except (OSError, ValueError) as problem:
        fail(str(problem))
    show(f"{escape(str(run))} is ready: regard predict {escape(str(run))} 'a text with a <mask>'")


def export_command(
    run: Annotated[Path, typer.Argument(help="Folder of a run of the task masked_language_model: runs/bert")],
    folder: Annotated[Path, typer.Argument(help="Output folder.")],
) -> None:
    """Export a pretrained BERT for Hugging Face transformers."""
    check_runs(run, task="masked_language_model")

    from regard.runs.run import Run
    from regard.systems.masked_language_model.hugging_face import export_bert

    try:
        export_bert(Run(run), folder)
    except (OSError, ValueError) as problem:
        fail(str(problem))
    show(f"{escape(str(folder))} is written: BertForMaskedLM.from_pretrained reads it")
