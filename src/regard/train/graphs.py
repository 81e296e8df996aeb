"""Updates that are recorded once for each shape of batch and replayed, so that a GPU does not wait for Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.data.batch import Batch
from regard.models.bidirectional import Bidirectional
from regard.models.generator import EncoderDecoder
from regard.nn.aligners import Hard
from regard.nn.recording import recording
from regard.specials import PAD
from regard.tasks.task import Task
from regard.tasks.translation import Translation
from regard.train.folder import RunError
from regard.train.update import Objective

MOST = 128
"""Shapes that are recorded; batches of further ones are computed as they come."""

LARGE = 50_000_000
"""Parameters from which a model that learns all words at once is computed as it comes."""

Recorder = Callable[[Callable[[], None]], Callable[[], None]]
"""Something to do -> something that does it again, on the same tensors."""


class Shape(NamedTuple):
    """Sentences, source words, and target words that are read."""

    sentences: int
    source: int
    target: int

    @staticmethod
    def of(batch: Batch) -> Shape:
        """The shape that a batch is recorded in: its own, each size rounded up.

        >>> batch = Batch({"source": torch.ones(128, 30), "target": torch.ones(128, 31)}, tuple(range(128)), 3840)
        >>> Shape.of(batch)
        Shape(sentences=128, source=32, target=32)
        """
        (sentences, source), target = batch.source.shape, batch.target.shape[1] - 1
        return Shape(rounded(sentences), rounded(source), rounded(target))


def rounded(size: int) -> int:
    """The next multiple of 4, or of an eighth of the power of two below: few shapes, little padding.

    >>> [rounded(size) for size in (1, 30, 128, 130, 300)]
    [4, 32, 128, 144, 320]
    """
    step = max(4, (1 << size.bit_length()) >> 4)
    return -(-size // step) * step


def waited_for(model: nn.Module, task: Task) -> bool:
    """Whether a GPU would wait for Python: for a model that learns step by step, and for any that is not large.

    What a large one computes takes longer than to name it, and recorded batches have more padding. Embeddings do not
    count: a batch reads a few of their rows.
    """
    if isinstance(model, Bidirectional):
        return waited_for(model.forward_model, task)
    if not isinstance(task, Translation) or not isinstance(model, EncoderDecoder):
        return False
    looked_up = sum(module.weight.numel() for module in model.modules() if isinstance(module, nn.Embedding))
    return not model.at_once or sum(parameter.numel() for parameter in model.parameters()) - looked_up < LARGE


def obstacle(model: nn.Module, task: Task) -> str | None:
    """Why the updates of a model cannot be recorded; None if they can."""
    if isinstance(task, Translation) and task.exposure.sampling is not None:
        return "train.exposure.sampling changes from one to the next"
    if any(isinstance(module, Hard) for module in model.modules()):
        return "hard attention decides on the way what it computes"
    return None


class Graphs:
    """The loss of a batch and its gradients, replayed from a recording of a batch of the same shape.

    A batch is written into tensors of the recorded shape; what they have more is padding, which changes neither loss
    nor gradients. Each replay draws dropout anew, from the generator as it is seeded then, so that a run that goes on
    is the run that was not stopped. Gradients are added to those that the parameters have, which stay where they are:
    clear them with `zero_grad(set_to_none=False)`.

    Args:
        objective: what is minimised.
        record: how; None for CUDA graphs.
        most: shapes that are recorded.
    """

    def __init__(self, objective: Objective, *, record: Recorder | None = None, most: int = MOST) -> None:
        self.objective = objective
        self.record = CudaGraphs() if record is None else record
        self.most = most
        self.device = next(objective.parameters()).device
        self._scale = torch.zeros((), device=self.device)
        self._losses = torch.zeros(2, device=self.device)
        self._recorded: dict[Shape, tuple[Batch, Callable[[], None]]] = {}

    def __len__(self) -> int:
        """How many shapes are recorded."""
        return len(self._recorded)

    def has_room_for(self, batch: Batch) -> bool:
        """Whether a batch can be learned from: its shape is recorded, or there is room for it."""
        return Shape.of(batch) in self._recorded or len(self._recorded) < self.most

    def learn(self, batch: Batch, update: int, scale: float) -> tuple[Tensor, Tensor]:
        """Add the gradients of `scale` times the loss; (what is minimised, -log p), as the objective gives them."""
        shape = Shape.of(batch)
        if shape not in self._recorded:
            self._recorded[shape] = self._new(shape, batch, update)
        place, replay = self._recorded[shape]
        write(batch, place)
        self._scale.fill_(scale)
        replay()
        total, nll = self._losses.clone()
        return total, nll

    def _new(self, shape: Shape, batch: Batch, update: int) -> tuple[Batch, Callable[[], None]]:
        place = blank(shape, self.device)
        write(batch, place)
        self._scale.zero_()  # what is computed to be recorded adds nothing to the gradients
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
            return place, self.record(lambda: self._learn(place, update))

    def _learn(self, batch: Batch, update: int) -> None:
        with recording():
            total, nll, _ = self.objective(batch, update)
        parameters = [parameter for parameter in self.objective.parameters() if parameter.requires_grad]
        found = torch.autograd.grad(total * self._scale, parameters, allow_unused=True)
        held: list[Tensor] = []
        for parameter, gradient in zip(parameters, found, strict=True):
            if gradient is not None and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            if gradient is not None and parameter.grad is not None:
                held.append(parameter.grad)
        torch._foreach_add_(held, [gradient for gradient in found if gradient is not None])
        self._losses.copy_(torch.stack((total.detach().float(), nll.float())))


class CudaGraphs:
    """Records as CUDA graphs, which share the memory of what they compute, since only one runs at a time."""

    def __init__(self) -> None:
        self._pool: Any = torch.cuda.graph_pool_handle()
        self._beside = torch.cuda.Stream()

    def __call__(self, run: Callable[[], None]) -> Callable[[], None]:
        self._beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._beside):
            run()  # libraries choose their kernels and make room for them, which cannot be recorded
        torch.cuda.current_stream().wait_stream(self._beside)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool):
                run()
        except RuntimeError as error:
            why = str(error).partition("\n")[0]
            raise RunError(f"an update cannot be recorded as a CUDA graph ({why}); give train.graphs=false") from error
        return graph.replay


def blank(shape: Shape, device: torch.device) -> Batch:
    """A batch of nothing but padding."""
    sizes = {"source": (shape.sentences, shape.source), "target": (shape.sentences, shape.target + 1)}
    tensors = {name: torch.full(size, PAD, device=device) for name, size in sizes.items()}
    tensors["source_lengths"] = torch.zeros(shape.sentences, dtype=torch.long, device=device)
    return Batch(tensors, tuple(range(shape.sentences)), 0)


def write(batch: Batch, place: Batch) -> None:
    """Copy a batch into the corner of a larger one; the rest of that becomes padding.

    >>> place = blank(Shape(2, 3, 1), torch.device("cpu"))
    >>> tensors = {"source": torch.tensor([[5, 6]]), "source_lengths": torch.tensor([2]), "target": torch.tensor([[2]])}
    >>> write(Batch(tensors, (0,), 0), place)
    >>> place.source.tolist(), place.source_lengths.tolist(), place.target.tolist()
    ([[5, 6, 0], [0, 0, 0]], [2, 0], [[2, 0], [0, 0]])
    """
    for name, tensor in place.tensors.items():
        given = batch[name]
        tensor.fill_(0 if name == "source_lengths" else PAD)
        tensor[tuple(slice(size) for size in given.shape)].copy_(given)
