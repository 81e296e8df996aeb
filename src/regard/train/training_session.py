"""Session: data, model, optimizer and devices of a training run in this process."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, set_seed
from torch import Tensor, nn

from regard.cpu_settings import tune_cpu
from regard.recipes.sections import Recipe
from regard.runs.folder import RunError
from regard.runs.lock import locked
from regard.runs.run import Run
from regard.tasks.build import make_model
from regard.tasks.setup import Setup, prepare
from regard.tasks.splits import Split
from regard.tasks.word_vectors import load_vectors
from regard.train.cuda_graphs import UpdateGraphs, is_host_bound, obstacle
from regard.train.nt_asgd import NTASGD
from regard.train.objective import Objective, make_optimizer, make_schedule
from regard.train.pretrained import load_pretrained, pretrained_encoders
from regard.train.schedule import ConstantSchedule, Schedule
from regard.train.screen import Screen
from regard.train.sharding import by_layer, load_sharded, shard
from regard.train.signals import STOPPING, StopSignals
from regard.train.time_spent import TimeSpent


class TrainingSession:
    """Data, model, optimizer and devices of a training run in this process.

    Attributes:
        recipe: recipe to train, with `train.minutes` replaced by `train.steps`.
        run: the run folder.
        screen: progress display.
        accelerator: device and communication with other processes.
        signals: requests to stop.
        time: seconds per activity.
        setup: task and splits.
        task: loss and predictions.
        feed: training batches.
        model: the model, or the shard of this process.
        objective: model and loss, wrapped for several processes.
        optimizer, schedule: optimizer and learning-rate schedule.
        graphs: updates captured as CUDA graphs; None in eager mode.
        carried: recurrent state at the end of the last window, for tasks that read one long text in windows.
        checkpointed: time of the last checkpoint, by `time.monotonic`.
    """

    setup: Setup
    model: nn.Module
    objective: nn.Module
    optimizer: torch.optim.Optimizer
    schedule: Schedule

    def __init__(self, recipe: Recipe, run: Run, screen: Screen | None = None) -> None:
        if os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true":
            raise RunError("accelerate is configured to shard; leave --use_fsdp out and set train.sharding=full")
        self.recipe = recipe
        self.run = run
        # Without `cpu`, accelerate does not connect processes on a machine without a GPU. The objective handles mixed
        # precision, because accelerate allows only one setting per process, for all its runs.
        self.accelerator = Accelerator(cpu=not torch.accelerator.is_available(), mixed_precision="no")
        self.screen = screen or Screen(quiet=not self.is_main)
        self.signals = StopSignals(self.screen.notice)
        self.time = TimeSpent()
        self.carried: Any = None
        self.checkpointed = time.monotonic()

    def prepare(self, setup: Setup | None = None) -> None:
        """Load the data, and build model and optimizer; all random initial values are sampled here.

        Args:
            setup: task and splits of the recipe; None to load them.
        """
        train = self.recipe.train
        pretrained = None if self.recipe.init is None else Run(self.recipe.init)
        # The main process writes caches and encoders first; the others read them.
        with self.accelerator.main_process_first():
            self.setup = self._begin_run(setup, pretrained)
        set_seed(train.seed)  # the same on all processes, so that they start from equal weights
        self.task, self.feed = self.setup.task, self.setup.feed
        self.model = make_model(self.recipe, self.task)
        if not self.run.checkpoints().paths():
            self._load_pretrained(pretrained)  # a resumed run takes its weights from its own checkpoint instead
        if self.device.type == "cpu":
            tune_cpu(self.model)
        self.schedule = ConstantSchedule() if train.steps is None else make_schedule(self.recipe)
        self.objective = self._distributed(Objective.of(self.model, self.task, train))
        # After distribution, because sharding replaces the parameters.
        self.optimizer = make_optimizer(train, self.model.parameters())
        self.graphs = self._cuda_graphs()

    def _begin_run(self, setup: Setup | None, pretrained: Run | None) -> Setup:
        """Load the data first, then write recipe and encoders, so that unreadable data leave no files behind."""
        if self.is_main:
            for damage in self.run.checkpoints().set_damaged_aside():
                self.screen.notice(damage)
        self.run.agree(self.recipe)
        begun = self.run.trained or not self.is_main  # the main process may have written the encoders by now
        own = self.run.encoders() if begun else None
        encoders = own or (None if pretrained is None else pretrained_encoders(pretrained, self.recipe))
        found = setup or prepare(self.recipe, self.run.folder.parent / ".cache", encoders)
        if self.is_main:
            self.run.begin(self.recipe)
            if own is None:
                self.run.save_encoders(found.task.encoders)
        return found

    def _load_pretrained(self, run: Run | None) -> None:
        """Load the weights of a pretrained run, or word vectors."""
        if run is None:
            for coverage in load_vectors(self.recipe, self.task, self.model, self.setup.train.encoded):
                self.screen.notice(coverage)
            return
        begun = load_pretrained(self.model, run)
        if begun.fresh or begun.left:
            self.screen.notice(begun.sentence(run))

    def _distributed(self, objective: Objective) -> nn.Module:
        """Return the objective on its device, replicated or sharded over the processes."""
        if not self.sharded:
            wrapped: nn.Module = self.accelerator.prepare(objective)
            return wrapped
        shard(objective.to(self.device), self.device, layers=by_layer(self.model, self.recipe))
        return objective

    def _cuda_graphs(self) -> UpdateGraphs | None:
        """Return the CUDA graphs of updates, for a host-bound model on a single GPU; None for eager mode."""
        single = self.device.type == "cuda" and self.accelerator.num_processes == 1
        if not self.recipe.train.cuda_graphs or not single or not is_host_bound(self.model, self.task):
            return None
        why = obstacle(self.model, self.task)
        if why is not None:
            self.screen.notice(f"updates are not captured as CUDA graphs, which would be faster: {why}")
            return None
        assert isinstance(self.objective, Objective)
        return UpdateGraphs(self.objective)

    @property
    def device(self) -> torch.device:
        """The device of this process."""
        device: torch.device = self.accelerator.device
        return device

    @property
    def is_main(self) -> bool:
        """True in the main process, the only one that writes files."""
        return bool(self.accelerator.is_main_process)

    @property
    def sharded(self) -> bool:
        """True if the parameters of `model` are sharded."""
        several = self.accelerator.distributed_type != DistributedType.NO
        return several and self.recipe.train.sharding == "full"

    @property
    def splits(self) -> dict[str, Split | None]:
        """The splits by name."""
        return {"train": self.setup.train, "valid": self.setup.valid, "test": self.setup.test}

    def locked(self) -> AbstractContextManager[None]:
        """Return a lock of the run folder for the main process; a null context in others."""
        return locked(self.run.folder) if self.is_main else nullcontext()

    def fix_steps(self, steps: int) -> None:
        """Replace `train.minutes` by a number of updates."""
        self.recipe = self.recipe.model_copy(update={"train": self.recipe.train.model_copy(update={"steps": steps})})
        self.schedule = make_schedule(self.recipe)

    def whole_model(self) -> nn.Module:
        """Return the model with all its parameters on this process: a temporary copy if it is sharded."""
        if not self.sharded:
            return self.model
        copy = make_model(self.recipe, self.task).to(self.device)
        load_sharded(copy, self.model)
        return copy

    def averaged(self) -> AbstractContextManager[None]:
        """Return a context in which the model has the weights that the optimizer averaged, if it does."""
        return self.optimizer.averaged() if isinstance(self.optimizer, NTASGD) else nullcontext()

    def observe(self, value: float, *, higher_is_better: bool) -> str | None:
        """Pass a validation result to schedule and optimizer; return a message about a change, or None."""
        self.schedule.observe(value, higher_is_better=higher_is_better)
        if not isinstance(self.optimizer, NTASGD) or self.optimizer.is_averaging:
            return None
        self.optimizer.observe(value, higher_is_better=higher_is_better)
        return "weights are averaged from here on" if self.optimizer.is_averaging else None

    def signal_flags(self) -> Tensor:
        """Return 1 for the signal that this process received and 0 for all others, to be summed over processes."""
        return torch.tensor([float(one == self.signals.number) for one in STOPPING], device=self.device)


def first_signal(counts: Sequence[float]) -> int | None:
    """Return the first signal that any process received, from summed `signal_flags`."""
    return next((number for number, count in zip(STOPPING, counts, strict=True) if count), None)
