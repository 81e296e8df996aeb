"""Memory footprint of an update, estimated from a few rows of its largest batch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from regard.data.batching.batch import Batch
from regard.data.batching.feed import BatchPosition, ExampleFeed, Feed
from regard.recipes.sections import Recipe
from regard.tasks.setup import Setup
from regard.train.objective import Objective

_LAST = 10**6  # update that is simulated if the number of updates is unknown
_TRIED = 64  # batches searched for the largest one, if not all lengths are known
_FEW, _MORE = 4, 8  # rows that are measured; with a single row there is no padding and fewer copies


@dataclass(frozen=True)
class Footprint:
    """Memory of one update, in bytes.

    Attributes:
        parameters: bytes of the weights, and of their gradients.
        optimizer: bytes of the optimizer state.
        activations: bytes that autograd saves in the forward pass.
        batch: batch of the first epoch with the most activations.
    """

    parameters: int
    optimizer: int
    activations: int
    batch: Batch

    @property
    def gradients(self) -> int:
        """Bytes of the gradients."""
        return self.parameters

    @property
    def total(self) -> int:
        """Bytes in use at the start of the backward pass, without the temporary tensors of that pass."""
        return self.parameters + self.gradients + self.optimizer + self.activations


def forecast(recipe: Recipe, setup: Setup, model: nn.Module) -> Footprint:
    """Estimate the memory of the largest update of the first epoch, by running a few rows of its batch on the CPU."""
    objective = Objective.of(model, setup.task, recipe.train).train()
    update = (recipe.train.steps or _LAST) - 1  # at the end of training, when scheduled sampling is strongest
    batches = [setup.feed.batch(place) for place in large_places(setup.feed)]
    most, number = max((activations(objective, batch, update), number) for number, batch in enumerate(batches))
    weights = sum(parameter.nbytes for parameter in model.parameters())
    given = recipe.train.optimizer
    moments = {"sgd": 0, "nt_asgd": 1}.get(given.name, 2)
    moments += bool(given.momentum and given.name in ("sgd", "nt_asgd", "rmsprop"))
    return Footprint(weights, moments * weights, most, batches[number])


def large_places(feed: Feed) -> list[BatchPosition]:
    """Return the batches of the first epoch with the most positions and the most pairs of positions (attention)."""
    feed = feed.unwrapped
    if not isinstance(feed, ExampleFeed):
        return [max((BatchPosition(0, number) for number in range(min(_TRIED, feed.per_epoch))), key=feed.tokens)]
    lengths = [feed.batches.lengths[rows] for rows in feed.batches.epoch(0)]
    sizes = [(len(rows), int(rows.max(0).sum()), int(rows.sum())) for rows in lengths]
    places = range(len(sizes))
    cells = max(places, key=lambda place: (sizes[place][0] * sizes[place][1], sizes[place][2]))
    pairs = max(places, key=lambda place: (sizes[place][0] * sizes[place][1] ** 2, sizes[place][2]))
    return [BatchPosition(0, place) for place in sorted({cells, pairs})]


def activations(objective: Objective, batch: Batch, update: int) -> int:
    """Estimate the bytes that autograd saves for a batch, by linear extrapolation from a few of its rows.

    Both measurements include the shortest and the longest row, so that padding is treated as in the whole batch.
    """
    if batch.size <= _MORE or "edges" in batch:  # the nodes of a graph cannot be separated into rows
        return saved_bytes(objective, batch, update)
    few, more = (saved_bytes(objective, _spread_rows(batch, count), update) for count in (_FEW, _MORE))
    return few + (more - few) * (batch.size - _FEW) // (_MORE - _FEW)


def saved_bytes(objective: Objective, batch: Batch, update: int) -> int:
    """Return the bytes that autograd saves in a forward pass, without parameters and batch."""
    kept: dict[int, int] = {}
    known = {_storage(tensor)[0] for tensor in (*objective.parameters(), *batch.tensors.values())}

    def keep(tensor: Tensor) -> Tensor:
        place, size = _storage(tensor)
        if place not in known:
            kept[place] = size
        return tensor

    # Several saved tensors may be views of one storage, which is counted once.
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        held = objective(batch, update)  # keep the graph alive, so that no address of a storage is reused
    del held
    return sum(kept.values())


def _storage(tensor: Tensor) -> tuple[int, int]:
    """Return address and size of a tensor's storage; a saved view keeps the whole storage alive."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def _spread_rows(batch: Batch, count: int) -> Batch:
    """Return some rows of a batch, evenly spread from the shortest to the longest, with the padding of the batch."""
    lengths = sum(
        (tensor for name, tensor in batch.tensors.items() if name.endswith("_lengths")), torch.zeros(batch.size)
    )
    rows = lengths.argsort(stable=True)[torch.linspace(0, batch.size - 1, count).round().long()]
    tensors = {name: tensor[rows] for name, tensor in batch.tensors.items()}
    return replace(batch, tensors=tensors, indices=tuple(batch.indices[row] for row in rows.tolist()))
