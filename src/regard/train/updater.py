"""Updater: one optimizer step, over all processes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.data import Batch
from regard.data.batching.feed import BatchPosition
from regard.data.batching.order import splitmix64
from regard.runs.checkpoint import Progress
from regard.runs.sharded_tensors import gather_tensor
from regard.tasks.nan_locator import NotFiniteError, describe_examples, locate
from regard.train.signals import STOPPING
from regard.train.training_session import TrainingSession, first_signal

_MOST_OVERFLOWS = 20


class UpdateResult(NamedTuple):
    """Outcome of an update, the same on all processes.

    Attributes:
        nll: summed -log p.
        tokens: number of target tokens.
        signal: signal to stop that any process received; None without one.
        due: True if the interval between two checkpoints has passed.
    """

    nll: float
    tokens: int
    signal: int | None
    due: bool


class Updater:
    """Makes updates: accumulates gradients, clips them, and steps the optimizer.

    Random numbers in an update are a function of seed, step and process.
    """

    def __init__(self, session: TrainingSession) -> None:
        self.session = session

    def update(self, places: Sequence[BatchPosition], progress: Progress) -> UpdateResult:
        """Accumulate the gradients of the batches at these positions, then step the optimizer."""
        session, train = self.session, self.session.recipe.train
        rate = train.optimizer.rate * session.schedule.factor(progress.step + 1)
        for settings in session.optimizer.param_groups:
            settings["lr"] = rate
        self._seed(progress.step)
        # CUDA graphs accumulate into gradients at fixed addresses, so these are zeroed and not freed.
        session.optimizer.zero_grad(set_to_none=session.graphs is None)
        tokens = sum(session.feed.tokens(place) for place in places)
        # A single all-reduce: -log p, and numbers of processes with an overflow, a due checkpoint and each signal.
        total = torch.zeros(3 + len(STOPPING), device=session.device)
        total[0] = self._accumulate(places, progress, tokens)
        due = time.monotonic() - session.checkpointed >= train.checkpoint_seconds
        total[2] = float(due and session.is_main)  # only the main process's clock decides
        total[3:] = session.signal_flags()  # reduced, so that all processes stop after the same step
        if train.clip is not None:
            norm = session.accelerator.clip_grad_norm_(session.model.parameters(), train.clip)
            total[1] = ~torch.isfinite(gather_tensor(norm) if session.sharded else norm)
        nll, overflowed, late, *signalled = session.accelerator.reduce(total).tolist()
        progress.overflows = progress.overflows + 1 if overflowed else 0
        if overflowed:
            self._skip(progress)
        else:
            session.optimizer.step()
        return UpdateResult(nll, tokens, first_signal(signalled), late > 0)

    def _accumulate(self, places: Sequence[BatchPosition], progress: Progress, tokens: int) -> Tensor:
        """Accumulate the gradients of the mean loss per token; return the -log p of this process's rows."""
        session = self.session
        world, rank = session.accelerator.num_processes, session.accelerator.process_index
        nll_sum = torch.zeros((), device=session.device)
        for place in places:
            mine = session.feed.batch(place, rank, world)
            # A process without rows computes those of rank 0 with weight 0, so that collective operations match.
            weight = 1.0 if mine.size else 0.0
            batch = (mine if mine.size else session.feed.batch(place, 0, world)).to(session.device)
            before = None if batch.begins else session.carried  # a new text starts from the initial state
            # `world` undoes the averaging of gradients over processes; losses are sums, so divide by the tokens.
            with tf32_products(session.device, allowed=session.recipe.train.precision == "tf32"):
                loss, nll, after = self._backward(batch, progress.step, before, weight * world / max(tokens, 1))
            if not torch.isfinite(loss):
                raise self._not_finite(batch, place, before, progress)
            nll_sum += weight * nll
            session.carried = after if mine.size else None
        return nll_sum

    def _backward(self, batch: Batch, step: int, before: Any, scale: float) -> tuple[Tensor, Tensor, Any]:
        """Add the gradients of `scale` times the loss of a batch; return loss, -log p and the next state."""
        session = self.session
        if session.graphs is not None and session.graphs.has_room_for(batch, before):
            return session.graphs.learn(batch, step, scale, before)
        loss, nll, after = session.objective(batch, step, before)
        session.accelerator.backward(loss * scale)
        return loss, nll, after

    def _seed(self, step: int) -> None:
        """Seed an update; `torch.manual_seed` is avoided because it queues a call per unavailable device type."""
        session = self.session
        steps = np.array([step], np.uint64)
        seed = int(splitmix64(steps, session.recipe.train.seed, session.accelerator.process_index)[0])
        torch.default_generator.manual_seed(seed)
        if session.device.type != "cpu":
            torch.get_device_module(session.device).manual_seed(seed)

    def _skip(self, progress: Progress) -> None:
        """Report an update that is skipped because its gradients overflowed; raise after too many in a row."""
        if progress.overflows > _MOST_OVERFLOWS:
            raise NotFiniteError(
                f"the gradients overflowed in {progress.overflows} updates in a row, up to step {progress.step + 1}; "
                "try a smaller train.optimizer.rate"
            )
        self.session.screen.notice(f"the gradients overflowed at step {progress.step + 1}: this update is left out")

    def _not_finite(self, batch: Batch, place: BatchPosition, before: Any, progress: Progress) -> NotFiniteError:
        """Return the error for a loss that is not finite, with the module and the batch where it arose."""
        session = self.session
        if session.sharded:  # the search needs all processes, and the others continue
            where = "a module that train.sharding=none would name"
        else:
            where = locate(session.model, lambda: session.task.loss(session.model, batch, state=before))
        return NotFiniteError(
            f"the loss is not finite at step {progress.step + 1}: it arose in {where}, in the batch at epoch "
            f"{place.epoch}, position {place.position} ({describe_examples(batch, session.task.question)}); "
            "try a smaller train.optimizer.rate or train.clip"
        )


@contextmanager
def tf32_products(device: torch.device, *, allowed: bool) -> Iterator[None]:
    """If `allowed`, let tensor cores round the factors of float32 products to TF32 (11 bits) inside this context.

    >>> with tf32_products(torch.device("cpu"), allowed=True):
    ...     torch.get_float32_matmul_precision()
    'highest'
    """
    before = torch.get_float32_matmul_precision()
    if allowed and device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
