"""Checkpoints: the full training state of a run, without pickle."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor, nn
from torch.optim import Optimizer

from regard.checksum import write_checksum
from regard.runs.files import atomic_path, check_file, check_tensors, read_json, read_tensors, write_json, write_tensors
from regard.runs.folder import RunError, checkpoint_folders
from regard.runs.sharded_tensors import gather_tensors, local_shard
from regard.tensor_mismatch import tensor_mismatch


@dataclass
class Progress:
    """Progress of a run.

    Attributes:
        step: number of updates.
        epoch: number of completed epochs.
        position: number of batches of the current epoch.
        tokens: number of target tokens trained on.
        best: best validation value so far, and its step.
        reached: best validation value so far of each selection criterion.
        waited: validations since the last improvement, for early stopping.
        logged_nll, logged_tokens: sums since the last row of the log.
        schedule: state of the learning-rate schedule.
        overflows: number of consecutive skipped updates up to now.
        unvalidated: True if a signal interrupted the validation of this step, which is then repeated.
        origin: checksums of the data of each split and of the encoders; empty in older checkpoints.
    """

    step: int = 0
    epoch: int = 0
    position: int = 0
    tokens: int = 0
    best: float | None = None
    best_step: int = 0
    reached: dict[str, float] = field(default_factory=dict)
    waited: int = 0
    logged_nll: float = 0.0
    logged_tokens: int = 0
    schedule: dict[str, Any] = field(default_factory=dict)
    overflows: int = 0
    unvalidated: bool = False
    origin: dict[str, dict[str, str]] = field(default_factory=dict)


_PROGRESS = TypeAdapter(Progress)
_GROUPS = TypeAdapter(list[dict[str, Any]])
_TENSORS = ("model.safetensors", "optimizer.safetensors", "carried.safetensors")
_ADVICE = "put a whole one there, or remove {} and train again"


class Checkpoints:
    """Folder with the checkpoints of a run, one folder each, named by its step.

    A checkpoint is either complete or absent; a run resumes from the newest. The previous one is kept as well: if the
    newest is damaged, it is set aside and its updates are repeated. For averaging, `keep` checkpoints at multiples of
    `every` are kept; those that an interrupt wrote do not count.
    """

    def __init__(self, folder: Path, *, keep: int = 1, every: int = 1) -> None:
        self.folder = folder
        self.keep = keep
        self.every = every

    def save(
        self,
        progress: Progress,
        model: nn.Module,
        optimizer: Optimizer,
        carried: dict[str, Tensor] | None = None,
        *,
        writes: bool = True,
    ) -> Path:
        """Write a checkpoint and delete the oldest.

        Args:
            progress: progress of the run.
            model, optimizer: their state; the file has full tensors, even if processes hold shards.
            carried: carried recurrent state of all rows.
            writes: True in the process that writes; with shards all processes have to call this method.
        """
        path = self.folder / f"{progress.step:08d}"
        tensors, groups = flatten(optimizer)
        learned, moments = gather_tensors(model.state_dict(), keep=writes), gather_tensors(tensors, keep=writes)
        if not writes:
            return path
        with atomic_path(path) as draft:
            draft.mkdir()
            write_tensors(draft / "model.safetensors", learned)
            write_tensors(draft / "optimizer.safetensors", moments)
            write_tensors(draft / "carried.safetensors", carried or {})
            write_json(draft / "progress.json", {**asdict(progress), "optimizer": groups})
            if (recipe := self.folder.parent / "recipe.yaml").exists():
                shutil.copyfile(recipe, draft / recipe.name)
            write_checksum(draft)
        self._forget()
        return path

    def last(self) -> list[Path]:
        """Return the checkpoints to average: the newest, and the regular ones before it, `keep` in total."""
        paths = self.paths()
        regular = [path for path in paths[:-1] if int(path.name) % self.every == 0]
        return [*regular, *paths[-1:]][-self.keep :]

    def _forget(self) -> None:
        for path in set(self.paths()[:-2]).difference(self.last()):  # the one before stays, in case of damage
            path.rename(path.with_name(f".{path.name}.old"))  # renamed first: never half a checkpoint
        for old in self.folder.glob(".*.old"):  # also those of a run that was killed right here
            shutil.rmtree(old)

    def paths(self) -> list[Path]:
        """Return the complete checkpoints, oldest first."""
        return checkpoint_folders(self.folder)

    def set_damaged_aside(self) -> list[str]:
        """Rename damaged checkpoints that are newer than the newest intact one, from which the run then resumes.

        Returns:
            A message for each of them.

        Raises:
            RunError: none is intact; all are left as they are.
        """
        found: list[tuple[Path, RunError]] = []
        for path in reversed(self.paths()):
            try:
                self.progress(path)
                for name in _TENSORS:
                    check_tensors(path / name)
                check_file(path / "recipe.yaml")
            except RunError as problem:
                found.append((path, problem))
                continue
            for damaged, _ in found:
                damaged.rename(_free(damaged.with_name(f"{damaged.name}.damaged")))
            return [f"{_reason(problem)}; going on from {path}" for _, problem in found]
        if found:
            raise found[0][1]
        return []

    def progress(self, path: Path) -> tuple[Progress, list[dict[str, Any]]]:
        """Read the progress of a checkpoint, and the groups of its optimizer.

        Raises:
            RunError: the file is damaged or has other content.
        """
        content = read_json(path / "progress.json")
        try:
            groups = _GROUPS.validate_python(content.pop("optimizer") if isinstance(content, dict) else content)
            progress = _PROGRESS.validate_python(content)
        except (KeyError, ValidationError) as problem:
            why = problem.errors()[0]["msg"] if isinstance(problem, ValidationError) else f"{problem} is missing"
            raise RunError(f"{path / 'progress.json'} is damaged ({why}); {_ADVICE.format(path)}") from None
        if progress.step != int(path.name):
            raise RunError(f"{path / 'progress.json'} is damaged (its step is {progress.step}); {_ADVICE.format(path)}")
        return progress, groups

    def carried(self) -> dict[str, Tensor]:
        """Return the carried recurrent state of the newest checkpoint; an empty mapping without one."""
        paths = self.paths()
        return read_tensors(paths[-1] / "carried.safetensors") if paths else {}

    def restore(self, model: nn.Module, optimizer: Optimizer) -> Progress | None:
        """Load the newest checkpoint; return its progress, or None without one."""
        paths = self.paths()
        if not paths:
            return None
        newest = paths[-1]
        progress, groups = self.progress(newest)
        there = model.state_dict()
        learned = read_tensors(newest / "model.safetensors")
        _fit(newest / "model.safetensors", learned, there)
        model.load_state_dict({name: local_shard(tensor, there[name]) for name, tensor in learned.items()})
        moments = read_tensors(newest / "optimizer.safetensors")
        _fit(newest / "optimizer.safetensors", moments, _like(optimizer, moments))
        try:
            restore_optimizer(optimizer, moments, groups)
        except (KeyError, ValueError) as problem:
            raise RunError(f"{newest / 'progress.json'} is damaged ({problem}); {_ADVICE.format(newest)}") from None
        return progress


def _fit(path: Path, given: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    if (wrong := tensor_mismatch(given, own)) is not None:
        raise RunError(f"{path}: {wrong}; {_ADVICE.format(path.parent)}")


def _like(optimizer: Optimizer, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the expected tensors of the optimizer by name: scalars, or of the shape of their parameter."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    found = {}
    for name, tensor in given.items():
        number = name.partition(".")[0]
        if number.isdecimal() and int(number) < len(parameters):
            parameter = parameters[int(number)]
            shape = parameter.shape if tensor.dim() else ()
            found[name] = torch.empty(shape, dtype=tensor.dtype, device="meta")
    return found


def _free(path: Path) -> Path:
    """Return an unused name."""
    return next(one for number in count(1) if not (one := path.with_name(f"{path.name}-{number}")).exists())


def _reason(problem: RunError) -> str:
    return str(problem).partition("; ")[0]


def average(paths: list[Path]) -> dict[str, Tensor]:
    """Return the average of the models of several checkpoints; integer tensors come from the last."""
    models = [read_tensors(path / "model.safetensors") for path in paths]
    return {
        name: torch.stack([model[name].double() for model in models]).mean(0).to(last.dtype)
        if last.is_floating_point()
        else last
        for name, last in models[-1].items()
    }


def flatten(optimizer: Optimizer) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """Return an optimizer's state as named tensors, and its groups as JSON."""
    state = optimizer.state_dict()
    tensors = {
        f"{number}.{name}": value if isinstance(value, Tensor) else torch.tensor(value)
        for number, entries in state["state"].items()
        for name, value in entries.items()
        if value is not None
    }
    return tensors, state["param_groups"]


def restore_optimizer(optimizer: Optimizer, tensors: dict[str, Tensor], groups: list[dict[str, Any]]) -> None:
    """Load an optimizer's state from the result of `flatten`."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, name = key.split(".", 1)
        state.setdefault(int(number), {})[name] = local_shard(tensor, parameters[int(number)])
    optimizer.load_state_dict({"state": state, "param_groups": groups})
