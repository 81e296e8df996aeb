"""Training updates captured in one CUDA graph per batch shape, so that the GPU does not wait for Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.cuda_capture import recording
from regard.data.batching.batch import Batch
from regard.data.fields.padding import PaddingRule
from regard.nn.aligners import Hard
from regard.nn.checkpointing import Checkpointed
from regard.runs.folder import RunError
from regard.tasks.task import Task
from regard.train.objective import Objective
from regard.train.state_io import named_tensors, with_tensors

MOST = 128
"""Maximum number of captured shapes; batches of further shapes run in eager mode."""

LARGE = 50_000_000
"""Number of parameters from which a model that processes all positions in parallel runs in eager mode."""

Recorder = Callable[[Callable[[], None]], Callable[[], None]]
"""Captures a function; returns a function that replays it on the same tensors."""


Sizes = tuple[tuple[str, tuple[int, ...]], ...]
"""Names and shapes of tensors."""


def recorded_sizes(batch: Batch) -> Sizes:
    """Return the sizes in which a batch is captured: axes that may be padded are rounded up, others are unchanged.

    >>> ids, target = torch.ones(128, 30), torch.ones(128, 31)
    >>> padding = {"source": PaddingRule(0, (0, 0)), "target": PaddingRule(0, (0, 1))}
    >>> recorded_sizes(Batch({"source": ids, "target": target}, tuple(range(128)), 3840, padding=padding))
    (('source', (128, 32)), ('target', (128, 33)))
    """
    return tuple((name, _grown(tensor, batch.padding.get(name))) for name, tensor in batch.tensors.items())


def _grown(tensor: Tensor, padding: PaddingRule | None) -> tuple[int, ...]:
    if padding is None:
        return tuple(tensor.shape)
    axes = zip(tensor.shape, padding.grows, strict=True)
    return tuple(size if beside is None else round_up_size(size - beside) + beside for size, beside in axes)


def round_up_size(size: int) -> int:
    """Round up to a multiple of 4, or of an eighth of the power of two below: few shapes with little padding.

    >>> [round_up_size(size) for size in (1, 30, 128, 130, 300)]
    [4, 32, 128, 144, 320]
    """
    step = max(4, (1 << size.bit_length()) >> 4)
    return -(-size // step) * step


def is_host_bound(model: nn.Module, task: Task) -> bool:
    """Return True if a GPU would wait for Python: for models unrolled step by step, and for all small ones.

    The kernels of a large model take longer than their launches, and captured batches have more padding. Embeddings do
    not count as parameters, because a batch looks up only a few rows.
    """
    unrolling = task.unrolling(model)
    if unrolling != "at once":
        return unrolling == "steps"
    looked_up = sum(module.weight.numel() for module in model.modules() if isinstance(module, nn.Embedding))
    return sum(parameter.numel() for parameter in model.parameters()) - looked_up < LARGE


def obstacle(model: nn.Module, task: Task) -> str | None:
    """Return why the updates of a model cannot be captured; None if they can."""
    if (why := task.cuda_graph_obstacle(model)) is not None:
        return why
    if any(isinstance(module, Checkpointed) and module.recomputes for module in model.modules()):
        return "train.gradient_checkpointing computes activations again, which a recording cannot"
    if any(isinstance(module, Hard) for module in model.modules()):
        return "hard attention decides on the way what it computes"
    return None


@dataclass
class CapturedUpdate:
    """Captured update for one batch shape.

    Attributes:
        batch: static input tensors, overwritten before each replay.
        before: static tensors of the initial recurrent state; None at the start of a text.
        after: final recurrent state, written by each replay; None if there is none.
        replay: computes the loss, the gradients and `after` from `batch` and `before`.
    """

    batch: Batch
    before: Any
    after: Any = None
    replay: Callable[[], None] = lambda: None


class UpdateGraphs:
    """Forward and backward passes captured per batch shape and replayed.

    A batch is copied into static tensors of the captured shape. The remainder is padding, which changes neither loss
    nor gradients. Each replay samples new dropout masks from the current state of the generator, so that a resumed run
    equals an uninterrupted one.

    The initial recurrent state of a window is copied likewise. Its shape is part of the key, because a tape is shorter
    at the start of a text. Gradients are added to `parameter.grad` in place, so clear them with
    `zero_grad(set_to_none=False)`.

    Args:
        objective: model and loss.
        record: captures a function; None for CUDA graphs.
        most: maximum number of captured shapes.
    """

    def __init__(self, objective: Objective, *, record: Recorder | None = None, most: int = MOST) -> None:
        self.objective = objective
        self.record = CudaUpdateGraphs() if record is None else record
        self.most = most
        self.device = next(objective.parameters()).device
        self._scale = torch.zeros((), device=self.device)
        self._losses = torch.zeros(2, device=self.device)
        self._recorded: dict[Sizes, CapturedUpdate] = {}

    def __len__(self) -> int:
        """Number of captured shapes."""
        return len(self._recorded)

    def has_room_for(self, batch: Batch, before: Any = None) -> bool:
        """Return True if the shape of a batch is captured, or can still be captured."""
        return _shape(batch, before) in self._recorded or len(self._recorded) < self.most

    def learn(self, batch: Batch, update: int, scale: float, before: Any = None) -> tuple[Tensor, Tensor, Any]:
        """Add the gradients of `scale` times the loss; return what the objective returns: (loss, -log p, state)."""
        shape = _shape(batch, before)
        if shape not in self._recorded:
            self._recorded[shape] = self._new(batch, update, before)
        recorded = self._recorded[shape]
        write(batch, recorded.batch)
        for name, tensor in _named(before).items():
            _named(recorded.before)[name].copy_(tensor)
        self._scale.fill_(scale)
        recorded.replay()
        total, nll = self._losses.clone()  # the next replay overwrites the static tensor
        return total, nll, _copied(recorded.after)

    def _new(self, batch: Batch, update: int, before: Any) -> CapturedUpdate:
        new = CapturedUpdate(padding_batch(batch, recorded_sizes(batch), self.device), _copied(before))
        write(batch, new.batch)
        self._scale.zero_()  # the warm-up run before the capture must not change the gradients
        # The warm-up must not advance the generator, or a run that captures a shape would differ from a resumed one.
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            new.replay = self.record(lambda: self._learn(new, update))
        return new

    def _learn(self, recorded: CapturedUpdate, update: int) -> None:
        with recording():
            total, nll, recorded.after = self.objective(recorded.batch, update, recorded.before)
        parameters = [parameter for parameter in self.objective.parameters() if parameter.requires_grad]
        # Not `backward`: gradients must exist before the capture, at addresses that all graphs share.
        found = torch.autograd.grad(total * self._scale, parameters, allow_unused=True)
        held: list[Tensor] = []
        for parameter, gradient in zip(parameters, found, strict=True):
            if gradient is not None and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            if gradient is not None and parameter.grad is not None:
                held.append(parameter.grad)
        # One fused kernel instead of one addition per parameter.
        torch._foreach_add_(held, [gradient for gradient in found if gradient is not None])
        self._losses.copy_(torch.stack((total.detach().float(), nll.float())))


def _shape(batch: Batch, before: Any) -> Sizes:
    """Return the key of a captured update: the sizes of a batch and of its initial state."""
    return *recorded_sizes(batch), *((f"before.{name}", tuple(tensor.shape)) for name, tensor in _named(before).items())


def _named(state: Any) -> dict[str, Tensor]:
    """Return the tensors of a state by name; empty without a state."""
    return {} if state is None else named_tensors(state)


def _copied(state: Any) -> Any:
    """Return a copy of a state."""
    copies = {name: tensor.clone() for name, tensor in _named(state).items()}
    return None if state is None else with_tensors(state, copies)


class CudaUpdateGraphs:
    """Captures functions as CUDA graphs, which share one memory pool, because only one runs at a time."""

    def __init__(self) -> None:
        self._pool: Any = torch.cuda.graph_pool_handle()
        self._beside = torch.cuda.Stream()

    def __call__(self, run: Callable[[], object]) -> Callable[[], None]:
        # A capture needs a stream other than the default one; both streams wait for each other around the warm-up.
        self._beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._beside):
            run()  # warm-up: libraries select kernels and allocate workspaces, which cannot be captured
        torch.cuda.current_stream().wait_stream(self._beside)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool):
                run()
        except RuntimeError as error:
            why = str(error).partition("\n")[0]
            raise RunError(
                f"an update cannot be recorded as a CUDA graph ({why}); give train.cuda_graphs=false"
            ) from error
        replay: Callable[[], None] = graph.replay
        return replay


def padding_batch(batch: Batch, sizes: Sizes, device: torch.device) -> Batch:
    """Return a batch of padding with tensors of these sizes."""
    tensors = {
        name: torch.full(size, _padding_value(batch, name), dtype=batch[name].dtype, device=device)
        for name, size in sizes
    }
    return replace(batch, tensors=tensors, indices=tuple(range(sizes[0][1][0])), tokens=0, begins=True)


def write(batch: Batch, place: Batch) -> None:
    """Copy a batch into the leading part of a larger one, and fill the remainder with padding.

    >>> tensors = {"source": torch.tensor([[5, 6]]), "source_lengths": torch.tensor([2])}
    >>> batch = Batch(tensors, (0,), 0, padding={"source": PaddingRule(9, (0, 0))})
    >>> place = padding_batch(batch, (("source", (2, 3)), ("source_lengths", (2,))), torch.device("cpu"))
    >>> write(batch, place)
    >>> place["source"].tolist(), place["source_lengths"].tolist()
    ([[5, 6, 9], [9, 9, 9]], [2, 0])
    """
    for name, tensor in place.tensors.items():
        given = batch[name]
        tensor.fill_(_padding_value(batch, name))  # overwrites the previous batch, which may have been larger
        tensor[tuple(slice(size) for size in given.shape)].copy_(given)


def _padding_value(batch: Batch, name: str) -> float:
    return batch.padding[name].value if name in batch.padding else 0
