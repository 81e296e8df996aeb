"""The training loop."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, TypeVar

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from regard.data import Batch, Batches, Collator
from regard.data.order import mixed
from regard.recipes.sections import Recipe
from regard.train.checkpoint import Progress, average
from regard.train.fault import NotFiniteError, locate
from regard.train.notices import Notices
from regard.train.run import Run, make_model, make_task
from regard.train.screen import Screen
from regard.train.splits import Split, examples, prepared, tokenizers
from regard.train.update import Objective, make_optimizer, make_schedule
from regard.train.validation import Measured, measure


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        progress: where it stands.
        reason: why it ended: "finished", "patience" or "interrupted".
        valid: the last validation of the best model; None if it was interrupted.
        test: the test split with the best model; None if there is none.
        seconds: how long this part of the run took.
    """

    progress: Progress
    reason: str
    valid: Measured | None
    test: Measured | None
    seconds: float


T = TypeVar("T")


class Trainer:
    """Trains the model of a recipe in a run folder; goes on where an earlier part of the run stopped.

    Batches are a function of seed, epoch and position, and what is random in an update is a function of seed, step and
    process, so that a run that was killed and resumed is the run that was not.
    """

    def __init__(self, recipe: Recipe, run: Run, *, screen: Screen | None = None) -> None:
        self.recipe = recipe
        self.run = run
        # Without `cpu`, processes on a machine without a GPU would not know of each other. Half precision is the
        # objective's: accelerate fixes one for all runs of a process.
        self.accelerator = Accelerator(cpu=not torch.accelerator.is_available(), mixed_precision="no")
        self.screen = screen or Screen(quiet=not self.accelerator.is_main_process)
        self.metrics = recipe.evaluate.chosen()
        self.search = recipe.search()
        self._stopping = False
        self._prepare()

    def _prepare(self) -> None:
        """Everything that the first step needs."""
        train = self.recipe.train
        cache = self.run.folder.parent / ".cache"
        with self.accelerator.main_process_first():
            if self.accelerator.is_main_process:
                self.run.begin(self.recipe)
            kept = self.run.tokenizers()
            source, target = kept or tokenizers(self.recipe, _needed(examples(self.recipe, "train")))
            if self.accelerator.is_main_process and kept is None:
                self.run.save_tokenizers(source, target)
            self.train = _needed(prepared(self.recipe, "train", source, target, cache))
            self.valid = _needed(prepared(self.recipe, "valid", source, target, cache))
            self.test = prepared(self.recipe, "test", source, target, cache)
        set_seed(train.seed)
        self.task = make_task(self.recipe, source, target)
        self.model = make_model(self.recipe, source, target)
        self.collate = Collator(self.train.corpus)
        self.batches = Batches(
            self.collate.lengths("source", "target"),
            tokens=train.batch.tokens,
            sentences=train.batch.sentences,
            seed=train.seed,
            overlong="drop",
        )
        self.schedule = make_schedule(self.recipe)
        optimizer = make_optimizer(train, self.model.parameters())
        objective = Objective(self.model, self.task, narrow=train.precision == "bfloat16")
        self.objective, self.optimizer = self.accelerator.prepare(objective, optimizer)
        self.checkpoints = self.run.checkpoints(keep=train.average, every=train.checkpoint_every)
        self.notices = Notices.of(self.train.corpus)

    @property
    def plain_optimizer(self) -> torch.optim.Optimizer:
        """The optimizer itself, without accelerate's wrapping."""
        optimizer: torch.optim.Optimizer = getattr(self.optimizer, "optimizer", self.optimizer)
        return optimizer

    def fit(self) -> Outcome:
        """Train to the last step, to the end of patience, or to an interrupt; then measure the best model."""
        begin = time.perf_counter()
        progress = self.checkpoints.restore(self.model, self.plain_optimizer) or Progress()
        if progress.schedule:
            self.schedule.restore(progress.schedule)
        if self.accelerator.is_main_process:
            self.run.metrics.rewind(progress.step)
        self.screen.begin(self.recipe, self.model, self.batches, progress)
        try:
            reason = self._loop(progress)
        finally:
            self.screen.end()
        if reason == "interrupted":
            return Outcome(progress, reason, None, None, time.perf_counter() - begin)
        self._settle()
        valid = self._measured(self.valid)
        test = None if self.test is None else self._measured(self.test)
        if self.accelerator.is_main_process and test is not None:
            self.run.metrics.add(progress.step, "test", **test.values(self.metrics))
        return Outcome(progress, reason, valid, test, time.perf_counter() - begin)

    def _loop(self, progress: Progress) -> str:
        train = self.recipe.train
        self.model.train()
        places = self.batches.after(progress.epoch, progress.position)
        speed = _Speed(progress.tokens)
        with self._interruptible():
            while not (reason := self._ended(progress)):
                group = [next(places) for _ in range(train.batch.accumulate)]
                nll, tokens, stopping = self._update([place.batch for place in group], progress)
                last = group[-1]
                progress.epoch, progress.position = last.epoch, last.position + 1
                progress.step += 1
                progress.tokens += tokens
                progress.logged_nll += nll
                progress.logged_tokens += tokens
                if progress.step % train.log_every == 0:
                    self._log(progress, speed.since(progress.tokens))
                if progress.step % train.valid_every == 0 or progress.step == train.steps:
                    self._validate(progress)
                ended = self._ended(progress)
                if progress.step % train.checkpoint_every == 0 or ended or stopping:
                    self._checkpoint(progress)
                if stopping and not ended:
                    return "interrupted"
        return reason

    def _ended(self, progress: Progress) -> str | None:
        """Why there is nothing more to train; None if there is."""
        train = self.recipe.train
        if progress.step >= train.steps:
            return "finished"
        return "patience" if train.patience is not None and progress.waited >= train.patience else None

    def _update(self, group: list[Any], progress: Progress) -> tuple[float, int, bool]:
        """One step of the optimizer; of all processes the summed -log p, the tokens, and whether one is to stop."""
        rate = self.recipe.train.optimizer.rate * self.schedule.factor(progress.step + 1)
        for settings in self.plain_optimizer.param_groups:
            settings["lr"] = rate
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        tokens = sum(int(self.batches.lengths[indices, 1].sum()) - len(indices) for indices in group)
        total = torch.zeros(2, device=self.accelerator.device)  # -log p, and how many processes were interrupted
        torch.manual_seed(int(mixed(np.array([progress.step], np.uint64), self.recipe.train.seed, rank)[0]))
        self.optimizer.zero_grad()
        for indices in group:
            batch = self.collate(self.batches.shard(indices, rank, world)).to(self.accelerator.device)
            loss, nll = self.objective(batch, progress.step)
            if not torch.isfinite(loss):
                raise self._fault(batch, progress)
            self.accelerator.backward(loss * (world / tokens))
            total[0] += nll.to(total.device)
        if self.recipe.train.clip is not None:
            self.accelerator.clip_grad_norm_(self.model.parameters(), self.recipe.train.clip)
        self.optimizer.step()
        total[1] = float(self._stopping)  # exchanged, so that all processes stop after the same step
        nll_sum, stopping = self.accelerator.reduce(total).tolist()
        return nll_sum, tokens, stopping > 0

    def _fault(self, batch: Batch, progress: Progress) -> NotFiniteError:
        where = locate(self.model, lambda: self.task.loss(self.model, batch))
        return NotFiniteError(
            f"the loss is not finite at step {progress.step + 1}: it arose in {where}, in the batch at epoch "
            f"{progress.epoch}, position {progress.position} (examples {', '.join(map(str, batch.indices[:5]))} ...); "
            "try a smaller train.optimizer.rate or train.clip"
        )

    def _log(self, progress: Progress, speed: float) -> None:
        row = {"loss": progress.logged_nll / progress.logged_tokens, "rate": self.plain_optimizer.param_groups[0]["lr"]}
        progress.logged_nll, progress.logged_tokens = 0.0, 0
        if self.accelerator.is_main_process:
            self.run.metrics.add(progress.step, "train", **row)
        self.screen.logged(progress.step, row | {"tokens_per_second": speed})

    def _measured(self, split: Split) -> Measured:
        return measure(self.model, self.task, split, self.metrics, self.search)

    def _validate(self, progress: Progress) -> None:
        measured = self._measured(self.valid)
        values = measured.values(self.metrics)
        select = self.recipe.evaluate.select
        higher = select != "loss" and next(one.higher_is_better for one in self.metrics if one.name == select)
        value = values[select]
        better = progress.best is None or (value > progress.best if higher else value < progress.best)
        if better:
            progress.best, progress.best_step, progress.waited = value, progress.step, 0
        else:
            progress.waited += 1
        self.schedule.observe(value, higher_is_better=higher)
        if self.accelerator.is_main_process:
            self.run.metrics.add(progress.step, "valid", **values)
            if better:
                self.run.save_model(self.model.state_dict())
        self.screen.validated(progress.step, values, better=better)
        for notice in self.notices.after(progress.step, self.recipe.train.steps, measured):
            self.screen.notice(notice)

    def _checkpoint(self, progress: Progress) -> None:
        progress.schedule = self.schedule.state()
        if self.accelerator.is_main_process:
            self.checkpoints.save(replace(progress), self.model, self.plain_optimizer)
        self.accelerator.wait_for_everyone()

    def _settle(self) -> None:
        """The model that the run is remembered by: the average of the last checkpoints, or the best."""
        if self.recipe.train.average > 1 and self.accelerator.is_main_process:
            self.run.save_model(average(self.checkpoints.last()))
        self.accelerator.wait_for_everyone()
        self.run.load_model(self.model)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C ends the run after the step it is in; a second one ends it at once."""

        def ask(number: int, frame: FrameType | None) -> None:
            if self._stopping:
                raise KeyboardInterrupt
            self._stopping = True
            self.screen.notice("stopping after this step; press Ctrl-C again to stop without a checkpoint")

        previous = signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)


class _Speed:
    """Tokens per second since it was last asked."""

    def __init__(self, tokens: int) -> None:
        self.tokens, self.begin = tokens, time.perf_counter()

    def since(self, tokens: int) -> float:
        done, now = tokens - self.tokens, time.perf_counter()
        speed = done / max(1e-9, now - self.begin)
        self.tokens, self.begin = tokens, now
        return speed


def _needed(value: T | None) -> T:
    if value is None:
        raise ValueError("a recipe needs the splits train and valid")
    return value
