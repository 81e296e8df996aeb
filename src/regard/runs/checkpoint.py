"""All that a run needs to go on as if it had not stopped, without a pickle."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from regard.runs.files import read_json, read_tensors, write_json, write_tensors, written
from regard.runs.folder import checkpoint_folders
from regard.runs.sharded_tensors import gathered, part


@dataclass
class Progress:
    """How far a run has come.

    Attributes:
        step: updates done.
        epoch: passes over the data done.
        position: batches of the present epoch done.
        tokens: target tokens learned from.
        best: the best validation value so far, and the step it was reached at.
        reached: the best validation value so far of each measure that decides.
        waited: validations since there was hope.
        logged_nll, logged_tokens: what was summed up since the last row of the log.
        schedule: what the learning-rate schedule remembers.
        overflows: updates in a row that were left out, up to the last.
        unvalidated: the validation of this step is still to come: a signal stopped it.
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


class Checkpoints:
    """The folder of a run's checkpoints, one folder each, named by its step.

    A checkpoint is complete or not there; the newest is where a run goes on. `keep` of those at multiples of `every`
    stay, for averaging; one that an interrupt left stays only until the next, so that it never counts.
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
        """Write one and forget the oldest.

        Args:
            progress: how far the run has come.
            model, optimizer: what it has learned; whole in the file, however they are divided among processes.
            carried: the state in mid-text, of all rows.
            writes: whether this process is the one that writes; all have to call it where they are divided.
        """
        path = self.folder / f"{progress.step:08d}"
        tensors, groups = flatten(optimizer)
        learned, moments = gathered(model.state_dict(), keep=writes), gathered(tensors, keep=writes)
        if not writes:
            return path
        with written(path) as draft:
            draft.mkdir()
            write_tensors(draft / "model.safetensors", learned)
            write_tensors(draft / "optimizer.safetensors", moments)
            write_tensors(draft / "carried.safetensors", carried or {})
            write_json(draft / "progress.json", {**asdict(progress), "optimizer": groups})
        self._forget()
        return path

    def last(self) -> list[Path]:
        """Those to be averaged: the newest, and the regular ones before it, `keep` in all."""
        paths = self.paths()
        regular = [path for path in paths[:-1] if int(path.name) % self.every == 0]
        return [*regular, *paths[-1:]][-self.keep :]

    def _forget(self) -> None:
        for path in set(self.paths()).difference(self.last()):
            path.rename(path.with_name(f".{path.name}.old"))  # renamed first: never half a checkpoint
        for old in self.folder.glob(".*.old"):  # also those of a run that was killed right here
            shutil.rmtree(old)

    def paths(self) -> list[Path]:
        """The complete checkpoints, oldest first."""
        return checkpoint_folders(self.folder)

    def carried(self) -> dict[str, Tensor]:
        """The state in mid-text of the newest checkpoint; nothing where there is none."""
        paths = self.paths()
        return read_tensors(paths[-1] / "carried.safetensors") if paths else {}

    def restore(self, model: nn.Module, optimizer: Optimizer) -> Progress | None:
        """Go on from the newest checkpoint; None if there is none."""
        paths = self.paths()
        if not paths:
            return None
        content = read_json(paths[-1] / "progress.json")
        groups = content.pop("optimizer")
        there = model.state_dict()
        learned = read_tensors(paths[-1] / "model.safetensors")
        model.load_state_dict({name: part(tensor, there[name]) for name, tensor in learned.items()})
        restore_optimizer(optimizer, read_tensors(paths[-1] / "optimizer.safetensors"), groups)
        return Progress(**content)


def average(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of the models of several checkpoints; whole numbers come from the last."""
    models = [read_tensors(path / "model.safetensors") for path in paths]
    return {
        name: torch.stack([model[name].double() for model in models]).mean(0).to(last.dtype)
        if last.is_floating_point()
        else last
        for name, last in models[-1].items()
    }


def flatten(optimizer: Optimizer) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """An optimizer's state as named tensors, and its groups as JSON."""
    state = optimizer.state_dict()
    tensors = {
        f"{number}.{name}": value if isinstance(value, Tensor) else torch.tensor(value)
        for number, entries in state["state"].items()
        for name, value in entries.items()
        if value is not None
    }
    return tensors, state["param_groups"]


def restore_optimizer(optimizer: Optimizer, tensors: dict[str, Tensor], groups: list[dict[str, Any]]) -> None:
    """`flatten` undone, of whole tensors."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, name = key.split(".", 1)
        state.setdefault(int(number), {})[name] = part(tensor, parameters[int(number)])
    optimizer.load_state_dict({"state": state, "param_groups": groups})
