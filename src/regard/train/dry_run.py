"""Dry run: data, model, memory and training time of a recipe, without training."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from torch import nn

from regard.recipes.sections import Recipe
from regard.runs.run import Run
from regard.tasks.build import make_model
from regard.tasks.setup import Setup, prepare
from regard.train.footprint import Footprint, forecast
from regard.train.pretrained import pretrained_encoders
from regard.train.screen import Screen
from regard.train.speed import advice, machine, measured_speed
from regard.train.time_spent import duration
from regard.train.trainer import Trainer


def plan(recipe: Recipe) -> Iterator[RenderableType]:
    """Yield tables of model, data, memory per update and training time, and warnings about limits that are exceeded."""
    with tempfile.TemporaryDirectory() as cache, torch.device("cpu"):
        known = None if recipe.init is None else pretrained_encoders(Run(recipe.init), recipe)
        setup = prepare(recipe, Path(cache), known)
        with torch.device("meta"):
            model = make_model(recipe, setup.task)
        yield _model(recipe, model)
        weights = sum(parameter.nbytes for parameter in model.parameters())
        if weights > (free := memory()):
            yield f"[bold red]too large:[/] {size(free)} of memory are free, and the weights alone need {size(weights)}"
            return
        needed = forecast(recipe, setup, make_model(recipe, setup.task))
        yield _data(setup, needed)
        yield _memory(recipe, needed)
    if torch.cuda.is_available():
        free = torch.cuda.mem_get_info()[0]
        yield memory_message(needed.total, free)
    if needed.total <= free:
        yield from _time(recipe, setup)


def memory() -> int:
    """Return the free memory of this machine in bytes; `sys.maxsize` where the system does not report it."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize


def memory_message(needed: int, free: int) -> str:
    """Return a message on whether an update fits into the memory of the GPU."""
    said = f"{size(free)} of the GPU's memory are free, and a step needs at least {size(needed)}"
    return said if needed <= free else f"[bold red]too large:[/] {said}; make train.batch smaller"


def size(count: int) -> str:
    """Return bytes in words.

    >>> size(300), size(5 * 2**20), size(3 * 2**29)
    ('0.3 KiB', '5.0 MiB', '1.5 GiB')
    """
    for unit, name in ((2**30, "GiB"), (2**20, "MiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count / 2**10:.1f} KiB"


def _model(recipe: Recipe, model: nn.Module) -> Table:
    table = _table(f"{recipe.run}: {recipe.model.kind}", "parameter", "shape", "count")
    for name, parameter in model.named_parameters():
        table.add_row(name, " x ".join(map(str, parameter.shape)), f"{parameter.numel():,}")
    table.add_section()
    table.add_row("all parameters", "", f"{sum(parameter.numel() for parameter in model.parameters()):,}")
    return table


def _data(setup: Setup, needed: Footprint) -> Table:
    table = _table("data", "what", "size")
    for field, encoder in setup.task.encoders.items():
        table.add_row(f"ids of {escape(field)}", f"{encoder.size:,}")
    if setup.train.encoded is not None:
        table.add_row("training examples", f"{len(setup.train):,}")
    for left_out in setup.skipped():
        table.add_row("skipped", escape(left_out))
    for note in setup.file_notes():
        table.add_row("files", escape(note))
    table.add_row("batches", escape(str(setup.feed)))
    if setup.feed.dropped:
        table.add_row("skipped, longer than a batch may be", f"{setup.feed.dropped:,}")
    table.add_row("largest batch", _shapes(needed))
    return table


def _memory(recipe: Recipe, needed: Footprint) -> Table:
    table = _table("memory of a step", "what", "size")
    table.add_row("parameters", size(needed.parameters))
    table.add_row("gradients", size(needed.gradients))
    table.add_row(f"state of {recipe.train.optimizer.name}", size(needed.optimizer))
    table.add_row(f"activations of {_shapes(needed)}", size(needed.activations))
    table.add_section()
    table.add_row("total, at least", size(needed.total))
    return table


def _time(recipe: Recipe, setup: Setup) -> Iterator[RenderableType]:
    """Yield the time on this machine, measured on some updates of a temporary run."""
    with tempfile.TemporaryDirectory() as folder:
        once = recipe.train.model_copy(update={"minutes": None, "steps": recipe.train.steps or 1, "trackers": ()})
        trained = recipe.model_copy(update={"train": once})
        speed = measured_speed(Trainer(trained, Run(Path(folder)), screen=Screen(quiet=True), setup=setup).updater)
    train = recipe.train
    steps = speed.within(60 * train.minutes, train.valid_every) if train.minutes is not None else train.updates
    total = speed.total(steps, train.valid_every)
    table = _table(f"time on {machine()}, measured", "what", "time")
    table.add_row("an update", duration(speed.update))
    table.add_row("a validation, about", duration(speed.validation))
    table.add_row("the final measurements, about", duration(speed.final))
    table.add_section()
    table.add_row(f"{steps:,} updates and all measurements, about", duration(total))
    yield table
    if (said := advice(recipe, total)) is not None:
        yield f"[yellow]note:[/] {said}"


def _shapes(needed: Footprint) -> str:
    """Return the shapes of the largest batch: source [64, 22], target [64, 12]."""
    shown = {name: list(tensor.shape) for name, tensor in needed.batch.tensors.items() if "_lengths" not in name}
    return ", ".join(f"{name} {shape}" for name, shape in shown.items())


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column in ("count", "size", "time") else "left")
    return table
