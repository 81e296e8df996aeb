"""Other data for `regard evaluate`: files in the place of the recipe's test split."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from regard.data.joined import SECOND
from regard.recipes.data_sections import TWO_TEXTS
from regard.recipes.file_data import Layout, measured_section
from regard.recipes.sections import Recipe
from regard.tasks.kinds import TASKS
from regard.train.splits import FIELDS


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
    question, answer = FIELDS[recipe.task]
    two = recipe.pairs or recipe.task in TWO_TEXTS
    fields = (question, TASKS[recipe.task].context or SECOND) if two else (question,)
    section = measured_section(recipe.data, recipe.task, files, layout, fields, answer)
    return [f"data={json.dumps(section, ensure_ascii=False)}"]
