"""Neural Turing Machines of several seeds trained as one: their parameters are stacked, and an update is one for all.

A median takes many runs, and small models leave the hardware idle: eight machines that sort learn in seven minutes on
an H200, and on a CPU a step of all machines can be compiled. Each learns as `regard train` lets it: the same beginning,
batches, steps and validations, and its best model is kept. Only rounding differs, and that gradients which overflow
count as zeros.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from accelerate.utils import set_seed
from rich.progress import track
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from regard.cpu_settings import reuse_freed_memory
from regard.data import Batch
from regard.data.batching.feed import BatchPosition, Feed
from regard.models.model_output import ModelOutput
from regard.nn.ntm_memory import NTMMemory, StackedMaps
from regard.nn.rnn import RecurrentState
from regard.nn.state import AttentionState
from regard.recipes.sections import Recipe
from regard.runs.run import Run
from regard.systems.bits.ntm import NTM, NTMState
from regard.tasks.build import make_model
from regard.tasks.setup import Setup, prepare
from regard.tasks.task import Task
from regard.train.cuda_graphs import UpdateGraphs
from regard.train.objective import Objective, make_optimizer, make_schedule

Joint = tuple[Tensor, Tensor]
"""The maps of all heads as one: weight and bias."""

Standing = tuple[Tensor, ...]
"""Where a machine stands: its tape, what was read, where its heads are, and the states of its controller."""


def begin(machine: NTM, batch: int) -> tuple[Joint, Standing]:
    """What is made once for a sequence, and where a machine stands before it."""
    joined, state = machine.heads.joined(), machine.start(batch)
    return (joined.weight, joined.bias), standing(replace(state, heads=machine.heads.start(state.tape)))


def advance(machine: NTM, sizes: list[int], x: Tensor, joint: Joint, before: Standing) -> tuple[Tensor, Standing]:
    """`NTM.step` on plain tensors, which can be stacked and compiled: x [B, I] -> h_t [B, C]."""
    tape, read, place, *controller = before
    state = NTMState(
        NTMMemory(tape), read, RecurrentState(*controller) if controller else None, AttentionState(1, (), (place,))
    )
    hidden, after = machine.step(x, state, StackedMaps(*joint, sizes))
    return hidden, standing(after)


def standing(state: NTMState) -> Standing:
    """The tensors of a state."""
    assert state.heads is not None
    (place,) = state.heads.align
    assert isinstance(place, Tensor)
    controller = () if state.controller is None else (state.controller.hidden, state.controller.cell)
    return (state.tape.matrix, state.read, place, *(part for part in controller if part is not None))


class Call(nn.Module):
    """A function of a machine as a module, so that other parameters can be put in the place of the machine's."""

    def __init__(self, machine: NTM, function: Callable[..., Any]) -> None:
        super().__init__()
        self.machine, self.function = machine, function

    def forward(self, *given: Any) -> Any:
        return self.function(self.machine, *given)


def of_all(machine: NTM, function: Callable[..., Any], *dims: int | None) -> Callable[..., Any]:
    """A function of a machine for all: of parameters [E, ...] by name, and of what stands along `dims` for each."""
    call = Call(machine, function)

    def one(parts: dict[str, Tensor], *given: Any) -> Any:
        return functional_call(call, parts, given)

    return vmap(one, in_dims=(0, *dims))


class SideBySide(Objective):
    """Machines of one kind as one.

    Args:
        models: they differ in nothing but their parameters.
        task: what they learn.
        compiled: whether a step is compiled, which is for a CPU and takes a C++ compiler.
    """

    def __init__(self, models: Sequence[NTM], task: Task, *, compiled: bool = False) -> None:
        stacked, _ = stack_module_state(list(models))
        super().__init__(nn.ParameterList(nn.Parameter(one.detach()) for one in stacked.values()), task)
        self.names = tuple(stacked)
        machine = models[0].to("meta")
        sizes = machine.heads.joined().sizes
        self._begin = of_all(machine, begin, None)
        self._step = of_all(machine, lambda own, *given: advance(own, sizes, *given), None, 0, 0)
        self._say = of_all(machine, NTM.say, 0, 0)
        if compiled:
            self._step = torch.compile(self._step, dynamic=False)

    def parts(self) -> dict[str, Tensor]:
        """The parameters by name, [E, ...]."""
        return dict(zip(self.names, self.parameters(), strict=True))

    def losses(self, batch: Batch) -> Tensor:
        """The loss of each model, summed over the batch: [E]."""

        def loss(logits: Tensor) -> Tensor:
            said: Any = lambda inputs: ModelOutput(logits)  # noqa: E731
            return self.task.loss(said, batch).total

        found: Tensor = vmap(loss)(self.said(batch["inputs"]))
        return found

    def said(self, inputs: Tensor) -> Tensor:
        """Inputs [B, T, I] -> the logits of each machine, [E, B, T, O]: `NTM.forward`, a step of all at a time."""
        parts = {f"machine.{name}": part for name, part in self.parts().items()}
        joint, now = self._begin(parts, len(inputs))
        now, hidden, reads = tuple(part.contiguous() for part in now), [], []
        with patch("torch.lstm_cell", lstm_cell):
            for x in inputs.unbind(1):
                one, now = self._step(parts, x.contiguous(), joint, now)
                hidden.append(one)
                reads.append(now[1])
        logits: Tensor = self._say(parts, torch.stack(hidden, dim=2), torch.stack(reads, dim=2))
        return logits

    def forward(self, batch: Batch, update: int, state: Any = None) -> tuple[Tensor, Tensor, Any]:
        """What all models together minimise; the gradients of each are its own."""
        total = self.losses(batch).sum()
        return total, total.detach(), None


def lstm_cell(
    x: Tensor, before: tuple[Tensor, Tensor], weight: Tensor, along: Tensor, bias: Tensor, along_bias: Tensor
) -> tuple[Tensor, Tensor]:
    """That of torch, whose fused form cannot be stacked."""
    hidden, cell = before
    gates = torch.addmm(bias, x, weight.mT) + torch.addmm(along_bias, hidden, along.mT)
    written, kept, new, shown = gates.chunk(4, dim=1)
    after = kept.sigmoid() * cell + written.sigmoid() * new.tanh()
    return shown.sigmoid() * after.tanh(), after


def train(recipes: Sequence[Recipe], runs: Path, device: torch.device, *, compiled: bool = False) -> None:
    """Leave a run of each recipe in a folder.

    Args:
        recipes: of one task, with batches that are drawn; they differ in `run` and `train.seed` alone.
        runs: where the folders of the runs go, when all are trained.
        device: where to train.
        compiled: whether a step is compiled, see `SideBySide`.
    """
    if device.type == "cpu":
        reuse_freed_memory()
    with tempfile.TemporaryDirectory() as cache:
        setup = prepare(recipes[0], Path(cache))
    models = SideBySide(list(begun(recipes, setup.task)), setup.task, compiled=compiled).to(device)
    best, rows = learn(models, recipes[0], setup, device)
    for number, recipe in enumerate(recipes):
        run = Run(runs / recipe.run)
        run.folder.mkdir(parents=True, exist_ok=True)
        run.begin(recipe)
        for step, bits in rows:
            run.metrics.add(step, "valid", bits_per_sequence=float(bits[number]))
        run.save_model({name: part[number].cpu().contiguous() for name, part in best.items()})


def begun(recipes: Sequence[Recipe], task: Task) -> Iterator[NTM]:
    """The models, as their runs begin with them."""
    for recipe in recipes:
        set_seed(recipe.train.seed)
        model = make_model(recipe, task)
        assert isinstance(model, NTM)
        yield model


def learn(
    models: SideBySide, recipe: Recipe, setup: Setup, device: torch.device
) -> tuple[dict[str, Tensor], list[tuple[int, Tensor]]]:
    """The parameters of the best models, and after which steps each had how many bits per sequence in validation."""
    given, feed = recipe.train, setup.feed
    graphs = UpdateGraphs(models) if device.type == "cuda" else UpdateGraphs(models, record=lambda run: run)
    optimizer, schedule = make_optimizer(given, models.parameters()), make_schedule(recipe)
    valid = setup.task.measuring_feed(recipe, setup.valid, carries=False)
    best = {name: part.detach().clone() for name, part in models.parts().items()}
    least, rows = torch.full((len(best[models.names[0]]),), math.inf, device=device), []
    steps = track(range(1, given.steps + 1), description=recipe.run)
    for step, place in zip(steps, feed.after(0, 0), strict=False):
        for group in optimizer.param_groups:
            group["lr"] = given.optimizer.rate * schedule.factor(step)
        optimizer.zero_grad(set_to_none=False)
        graphs.learn(feed.batch(place).to(device), step - 1, 1.0 / feed.tokens(place))
        clip([part.grad for part in models.parameters() if part.grad is not None], given.clip)
        optimizer.step()
        if step % given.valid_every == 0 or step == given.steps:
            found = validate(models, valid, device)
            for name, part in models.parts().items():
                best[name][found < least] = part.detach()[found < least]
            least = torch.fmin(least, found)
            rows.append((step, found))
            print(f"step {step:,}, bits in validation: {' '.join(f'{one:.4g}' for one in found.tolist())}", flush=True)
    return best, rows


def clip(gradients: Sequence[Tensor], most: float | None) -> None:
    """Shorten the gradients [E, ...] of each model to a norm of `most`; those that are not finite become zeros."""
    length = torch.stack([one.flatten(1).square().sum(1) for one in gradients]).sum(0).sqrt()
    share = torch.ones_like(length) if most is None else (most / (length + 1e-6)).clamp(max=1.0)
    finite = length.isfinite()
    for one in gradients:
        each = (-1, *[1] * (one.dim() - 1))
        one.copy_(torch.where(finite.view(each), one * share.view(each), 0.0))


def validate(models: SideBySide, feed: Feed, device: torch.device) -> Tensor:
    """Bits per sequence of each model, [E]."""
    with torch.no_grad():
        batches = [feed.batch(BatchPosition(0, number)).to(device) for number in range(feed.per_epoch)]
        total = torch.stack([models.losses(batch) for batch in batches]).sum(0)
    return total / sum(batch.size for batch in batches) / math.log(2)
