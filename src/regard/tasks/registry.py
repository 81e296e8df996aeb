"""Tasks by the names that recipes give them."""

from __future__ import annotations

from regard.parts import imported
from regard.recipes.system import system_of
from regard.tasks.task import Task


def task_class(task: str) -> type[Task]:
    """Return the class of a task."""
    made: type[Task] = imported(system_of(task).task)
    return made
