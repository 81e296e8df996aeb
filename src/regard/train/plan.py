"""What a recipe would train, without training it."""

from __future__ import annotations

import torch
from rich.table import Table
from torch import nn

from regard.recipes.sections import Recipe
from regard.train.run import make_model
from regard.train.splits import examples, tokenizers


def plan(recipe: Recipe) -> Table:
    """Shapes, parameters and the memory that they take."""
    train = examples(recipe, "train")
    assert train is not None
    source, target = tokenizers(recipe, train)
    with torch.device("meta"):
        model = make_model(recipe, source, target)
    table = Table(title=f"{recipe.run}: {recipe.model['kind']}", title_justify="left")
    for column in ("parameter", "shape", "count"):
        table.add_column(column, justify="right" if column == "count" else "left")
    for name, parameter in model.named_parameters():
        table.add_row(name, " x ".join(map(str, parameter.shape)), f"{parameter.numel():,}")
    table.add_section()
    table.add_row("all parameters", f"vocabularies {source.size:,} and {target.size:,}", f"{_count(model):,}")
    table.add_row("memory of weights, gradients, optimizer", "float32", f"{_memory(recipe, model) / 2**20:.1f} MiB")
    return table


def _count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _memory(recipe: Recipe, model: nn.Module) -> int:
    """Bytes of weights, gradients and the moments that the optimizer keeps."""
    copies = {"sgd": 3 if recipe.train.optimizer.momentum else 2, "adam": 4, "adamw": 4}[recipe.train.optimizer.name]
    return 4 * copies * _count(model)
