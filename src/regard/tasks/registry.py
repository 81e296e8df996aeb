"""Tasks by the names that recipes give them."""

from __future__ import annotations

from regard.recipes.system import imported, system_of
from regard.tasks.task import Task


def task_class(task: str) -> type[Task]:
    """Return the class of a task."""
    made: type[Task] = imported(system_of(task).task)
    return made
