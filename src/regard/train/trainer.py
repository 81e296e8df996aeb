"""The training loop."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, gather_object, set_seed
from torch import Tensor, nn

from regard.data import Batch
from regard.data.feed import Place
from regard.data.generated import ENDLESS
from regard.data.order import mixed
from regard.recipes.sections import Recipe
from regard.runs.checkpoint import Progress, average
from regard.runs.folder import RunError
from regard.runs.lock import locked
from regard.runs.metrics_log import AVERAGED
from regard.runs.run import Run
from regard.runs.sharded_tensors import whole
from regard.tasks.setup import Setup, make_model, prepare
from regard.tasks.splits import Split
from regard.tensor_fit import misfit
from regard.train import malloc
from regard.train.cuda_graphs import Graphs, obstacle, waited_for
from regard.train.early_stopping import higher_is_better, judge
from regard.train.nan_locator import NotFiniteError, locate, which_of
from regard.train.notices import Notices
from regard.train.odd_texts import odd_texts
from regard.train.origin import Origin, changed_data, changed_encoders, origin
from regard.train.pretrained import begin_with, begun_encoders, parts
from regard.train.schedule import Constant, Schedule
from regard.train.screen import Screen
from regard.train.sharding import by_layer, fill, shard
from regard.train.signals import STOPPING, MeasurementStopped, StopSignals
from regard.train.speed import advice, final_validations, fitted, validation_seconds
from regard.train.state_io import grown, named_tensors, with_tensors
from regard.train.tf32 import rounded_products
from regard.train.threads import choose
from regard.train.time_spent import TimeSpent
from regard.train.trackers import Trackers
from regard.train.unknown import unknown_tokens
from regard.train.update import Objective, make_optimizer, make_schedule
from regard.train.validation import Measured, measure

_MOST_OVERFLOWS = 20
_SOON, _FEW, _PATIENCE = 20, 3, 10.0  # the time left is told after 20 updates, or after 3 that took 10 seconds
_WORTH_A_LOOK = 30.0  # seconds


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        progress: where it stands.
        reason: why it ended: "finished", "patience" or "interrupted".
        valid: the last validation of the best model; None if it was interrupted.
        test: the test split with the best model; None if there is none.
        seconds: how long this part of the run took.
        begun: the step after which this part began.
        parameters: of the model.
        examples: how many there are in each split.
        skipped: which lines of the data were left out.
        time: how the time was spent.
        signal: what asked it to stop; None if nothing did.
    """

    progress: Progress
    reason: str
    valid: Measured | None
    test: Measured | None
    seconds: float = 0.0
    begun: int = 0
    parameters: int = 0
    examples: Mapping[str, int] = field(default_factory=dict)
    skipped: Sequence[str] = ()
    time: str = ""
    signal: int | None = None


class Updated(NamedTuple):
    """What all processes know after an update: the summed -log p, the tokens, and what is to happen next."""

    nll: float
    tokens: int
    stop: int | None
    """The signal that asks to stop; None without one."""
    due: bool
    """Whether so much time has passed that a checkpoint is to be written."""


class Trainer:
    """Trains the model of a recipe in a run folder; goes on where an earlier part of the run stopped.

    Batches are a function of seed, epoch and position, and what is random in an update is a function of seed, step and
    process, so that a run that was killed and resumed is the run that was not.

    Args:
        recipe: what to train.
        run: where.
        screen: what is told to people.
        setup: task and data of the recipe, where they are there already; None to read them.
        changed_data: go on although the data are others than those that the run has learned from.
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
        self.recipe = recipe
        self._changed_data = changed_data
        self.run = run
        if os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true":
            raise RunError("accelerate was told to shard by itself; leave --use_fsdp out and give train.sharding=full")
        # Without `cpu`, processes on a machine without a GPU would not know of each other. Half precision is the
        # objective's: accelerate fixes one for all runs of a process.
        self.accelerator = Accelerator(cpu=not torch.accelerator.is_available(), mixed_precision="no")
        self.screen = screen or Screen(quiet=not self.accelerator.is_main_process)
        self.first = None if recipe.init is None else Run(recipe.init)
        self.trackers: Trackers | None = None
        self._given = setup
        self.signals = StopSignals(self.screen.notice)
        self._saved = time.monotonic()  # when there was last a checkpoint
        self._foreseen = False
        self._learned: float | None = None  # the last loss on the training data
        self.time = TimeSpent()
        with self._alone():
            with self.time.on("preparation"):
                self._prepare()
            if self.recipe.train.minutes is not None:
                self._fix_steps(self.recipe.train.minutes)

    def _prepare(self) -> None:
        """Everything that the first step needs."""
        train = self.recipe.train
        with self.accelerator.main_process_first():
            if self.accelerator.is_main_process:
                for damage in self.run.checkpoints().set_damaged_aside():
                    self.screen.notice(damage)
            self.run.agree(self.recipe)
            begun = self.run.trained or not self.accelerator.is_main_process  # the first process may have made them
            kept = self.run.encoders() if begun else None
            known = kept or (None if self.first is None else begun_encoders(self.first, self.recipe))
            self.setup = self._given or prepare(self.recipe, self.run.folder.parent / ".cache", known)
            if self.accelerator.is_main_process:  # not before: data that cannot be read leave nothing behind
                self.run.begin(self.recipe)
                if kept is None:
                    self.run.save_encoders(self.setup.task.encoders)
        set_seed(train.seed)
        self.task, self.feed = self.setup.task, self.setup.feed
        self.model = make_model(self.recipe, self.task)
        if self.first is not None and not self.run.checkpoints().paths():
            self._begin_with(self.first)
        if self.accelerator.device.type == "cpu":
            torch.set_num_threads(choose(self.model))
            malloc.keep()
        self.schedule: Schedule = Constant() if train.steps is None else make_schedule(self.recipe)
        self.objective = self._spread(Objective(self.model, self.task, narrow=train.precision == "bfloat16"))
        self.optimizer = make_optimizer(train, self.model.parameters())
        self.graphs = self._graphs()
        self.checkpoints = self.run.checkpoints(keep=train.average, every=train.checkpoint_updates or 1)
        corpus = self.setup.train.encoded
        ends = self.task.unit == "token"
        floor = None if corpus is None else self.task.unigram_loss(corpus)
        if corpus is None or floor is not None:
            self.notices = Notices(self.task.floor if floor is None else floor)
        else:
            self.notices = Notices.of(corpus, self.task.counted, ends=ends)
        self.carried: Any = None  # the state in mid-text, where the task reads one long text

    def _fix_steps(self, minutes: float) -> None:
        """From here on the recipe says how many updates there are."""
        with self.time.on("preparation"):
            steps = fitted(self, minutes)
        self.recipe = self.recipe.model_copy(update={"train": self.recipe.train.model_copy(update={"steps": steps})})
        self.schedule = make_schedule(self.recipe)

    def _alone(self) -> AbstractContextManager[None]:
        """The lock of the run folder, for the process that writes there."""
        return locked(self.run.folder) if self.accelerator.is_main_process else nullcontext()

    def _begin_with(self, run: Run) -> None:
        anew = begin_with(self.model, run)
        if anew:
            some = parts(anew, self.model.state_dict().keys() - set(anew))
            self.screen.notice(f"begun with {run.folder}; {len(anew)} parameters it does not have begin anew: {some}")

    @property
    def sharded(self) -> bool:
        """Whether `model` is divided among processes."""
        several = self.accelerator.distributed_type != DistributedType.NO
        return several and self.recipe.train.sharding == "full"

    def _spread(self, objective: Objective) -> nn.Module:
        """The objective on its device, with a copy or a part of it on each process."""
        if not self.sharded:
            spread: nn.Module = self.accelerator.prepare(objective)
            return spread
        device = self.accelerator.device
        shard(objective.to(device), device, layers=by_layer(self.model, self.recipe))
        return objective

    def _graphs(self) -> Graphs | None:
        """Recorded updates, where a GPU would wait for Python."""
        alone = self.accelerator.device.type == "cuda" and self.accelerator.num_processes == 1
        if not self.recipe.train.cuda_graphs or not alone or not waited_for(self.model, self.task):
            return None
        why = obstacle(self.model, self.task)
        if why is not None:
            self.screen.notice(f"updates are not recorded as CUDA graphs, which would be faster: {why}")
            return None
        assert isinstance(self.objective, Objective)
        return Graphs(self.objective)

    def whole(self) -> nn.Module:
        """The model with all its parameters on this process: a copy where it is sharded, to be let go soon."""
        if not self.sharded:
            return self.model
        copy = make_model(self.recipe, self.task).to(self.accelerator.device)
        fill(copy, self.model)
        return copy

    def fit(self) -> Outcome:
        """Train to the last step, to the end of patience, or to a signal; then measure the best model."""
        with self._alone():
            return self._fit()

    def _fit(self) -> Outcome:
        begin = time.perf_counter()
        learned_from = self._compare_origin()
        progress = self.checkpoints.restore(self.model, self.optimizer) or Progress()
        progress.origin = learned_from
        if progress.schedule:
            self.schedule.restore(progress.schedule)
        self._restore_carried()
        if self.accelerator.is_main_process:
            for damage in self.run.metrics.rewind(progress.step):
                self.screen.notice(damage)
        if self.recipe.train.trackers and self.accelerator.is_main_process:
            told = self.screen.notice
            self.trackers = Trackers(self.recipe, self.run.folder, step=progress.step, notice=told)
        begun, ended = progress.step, self._ended(progress)
        world = self.accelerator.num_processes
        self.screen.begin(
            self.recipe, self.model, self.feed, progress, processes=world, sharded=self.sharded, ended=ended
        )
        for left_out in self.setup.skipped():
            self.screen.notice(left_out)
        for warning in self.task.data_warnings(self.model, self.setup.train.encoded):
            self.screen.notice(warning)
        splits = {"train": self.setup.train, "valid": self.setup.valid, "test": self.setup.test}
        unknown = unknown_tokens(splits, self.task.encoders, self.recipe.init)
        odd = odd_texts(splits, windows=self.recipe.train.batch.window is not None)
        for remark in (*self.task.remarks(), *unknown, *odd):
            self.screen.notice(remark)
        try:
            with self.signals.caught():
                outcome = self._outcome(progress)
        finally:
            self.screen.end()
            if self.trackers is not None:
                self.trackers.close()
        return replace(
            outcome,
            seconds=time.perf_counter() - begin,
            begun=begun,
            signal=self.signals.number,
            parameters=sum(parameter.numel() for parameter in self.model.parameters()),
            skipped=self.setup.skipped(),
            time=str(self.time),
            examples={name: len(split) for name, split in splits.items() if split is not None and len(split) < ENDLESS},
        )

    def _compare_origin(self) -> Origin:
        """See that data and encoders are those of the checkpoint, and return their checksums."""
        now, paths = origin(self.setup), self.checkpoints.paths()
        progress = self.checkpoints.progress(paths[-1])[0] if paths else Progress()
        if anew := changed_encoders(progress.origin, now):
            raise RunError(
                f"{self.run.folder}: the tokenizer or labels of {', '.join(anew)} are not those that the checkpoint of "
                f"step {progress.step} was trained with; put those files back"
            )
        if changed := ", ".join(changed_data(progress.origin, now, self.setup)):
            if not self._changed_data:
                raise RunError(
                    f"{self.run.folder} has learned from other data until step {progress.step}: {changed} changed; "
                    "put the data back, give this run another name with run=NAME, or go on with --changed-data"
                )
            self.screen.notice(f"going on after step {progress.step} with data that changed: {changed}")
        return now

    def _outcome(self, progress: Progress) -> Outcome:
        """Train, then measure the model that the run is remembered by."""
        reason = self._loop(progress)
        if reason == "interrupted":
            return Outcome(progress, reason, None, None)
        self.screen.end()
        try:
            with self.time.on("final measurements"):
                model, samples = self._settled(), self.recipe.evaluate.examples
                with self.signals.measuring():
                    self._tune(model)
                    valid = self._measured(model, self.setup.valid, samples)
                    test = None if self.setup.test is None else self._measured(model, self.setup.test, samples)
        except MeasurementStopped:
            return Outcome(progress, "interrupted", None, None)
        if self.recipe.train.average > 1:  # the best model was measured before
            self._record(progress.step, AVERAGED, valid.values())
        if test is not None:
            self._record(progress.step, "test", test.values())
        return Outcome(progress, reason, valid, test)

    def _loop(self, progress: Progress) -> str:
        train = self.recipe.train
        self.model.train()
        places = self.feed.after(progress.epoch, progress.position)
        while not (reason := self._ended(progress)):
            stop, due = None, False
            if not progress.unvalidated:  # as it is where a signal came in the middle of a validation
                with self.time.on("updates"):
                    group = [next(places) for _ in range(train.batch.accumulate)]
                    done = self.update(group, progress)
                stop, due = done.stop, self._advance(group[-1], done, progress)
            if progress.unvalidated and stop is None:
                with self.time.on("validations"):
                    stop = self._validate(progress)
            ended = self._ended(progress)
            if due or ended or stop is not None:
                with self.time.on("checkpoints"):
                    self._checkpoint(progress)
            if stop is not None and not ended:
                return "interrupted"
        return reason

    def _advance(self, last: Place, done: Updated, progress: Progress) -> bool:
        """Count an update and log it; return True if a checkpoint is due."""
        train = self.recipe.train
        progress.epoch, progress.position = last.epoch, last.position + 1
        progress.step += 1
        progress.tokens += done.tokens
        progress.logged_nll += done.nll
        progress.logged_tokens += done.tokens
        self.screen.stepped(progress.step, done.nll, done.tokens, self.left(progress))
        self._foresee(progress)
        if progress.step % train.log_every == 0:
            self._log(progress)
        progress.unvalidated = progress.step % train.valid_every == 0 or progress.step == train.updates
        updates = train.checkpoint_updates
        return done.due or (updates is not None and progress.step % updates == 0)

    def left(self, progress: Progress) -> float | None:
        """The seconds that are left, those of validations and of the last measurements included, unless patience ends
        them; None before the first update."""
        train = self.recipe.train
        updates = max(0, train.updates - progress.step)
        validations = -(-train.updates // train.valid_every) - progress.step // train.valid_every
        return self.time.left(updates, max(0, validations), final_validations(self))

    def _foresee(self, progress: Progress) -> None:
        """Say once, early, how long it will take."""
        done = self.time.count("updates")
        if self._foreseen or not (done >= _SOON or (done >= _FEW and self.time.seconds("updates") > _PATIENCE)):
            return
        self._foreseen = True
        if (self.left(progress) or 0.0) > _WORTH_A_LOOK and not self.time.count("validations"):
            self.time.validation = validation_seconds(self, self.setup.valid)
        left = self.left(progress)
        if left is not None and left > _WORTH_A_LOOK:
            self.screen.foresee(self.recipe.train.updates - progress.step, left, self.time, advice(self.recipe, left))

    def _ended(self, progress: Progress) -> str | None:
        """Why there is nothing more to train; None if there is."""
        train = self.recipe.train
        if progress.unvalidated:
            return None
        if progress.step >= train.updates:
            return "finished"
        return "patience" if train.patience is not None and progress.waited >= train.patience else None

    def update(self, group: list[Place], progress: Progress) -> Updated:
        """One step of the optimizer."""
        rate = self.recipe.train.optimizer.rate * self.schedule.factor(progress.step + 1)
        for settings in self.optimizer.param_groups:
            settings["lr"] = rate
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        tokens = sum(self.feed.tokens(place) for place in group)
        # -log p; processes that overflowed; that find a checkpoint due; that had each of the signals
        total = torch.zeros(3 + len(STOPPING), device=self.accelerator.device)
        self._seed(int(mixed(np.array([progress.step], np.uint64), self.recipe.train.seed, rank)[0]))
        self.optimizer.zero_grad(set_to_none=self.graphs is None)
        for place in group:
            mine = self.feed.batch(place, rank, world)
            # A process without rows reads another's, for nothing, so that all of them meet in the same exchanges.
            weight = 1.0 if mine.size else 0.0
            batch = (mine if mine.size else self.feed.batch(place, 0, world)).to(self.accelerator.device)
            before = None if batch.begins else self.carried
            with rounded_products(self.accelerator.device, allowed=self.recipe.train.precision == "tf32"):
                loss, nll, after = self._learn(batch, progress.step, before, weight * world / max(tokens, 1))
            if not torch.isfinite(loss):
                raise self._fault(batch, place, before, progress)
            total[0] += weight * nll
            self.carried = after if mine.size else None
        due = time.monotonic() - self._saved >= self.recipe.train.checkpoint_seconds
        total[2] = float(due and self.accelerator.is_main_process)  # one clock for all processes
        total[3:] = self._signalled()  # exchanged, so that all processes stop after the same step
        if self.recipe.train.clip is not None:
            length = self.accelerator.clip_grad_norm_(self.model.parameters(), self.recipe.train.clip)
            total[1] = ~torch.isfinite(whole(length) if self.sharded else length)
        nll_sum, overflowed, late, *signalled = self.accelerator.reduce(total).tolist()
        progress.overflows = progress.overflows + 1 if overflowed else 0
        if overflowed:
            self._leave_out(progress)
        else:
            self.optimizer.step()
        return Updated(nll_sum, tokens, _first(signalled), late > 0)

    def _signalled(self) -> Tensor:
        """1 for the signal that this process had, 0 for all others."""
        return torch.tensor([float(one == self.signals.number) for one in STOPPING], device=self.accelerator.device)

    def _leave_out(self, progress: Progress) -> None:
        """Say that gradients of no finite length moved nothing; too many in a row end the run."""
        if progress.overflows > _MOST_OVERFLOWS:
            raise NotFiniteError(
                f"the gradients overflowed in {progress.overflows} updates in a row, up to step {progress.step + 1}; "
                "try a smaller train.optimizer.rate"
            )
        self.screen.notice(f"the gradients overflowed at step {progress.step + 1}: this update is left out")

    def _seed(self, seed: int) -> None:
        """Of an update; `torch.manual_seed` would remember each call for devices that are not there."""
        torch.default_generator.manual_seed(seed)
        if self.accelerator.device.type != "cpu":
            torch.get_device_module(self.accelerator.device).manual_seed(seed)

    def _learn(self, batch: Batch, update: int, before: Any, scale: float) -> tuple[Tensor, Tensor, Any]:
        """Add the gradients of `scale` times the loss of a batch; what the objective says of it."""
        if self.graphs is not None and self.graphs.has_room_for(batch, before):
            return self.graphs.learn(batch, update, scale, before)
        loss, nll, after = self.objective(batch, update, before)
        self.accelerator.backward(loss * scale)
        return loss, nll, after

    def _fault(self, batch: Batch, place: Place, before: Any, progress: Progress) -> NotFiniteError:
        if self.sharded:  # the other processes, which would have to take part in looking for it, go on
            where = "a module that train.sharding=none would name"
        else:
            where = locate(self.model, lambda: self.task.loss(self.model, batch, state=before))
        return NotFiniteError(
            f"the loss is not finite at step {progress.step + 1}: it arose in {where}, in the batch at epoch "
            f"{place.epoch}, position {place.position} ({which_of(batch, self.task.question)}); "
            "try a smaller train.optimizer.rate or train.clip"
        )

    def _log(self, progress: Progress) -> None:
        loss = progress.logged_nll / max(progress.logged_tokens, 1)
        row = {"loss": loss, "rate": self.optimizer.param_groups[0]["lr"]}
        progress.logged_nll, progress.logged_tokens = 0.0, 0
        self._learned = row["loss"]
        self._record(progress.step, "train", row)

    def _record(self, step: int, split: str, values: dict[str, float]) -> None:
        """Keep what was measured: in `metrics.jsonl`, and by trackers if there are any."""
        if self.accelerator.is_main_process:
            self.run.metrics.add(step, split, **values)
        if self.trackers is not None:
            self.trackers.add(step, split, values)

    def _measured(self, model: nn.Module, split: Split, samples: int = 0) -> Measured:
        return measure(model, self.task, split, self.recipe, samples=samples)

    def _validate(self, progress: Progress) -> int | None:
        """Measure and judge the model; return the signal that asks to stop, which leaves it to be done again."""
        model = self.whole()
        measured = self._validation(model, progress.step)
        # One process that did not finish is enough for none to have validated, so that all of them agree.
        flags = torch.cat([torch.tensor([float(measured is None)], device=self.accelerator.device), self._signalled()])
        unfinished, *signalled = self.accelerator.reduce(flags).tolist()
        if measured is not None and not unfinished:
            self._judge(progress, model, measured)
        return _first(signalled)

    def _validation(self, model: nn.Module, step: int) -> Measured | None:
        """The model's worth on the validation split; None where a signal came before that was known."""
        try:
            with self.signals.measuring():
                return self._measured(model, self.setup.valid)
        except MeasurementStopped:
            return None
        except NotFiniteError as problem:
            raise NotFiniteError(f"after step {step}: {problem}") from None

    def _judge(self, progress: Progress, model: nn.Module, measured: Measured) -> None:
        """Keep the best model; hope, or lose patience."""
        values = measured.values()
        verdict = judge(self.recipe.select, values, progress.reached)
        first, better = self.recipe.select[0], verdict.better
        progress.reached = verdict.reached
        progress.waited = 0 if verdict.hopeful else progress.waited + 1
        if better:
            progress.best, progress.best_step = values[first], progress.step
        self.schedule.observe(values[first], higher_is_better=higher_is_better(first))
        changed = self.task.validated(self.model, measured.loss)
        self._record(progress.step, "valid", values)
        if better and self.accelerator.is_main_process:
            self.run.save_model(model.state_dict())
        progress.unvalidated = False
        self.screen.validated(progress.step, values, better=better)
        for notice in self.notices.after(progress.step, self.recipe.train.updates, measured, self._learned):
            self.screen.notice(notice)
        if changed is not None:
            self.screen.notice(changed)

    def _checkpoint(self, progress: Progress) -> None:
        progress.schedule = self.schedule.state()
        carried = self._all_carried()
        main = self.accelerator.is_main_process
        self.checkpoints.save(replace(progress), self.model, self.optimizer, carried, writes=main)
        self.accelerator.wait_for_everyone()
        self._saved = time.monotonic()

    def _all_carried(self) -> dict[str, Tensor]:
        """The state in mid-text of all rows, in their order, whatever process has them."""
        mine = {} if self.carried is None else named_tensors(self.carried)
        parts = gather_object([{name: tensor.cpu() for name, tensor in mine.items()}])
        found: dict[str, Tensor] = {}
        for name, first in parts[0].items():
            held = [part[name] for part in parts if part]  # the last processes may have no rows
            found[name] = first.new_empty(sum(map(len, held)), *first.shape[1:])
            for rank, rows in enumerate(held):
                found[name][rank :: len(parts)] = rows
        return found

    def _restore_carried(self) -> None:
        """Go on in mid-text, with the rows that are this process's."""
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        kept = {name: tensor[rank::world] for name, tensor in self.checkpoints.carried().items()}
        if kept:
            model: Any = self.whole()
            rows = len(next(iter(kept.values())))
            first = model.start(None, batch=rows)
            if (wrong := misfit(kept, grown(named_tensors(first), kept))) is not None:
                path = self.checkpoints.paths()[-1] / "carried.safetensors"
                raise RunError(f"{path}: {wrong}; remove {path.parent} and train again")
            self.carried = with_tensors(first, kept) if rows else None

    def _settled(self) -> nn.Module:
        """The model that the run is remembered by: the average of the last checkpoints, or the best."""
        if self.recipe.train.average > 1 and self.accelerator.is_main_process:
            self.run.save_model(average(self.checkpoints.last()))
        self.accelerator.wait_for_everyone()
        model = self.whole()
        self.run.load_model(model)
        return model

    def _tune(self, model: nn.Module) -> None:
        """Tune on the validation data whatever the task tunes when training is over, and keep it with the run."""
        model.eval()
        tuned = self.task.tuned(model, self.setup.valid.examples)
        if tuned is not self.task:
            self.task = tuned
            if self.accelerator.is_main_process:
                self.run.save_encoders(tuned.encoders)


def _first(signalled: Sequence[float]) -> int | None:
    """The first signal that any process had."""
    return next((number for number, count in zip(STOPPING, signalled, strict=True) if count), None)
