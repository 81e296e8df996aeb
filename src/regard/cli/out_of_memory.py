"""Messages about out-of-memory errors of the machine or a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe

_SIGNS = ("not enough memory", "can't allocate memory", "out of memory", "bad allocation", "std::bad_alloc")


def is_out_of_memory(problem: BaseException) -> bool:
    """Return True for a failed memory allocation.

    PyTorch has an error class only for GPUs; on the CPU it raises a RuntimeError, recognised by its text.

    >>> error = RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ...")
    >>> is_out_of_memory(MemoryError()), is_out_of_memory(error)
    (True, True)
    >>> is_out_of_memory(RuntimeError("shapes cannot be multiplied"))
    False
    """
    if isinstance(problem, MemoryError) or type(problem).__name__ == "OutOfMemoryError":
        return True
    return isinstance(problem, RuntimeError) and any(sign in str(problem).lower() for sign in _SIGNS)


def training_advice(recipe: Recipe, newest: int | None) -> str:
    """Return advice on recipe changes, and on the checkpoint that remains.

    Args:
        recipe: recipe of the run.
        newest: step of the last checkpoint; None if there is none.
    """
    batch = recipe.train.batch
    key, size = ("tokens", batch.tokens) if batch.tokens is not None else ("sentences", batch.sentences)
    kept = "there is no checkpoint yet" if newest is None else f"the checkpoint of step {newest} is kept"
    return (
        f"out of memory; make train.batch.{key} smaller ({size} now), and train.batch.accumulate larger by as much for "
        f"the same updates; {kept}"
    )
