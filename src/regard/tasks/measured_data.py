"""Other data for `regard evaluate`: files in the place of the recipe's test split."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from regard.recipes.file_data import Layout, measured_section
from regard.recipes.sections import Recipe
from regard.tasks.registry import task_class


def measured_on(recipe: Recipe, files: Sequence[Path], layout: Layout) -> list[str]:
    """Return the overrides of a run's recipe that make files its test split; none where nothing is said of files.

    Args:
        recipe: of the run.
        files: what to measure on: one file, a folder, or source and target of pairs; none for the recipe's own split.
        layout: what the command line says of them.

    Raises:
        RecipeError: nothing says how a file is read.
    """
    if not files:
        return [f"data.{key}={json.dumps(value)}" for key, value in layout.reading().items()]
    reading = task_class(recipe.task).reading(recipe)
    two = recipe.pairs or recipe.system.two_texts is not None
    fields = (reading.question, reading.second) if two else (reading.question,)
    section = measured_section(recipe.data, recipe.system, files, layout, fields, reading.answer)
    return [f"data={json.dumps(section, ensure_ascii=False)}"]
