"""Trainer: the training loop."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from regard.data.batching.feed import BatchPosition
from regard.data.generated import ENDLESS
from regard.recipes.sections import Recipe
from regard.runs.checkpoint import Progress
from regard.runs.metrics_log import AVERAGED
from regard.runs.run import Run
from regard.tasks.measurement import Measurement
from regard.tasks.setup import Setup
from regard.train.checkpointing import Checkpointing
from regard.train.log import TrainingLog
from regard.train.screen import Screen
from regard.train.signals import MeasurementStopped
from regard.train.speed import RemainingTime, updates_in_minutes
from regard.train.training_session import TrainingSession
from regard.train.updater import Updater, UpdateResult
from regard.train.validator import Validator
from regard.train.warnings import before_training


class Trainer(TrainingSession):
    """Trains the model of a recipe in a run folder, or resumes an interrupted run.

    Batches are a function of seed, epoch and position; random numbers in an update are a function of seed, step and
    process. A run that was killed and resumed therefore equals an uninterrupted one.

    Args:
        recipe: recipe to train.
        run: the run folder.
        screen: progress display; None for the terminal.
        setup: task and data of the recipe; None to load them.
        changed_data: resume even if the data have changed since the last checkpoint.
    """

    def __init__(
        self,
        recipe: Recipe,
        run: Run,
        *,
        screen: Screen | None = None,
        setup: Setup | None = None,
        changed_data: bool = False,
    ) -> None:
        super().__init__(recipe, run, screen)
        self._changed_data = changed_data
        self.updater = Updater(self)
        with self.locked():
            with self.time.on("preparation"):
                self.prepare(setup)
            if recipe.train.minutes is not None:
                with self.time.on("preparation"):
                    self.fix_steps(updates_in_minutes(self.updater, recipe.train.minutes))
        self.log = TrainingLog(self)
        self.validator = Validator(self, self.log)
        self.checkpointing = Checkpointing(self)
        self.remaining = RemainingTime(self)

    def _loop(self, progress: Progress) -> str:
        """Train until the last step, patience or a signal ends the run; return the reason."""
        train = self.recipe.train
        self.model.train()
        places = self.feed.after(progress.epoch, progress.position)
        while not (reason := self._ended(progress)):
            signal, due = None, False
            if not progress.unvalidated:  # otherwise a signal stopped the validation of this step, which comes first
                with self.time.on("updates"):
                    group = [next(places) for _ in range(train.batch.accumulate)]
                    done = self.updater.update(group, progress)
                signal, due = done.signal, self._advance(group[-1], done, progress)
            if progress.unvalidated and signal is None:
                with self.time.on("validations"):
                    signal = self.validator.validate(progress)
            # Save after the validation, so that the checkpoint contains its result, unless a signal interrupted it.
            ended = self._ended(progress)
            if due or ended or signal is not None:
                with self.time.on("checkpoints"):
                    self.checkpointing.save(progress)
            if signal is not None and not ended:
                return "interrupted"
        return reason

    def _advance(self, last: BatchPosition, done: UpdateResult, progress: Progress) -> bool:
        """Record an update in the progress, display and log; return True if a checkpoint is due."""
        train = self.recipe.train
        progress.epoch, progress.position = last.epoch, last.position + 1
        progress.step += 1
        progress.tokens += done.tokens
        progress.logged_nll += done.nll
        progress.logged_tokens += done.tokens
        self.screen.stepped(progress.step, done.nll, done.tokens, self.remaining.seconds(progress))
        self.remaining.announce(progress)
        if progress.step % train.log_every == 0:
            self.log.add_training(progress)
        progress.unvalidated = progress.step % train.valid_every == 0 or progress.step == train.updates
        updates = train.checkpoint_updates
        return done.due or (updates is not None and progress.step % updates == 0)

    def _ended(self, progress: Progress) -> str | None:
        """Return the reason why training has ended; None if it has not."""
        train = self.recipe.train
        if progress.unvalidated:
            return None
        if progress.step >= train.updates:
            return "finished"
        return "patience" if train.patience is not None and progress.waited >= train.patience else None

    def fit(self) -> Outcome:
        """Train to the last step, until patience ends, or until a signal; then evaluate the final model."""
        with self.locked():
            begin = time.perf_counter()
            progress = self.checkpointing.resume(changed_data=self._changed_data)
            self.log.open(progress)
            self._announce(progress)
            first = progress.step
            try:
                with self.signals.caught():
                    outcome = self._trained(progress)
            finally:
                self.screen.end()
                self.log.close()
        sizes = {name: len(split) for name, split in self.splits.items() if split is not None}
        return replace(
            outcome,
            seconds=time.perf_counter() - begin,
            begun=first,
            signal=self.signals.number,
            parameters=sum(parameter.numel() for parameter in self.model.parameters()),
            skipped=self.setup.skipped(),
            time=str(self.time),
            examples={name: size for name, size in sizes.items() if size < ENDLESS},
        )

    def _announce(self, progress: Progress) -> None:
        """Print a summary of the run, and warnings about its data."""
        self.screen.begin(
            self.recipe,
            self.model,
            self.feed,
            progress,
            processes=self.accelerator.num_processes,
            sharded=self.sharded,
            ended=self._ended(progress),
        )
        for warning in before_training(self.recipe, self.setup, self.model):
            self.screen.notice(warning)

    def _trained(self, progress: Progress) -> Outcome:
        """Train, then evaluate the final model."""
        reason = self._loop(progress)
        if reason == "interrupted":
            return Outcome(progress, reason, None, None)
        self.screen.end()
        try:
            with self.time.on("final measurements"):
                valid, test = self.validator.final(self.checkpointing.final_model())
        except MeasurementStopped:
            return Outcome(progress, "interrupted", None, None)
        if self.recipe.train.average > 1:  # otherwise the log contains this validation already
            self.log.add(progress.step, AVERAGED, valid.values())
        if test is not None:
            self.log.add(progress.step, "test", test.values())
        return Outcome(progress, reason, valid, test)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run, or of the part of it before an interruption.

    Attributes:
        progress: progress of the run.
        reason: reason for the end of training: "finished", "patience" or "interrupted".
        valid: validation of the final model; None if training was interrupted.
        test: measurement on the test split; None if there is none.
        seconds: duration of this part of the run.
        begun: step at which this part of the run started.
        parameters: number of parameters of the model.
        examples: number of examples of each split.
        skipped: messages about skipped lines.
        time: summary of the time per activity.
        signal: signal that stopped the run; None without one.
    """

    progress: Progress
    reason: str
    valid: Measurement | None
    test: Measurement | None
    seconds: float = 0.0
    begun: int = 0
    parameters: int = 0
    examples: Mapping[str, int] = field(default_factory=dict)
    skipped: Sequence[str] = ()
    time: str = ""
    signal: int | None = None
