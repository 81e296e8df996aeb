"""Objective, optimizer and learning-rate schedule of a recipe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer, RMSprop

from regard.data.batching.batch import Batch
from regard.recipes.sections import Recipe, TrainSection
from regard.tasks.loss import Loss
from regard.tasks.task import Task
from regard.train.nt_asgd import NTASGD
from regard.train.r_drop import r_drop
from regard.train.schedule import (
    ConstantSchedule,
    CosineSchedule,
    InverseSqrtSchedule,
    NoamSchedule,
    PlateauSchedule,
    Schedule,
    StepSchedule,
)


class Objective(nn.Module):
    """Model and loss as one module, which can be wrapped for data parallelism.

    Attributes:
        model: model to train.
        task: task that computes the loss.
        narrow: True for automatic mixed precision in bfloat16; parameters and gradients remain float32.
        r_drop: weight α of R-Drop.
    """

    def __init__(self, model: nn.Module, task: Task, *, narrow: bool = False, r_drop: float = 0.0) -> None:
        super().__init__()
        self.model = model
        self.task = task
        self.narrow = narrow
        self.r_drop = r_drop

    @classmethod
    def of(cls, model: nn.Module, task: Task, section: TrainSection) -> Objective:
        """Return the objective of a recipe."""
        return cls(model, task, narrow=section.precision == "bfloat16", r_drop=section.r_drop)

    def forward(self, batch: Batch, update: int, state: Any = None) -> tuple[Tensor, Tensor, Any]:
        """Return the training loss and -log p, summed over the tokens of the batch, and the next window's state."""
        device = next(iter(batch.tensors.values())).device
        with torch.autocast(device.type, torch.bfloat16, enabled=self.narrow):
            loss = self._loss(batch, update, state)
            if self.r_drop:
                loss = r_drop(loss, self._loss(batch, update, state), self.r_drop)
        return loss.total, loss.nll, loss.state

    def _loss(self, batch: Batch, update: int, state: Any) -> Loss:
        return self.task.loss(self.model, batch, update=update, state=state)


def make_optimizer(section: TrainSection, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """Return the optimizer of a recipe; Adam and AdamW are fused where torch supports it."""
    given = section.optimizer
    if given.name == "sgd":
        return SGD(parameters, lr=given.rate, momentum=given.momentum, weight_decay=given.weight_decay)
    if given.name == "nt_asgd":
        return NTASGD(
            parameters,
            given.rate,
            interval=given.interval,
            momentum=given.momentum,
            weight_decay=given.weight_decay,
        )
    if given.name == "rmsprop":  # centred, as in Graves 2013
        return RMSprop(
            parameters,
            lr=given.rate,
            alpha=given.decay,
            eps=given.eps,
            weight_decay=given.weight_decay,
            momentum=given.momentum,
            centered=True,
        )
    kind = Adam if given.name == "adam" else AdamW
    learned = list(parameters)  # an iterator would be exhausted by the test for fused kernels
    # Sharded parameters are tensor subclasses, for which torch chooses the implementation.
    return kind(
        learned,
        lr=given.rate,
        betas=given.betas,
        eps=given.eps,
        weight_decay=given.weight_decay,
        fused=True if all(type(one.data) is Tensor and (one.is_cpu or one.is_cuda) for one in learned) else None,
    )


def make_schedule(recipe: Recipe) -> Schedule:
    """Return the learning-rate schedule of a recipe."""
    given = recipe.train.schedule
    if given.name == "noam":
        return NoamSchedule(given.dim, given.warmup or 4000)
    if given.name == "inverse_sqrt":
        return InverseSqrtSchedule(given.warmup or 4000)
    if given.name == "cosine":
        return CosineSchedule(recipe.train.updates, given.warmup, given.floor)
    if given.name == "steps":
        return StepSchedule(given.start, given.every, given.decay, given.warmup)
    if given.name == "plateau":
        return PlateauSchedule(given.decay, given.patience, given.warmup)
    return ConstantSchedule(given.warmup)
