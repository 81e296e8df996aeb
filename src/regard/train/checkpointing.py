"""Checkpointing: saving a run, and resuming it as if it had not stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from accelerate.utils import gather_object
from torch import Tensor, nn

from regard.data.example import Checksummed
from regard.data.fingerprint import content, fingerprint
from regard.runs.checkpoint import Checkpoints, Progress, average
from regard.runs.folder import RunError
from regard.tasks.setup import Setup
from regard.tasks.splits import Split
from regard.tensor_mismatch import tensor_mismatch
from regard.train.state_io import grow_to, named_tensors, with_tensors
from regard.train.training_session import TrainingSession

Origin = dict[str, dict[str, str]]
"""Checksums per split, by file or other part of the data; those of encoders by field."""
_ENCODERS = "encoders"


class Checkpointing:
    """Saves the training state of a session, and resumes from the newest checkpoint.

    Attributes:
        checkpoints: folder of the checkpoints.
    """

    def __init__(self, session: TrainingSession) -> None:
        train = session.recipe.train
        self.session = session
        self.checkpoints: Checkpoints = session.run.checkpoints(keep=train.average, every=train.checkpoint_updates or 1)

    def resume(self, *, changed_data: bool) -> Progress:
        """Restore model, optimizer, schedule and recurrent state; return the progress of the run.

        Args:
            changed_data: resume even if the data differ from those of the checkpoint.
        """
        session = self.session
        checksums = self._check_origin(allowed=changed_data)
        progress = self.checkpoints.restore(session.model, session.optimizer) or Progress()
        progress.origin = checksums
        if progress.schedule:
            session.schedule.restore(progress.schedule)
        self._restore_carried()
        return progress

    def save(self, progress: Progress) -> None:
        """Write a checkpoint; a collective operation of all processes."""
        session = self.session
        progress.schedule = session.schedule.state()
        self.checkpoints.save(
            replace(progress), session.model, session.optimizer, self._gathered_carried(), writes=session.is_main
        )
        session.accelerator.wait_for_everyone()
        session.checkpointed = time.monotonic()

    def final_model(self) -> nn.Module:
        """Return the model that the run ends with: the average of the last checkpoints, or the best."""
        session = self.session
        if session.recipe.train.average > 1 and session.is_main:
            session.run.save_model(average(self.checkpoints.last()))
        session.accelerator.wait_for_everyone()  # until the main process has written the average
        model = session.whole_model()
        session.run.load_model(model)
        return model

    def _check_origin(self, *, allowed: bool) -> Origin:
        """Compare data and encoders with those of the newest checkpoint; return their checksums."""
        session, now, paths = self.session, data_checksums(self.session.setup), self.checkpoints.paths()
        progress = self.checkpoints.progress(paths[-1])[0] if paths else Progress()
        if fields := changed_encoders(progress.origin, now):
            raise RunError(
                f"{session.run.folder}: the tokenizer or labels of {', '.join(fields)} are not those that the "
                f"checkpoint of step {progress.step} was trained with; put those files back"
            )
        if changed := ", ".join(changed_data(progress.origin, now, session.setup)):
            if not allowed:
                raise RunError(
                    f"{session.run.folder} was trained on other data until step {progress.step}: {changed} changed; "
                    "put the data back, give this run another name with run=NAME, or resume with --changed-data"
                )
            session.screen.notice(f"going on after step {progress.step} with data that changed: {changed}")
        return now

    def _gathered_carried(self) -> dict[str, Tensor]:
        """Gather the recurrent state of all rows from all processes, in row order."""
        carried = self.session.carried
        mine = {} if carried is None else named_tensors(carried)
        parts = gather_object([{name: tensor.cpu() for name, tensor in mine.items()}])
        found: dict[str, Tensor] = {}
        for name, first in parts[0].items():
            held = [part[name] for part in parts if part]  # the last processes may have no rows
            found[name] = first.new_empty(sum(map(len, held)), *first.shape[1:])
            for rank, rows in enumerate(held):
                found[name][rank :: len(parts)] = rows  # process `rank` has every world-size-th row of a batch
        return found

    def _restore_carried(self) -> None:
        """Restore the recurrent state of the rows of this process."""
        session = self.session
        world, rank = session.accelerator.num_processes, session.accelerator.process_index
        # Clone, because tensors mapped from a file may be unaligned, and matrix products round differently there.
        held = self.checkpoints.carried()
        kept: Mapping[str, Tensor] = {name: tensor[rank::world].clone() for name, tensor in held.items()}
        if kept:
            model: Any = session.whole_model()
            rows = len(next(iter(kept.values())))
            first = model.start(None, batch=rows)
            if (wrong := tensor_mismatch(kept, grow_to(named_tensors(first), kept))) is not None:
                path = self.checkpoints.paths()[-1] / "carried.safetensors"
                raise RunError(f"{path}: {wrong}; remove {path.parent} and train again")
            session.carried = with_tensors(first, dict(kept)) if rows else None


def data_checksums(setup: Setup) -> Origin:
    """Return the checksums of all data and encoders of a run."""
    found = {name: _of(split) for name, split in _splits(setup)}
    # The fingerprint of an encoder covers what determines ids, and not what is tuned after training.
    found[_ENCODERS] = {name: fingerprint([one.fingerprint]) for name, one in setup.task.encoders.items()}
    return found


def changed_data(before: Mapping[str, Mapping[str, str]], now: Origin, setup: Setup) -> list[str]:
    """Return the differences between two states of the data per file; splits that exist only in one are ignored."""
    found: list[str] = []
    for name, split in _splits(setup):
        then, files = before.get(name, now[name]), split.examples.files
        if then == now[name]:
            continue
        if len(then) == len(files):
            differing = (path for number, path in enumerate(files) if then.get(str(number)) != now[name][str(number)])
            found += [f"{path} ({name})" for path in differing]
        else:
            found.append(f"the split {name}")
    return found


def changed_encoders(before: Mapping[str, Mapping[str, str]], now: Origin) -> list[str]:
    """Return the fields whose tokenizers or labels differ."""
    then = before.get(_ENCODERS, {})
    return [name for name in then if then[name] != now[_ENCODERS].get(name)]


def _splits(setup: Setup) -> Iterator[tuple[str, Split]]:
    for name, split in (("train", setup.train), ("valid", setup.valid), ("test", setup.test)):
        if split is not None:
            yield name, split


def _of(split: Split) -> dict[str, str]:
    """Return the checksum of each file in order; for other data, the checksum of the ids."""
    files: tuple[Path, ...] = split.examples.files
    if files:
        return {str(number): content(path).hex() for number, path in enumerate(files)}
    if split.encoded is not None:
        return split.encoded.sums()
    if isinstance(split.examples, Checksummed):
        return split.examples.sums()
    return {}  # sampled by a rule in the recipe, so there is nothing to compare
