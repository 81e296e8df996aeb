"""The end of a run on disk: its summary, so that the same command says it again without measuring."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from regard.recipes.sections import Recipe

_NAME = "summary.json"


def save_summary(folder: Path, recipe: Recipe, summary: str) -> None:
    """Write the summary of a run that ended, with the recipe and the log that it belongs to."""
    from regard.runs.files import write_json

    write_json(folder / _NAME, {"recipe": recipe.model_dump(mode="json"), "log": _log(folder), "summary": summary})


def saved_summary(folder: Path, recipe: Recipe) -> str | None:
    """Return the summary of a run that ended by this very recipe, and to which nothing was done since.

    Keys of the recipe that change no training count too: another search or metric is measured.
    """
    try:
        found = json.loads((folder / _NAME).read_text(encoding="utf-8"))
        same = found["recipe"] == recipe.model_dump(mode="json") and found["log"] == _log(folder)
        summary = found["summary"]
    except (OSError, ValueError, KeyError, TypeError):  # of no run, of one under way, or damaged: measured again
        return None
    return summary if same and isinstance(summary, str) and (folder / "model.safetensors").exists() else None


def _log(folder: Path) -> str:
    """The hash of the log: a run that goes on changes it first of all."""
    return hashlib.sha256((folder / "metrics.jsonl").read_bytes()).hexdigest()
