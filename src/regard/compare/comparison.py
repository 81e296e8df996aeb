"""Comparison: all combinations of the values of some keys."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from regard.compare.axis import REPEATED, Axis, axes
from regard.compare.trial import Trial
from regard.recipes.errors import RecipeError
from regard.recipes.load import load
from regard.recipes.sections import Recipe

_LONGEST = 100  # characters of the name of a run


@dataclass(frozen=True)
class Comparison:
    """Recipe with every combination of the values of some keys.

    Attributes:
        folder: the folder of all its runs, and of its results.
        axes: varied keys with their values.
        trials: a run for each combination, in the order given; the last key varies fastest.
        command: command line of this comparison.
    """

    folder: Path
    axes: tuple[Axis, ...]
    trials: tuple[Trial, ...]
    command: str

    @property
    def heads(self) -> dict[str, str]:
        """Short names of the keys of all axes but seeds and folds."""
        keys = [axis.key for axis in self.axes]
        return {key: short for key, short in zip(keys, short_keys(keys), strict=True) if key not in REPEATED}

    def begin(self) -> None:
        """Create all run folders before training, so that a folder with another run is reported first."""
        from regard.runs.folder import RunError
        from regard.runs.lock import PATIENCE, locked
        from regard.runs.run import Run

        for trial in self.trials:
            try:
                with locked(trial.folder, patience=PATIENCE):
                    Run(trial.folder).begin(trial.recipe)
            except RunError as problem:
                said = str(problem).partition(";")[0]
                raise RunError(f"{said}; give this comparison another name with --name NAME") from None


def compare(recipe: str, assignments: list[str], runs: Path, name: str | None = None) -> Comparison:
    """Read the axes and check the recipe of every combination.

    Args:
        recipe: one that ships, or a path to a YAML file.
        assignments: `key=value`, with several values for at least one key.
        runs: the folder of all runs.
        name: name of the comparison; None derives it from the recipe and the keys.

    Raises:
        RecipeError: an invalid combination; the message names its values.

    >>> for trial in compare("dates", ["model.attention=general,additive", "train.seed=1,2"], Path("runs")).trials:
    ...     print(trial.folder.as_posix())
    runs/dates-compare-attention-seed/attention-general_seed-1
    runs/dates-compare-attention-seed/attention-general_seed-2
    runs/dates-compare-attention-seed/attention-additive_seed-1
    runs/dates-compare-attention-seed/attention-additive_seed-2
    """
    varied, fixed = axes(assignments)
    keys = [axis.key for axis in varied]
    heads = short_keys(keys)
    name = name or as_slug("-".join((Path(recipe).stem, "compare", *heads)))
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise RecipeError(f"the name {name!r} is not valid for a folder; use letters, digits, '.', '-' and '_'")
    combinations = list(product(*(axis.values for axis in varied)))
    trials = []
    for values, slug in zip(combinations, slugs(keys, combinations), strict=True):
        label = ", ".join(f"{head}={value}" for head, value in zip(heads, values, strict=True))
        chosen = [f"{key}={value}" for key, value in zip(keys, values, strict=True)]
        overrides = [*fixed, *chosen, f"run={slug}"]
        checked = _checked(recipe, fixed, overrides, label, model=False)
        arguments = (recipe, *overrides, "--runs", str(runs / name))
        trials.append(Trial(dict(zip(keys, values, strict=True)), label, checked, runs / name / slug, arguments))
    for trial in trials:  # last, since models need PyTorch, whose import takes longer than all the rest
        _checked(recipe, fixed, [*trial.arguments[1:-2]], trial.label, model=True)
    command = shlex.join(["regard", "compare", recipe, *assignments, "--runs", str(runs), "--name", name])
    return Comparison(runs / name, tuple(varied), tuple(trials), command)


def _checked(name: str, fixed: list[str], overrides: list[str], label: str, *, model: bool) -> Recipe:
    """Return the recipe of one combination; errors of the base recipe are reported without the varied values."""
    try:
        return load(name, overrides, model=model).recipe
    except RecipeError as problem:
        try:
            load(name, fixed, model=model)
        except RecipeError as other:
            if str(other) == str(problem):
                raise
        raise RecipeError(f"with {label}: {problem}") from None


def short_keys(keys: Sequence[str]) -> list[str]:
    """Return the end of each key that no other key shares.

    >>> short_keys(["model.attention", "model.encoder.dim", "model.decoder.dim"])
    ['attention', 'encoder.dim', 'decoder.dim']
    """
    return [_short(key, [other for other in keys if other != key]) for key in keys]


def _short(key: str, others: Sequence[str]) -> str:
    parts = key.split(".")
    ends = (".".join(parts[-length:]) for length in range(1, len(parts) + 1))
    return next((end for end in ends if not any(f".{other}".endswith(f".{end}") for other in others)), key)


def as_slug(text: str) -> str:
    """Letters, digits, dots and hyphens of a text.

    >>> as_slug("{score: dot, align: local_p}"), as_slug("-1.5"), as_slug("'a/b'")
    ('score-dot-align-local_p', '-1.5', 'a-b')
    """
    return re.sub(r"[^\w.-]+", "-", text.strip("[]{}\"' ").replace(": ", "-")).rstrip("-.")


def slugs(keys: Sequence[str], combinations: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a name per combination of values; a digest distinguishes names that would be equal or are cut.

    >>> slugs(["model.attention", "train.seed"], [("dot", "1"), ("dot", "2")])
    ['attention-dot_seed-1', 'attention-dot_seed-2']
    >>> slugs(["model.sizes"], [("[1, 2]",), ("{1: 2}",)])
    ['sizes-1-2_3a316d', 'sizes-1-2_8f1081']
    """
    heads = short_keys(keys)
    names = [
        "_".join(f"{as_slug(head)}-{as_slug(value)}" for head, value in zip(heads, values, strict=True))
        for values in combinations
    ]
    often = Counter(name[:_LONGEST].lower() for name in names)  # some file systems do not tell a from A
    return [
        name if len(name) <= _LONGEST and often[name.lower()] == 1 else f"{name[:_LONGEST]}_{_digest(values)}"
        for name, values in zip(names, combinations, strict=True)
    ]


def _digest(values: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(values).encode()).hexdigest()[:6]
