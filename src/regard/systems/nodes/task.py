"""The task of node classification in one graph."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from rich.text import Text
from torch import Tensor, nn

from regard.data.batching.batch import Batch
from regard.data.batching.corpus import Corpus
from regard.data.batching.feed import Feed
from regard.data.example import Examples
from regard.data.fields.field import Field
from regard.data.fields.labels import LabelField, Labels
from regard.data.problems import DataError
from regard.decode.search import Search
from regard.explain.panel import GraphPanel, Panel
from regard.models.model_output import ModelOutput, log_softmax
from regard.nn.sparse_rows import SparseRows
from regard.ops.graph import GraphAttended
from regard.protocol import device_of
from regard.recipes.sections import Recipe
from regard.specials import IGNORE
from regard.systems.nodes.feed import GraphFeed
from regard.systems.nodes.gat import GAT
from regard.systems.nodes.graphs import Graph, Members
from regard.systems.nodes.graphs.graph import Ints
from regard.systems.nodes.sections import GraphSection
from regard.tasks.class_weights import ClassWeights
from regard.tasks.loss import Loss, token_loss
from regard.tasks.prediction import Prediction
from regard.tasks.task import FieldEncoders, Fields, Task
from regard.view.terminal import story_map

if TYPE_CHECKING:
    from regard.recipes.data_section import SplitName
    from regard.tasks.splits import Split

_NEAR, _FAR = 12, 6  # neighbours in a panel: of the node, and of each neighbour; largest weights first


@dataclass(frozen=True)
class NodeBatch:
    """Edges of the whole graph, and the nodes to classify with their labels."""

    edges: Tensor  # [2, E]
    asked: Tensor  # [M]
    label: Tensor  # [M]


@dataclass(frozen=True)
class Nodes(Task):
    r"""Node classification: the loss on labelled nodes of one graph, and the n most probable labels of any node.

    .. math:: L = -\sum_{i\, \text{asked}} \log p(y_i \mid \text{the whole graph})

    A batch is the whole graph: its features as `SparseRows`, `edges` [2, E], and the nodes to classify, `asked` [M],
    with their labels, `label` [M]. It does not contain the labels of other nodes.

    Attributes:
        graph: all nodes and edges.
        encoders: the labels of "label"; node names are not encoded.
        smoothing: label smoothing.
        weights: weights of the labels in the training loss; None for equal weights.
    """

    question: ClassVar[str] = "node"
    answer: ClassVar[str | None] = "label"
    unit: ClassVar[str] = "node"

    graph: Graph
    encoders: FieldEncoders
    smoothing: float = 0.0
    weights: ClassWeights | None = None

    @classmethod
    def of(cls, recipe: Recipe, encoders: FieldEncoders) -> Nodes:
        assert isinstance(recipe.data, GraphSection)
        return cls(recipe.data.graph(), encoders, recipe.train.label_smoothing)

    @classmethod
    def fields(cls, recipe: Recipe) -> dict[str, Field[Any]]:
        return {"label": LabelField()}

    @classmethod
    def corpus(cls, recipe: Recipe, found: Examples, fields: Fields, cache: Path) -> Corpus | None:
        """Return None: a batch is the whole graph."""
        return None

    @classmethod
    def check_labels(cls, found: Examples, corpus: Corpus | None, fields: Fields, split: SplitName) -> None:
        labels = fields["label"].learned
        if not any(example.fields["label"] in labels.names for example in found):
            raise DataError(
                f"no label of the split {split} occurs in the training data; look whether they are the same"
            )

    def training_feed(self, recipe: Recipe, split: Split) -> Feed:
        assert isinstance(split.examples, Members)
        return GraphFeed(self, split.examples)

    def measuring_feed(self, recipe: Recipe, split: Split, *, carries: bool) -> Feed:
        return self.training_feed(recipe, split)

    def example_batch(self, split: Split, number: int) -> Batch | None:
        assert isinstance(split.examples, Members)
        return self.batch(split.examples.numbers[number : number + 1])

    def longest_inputs(
        self, recipe: Recipe, splits: Mapping[str, Split | None], dropped: Collection[int]
    ) -> Iterator[tuple[str, int]]:
        return iter(())

    def drawing(self, prediction: Prediction) -> Text | None:
        """Render the neighbours of a node with their attention weights."""
        return None if prediction.alignment is None else story_map(prediction.alignment, prediction.source_tokens)

    def weighted(self, weights: ClassWeights) -> Nodes:
        return replace(self, weights=weights)

    def classes(self, text: str) -> list[str]:
        return [text]

    @property
    def sizes(self) -> tuple[int, int | None]:
        """Number of features per node, and number of labels."""
        return self.graph.width, self.labels.size

    @property
    def labels(self) -> Labels:
        """The set of labels."""
        labels = self.encoders["label"]
        assert isinstance(labels, Labels)
        return labels

    def unigram_loss(self, corpus: Corpus | None) -> float:
        """Return the entropy of the training labels."""
        _, counts = np.unique([self.graph.labels[number] for number in self.graph.parts["train"]], return_counts=True)
        shares = counts / counts.sum()
        return float(-(shares * np.log(shares)).sum())

    def incompatibility(self, other: Task) -> str | None:
        assert isinstance(other, Nodes)
        if other.graph.width != self.graph.width:
            return (
                f"have nodes of {other.graph.width} and of {self.graph.width} features; networks answer together for "
                "one graph"
            )
        return super().incompatibility(other)

    def data_warnings(self, model: nn.Module, corpus: Corpus | None) -> list[str]:
        """Return warnings about isolated nodes and skipped lines."""
        graph, said = self.graph, []
        if graph.isolated:
            said.append(f"{graph.isolated:,} of {len(graph.names):,} nodes have no edge: they read only themselves")
        if graph.skipped.count:
            said.append(str(graph.skipped))
        return said

    @cached_property
    def inputs(self) -> dict[str, Tensor]:
        """Tensors of the graph, by their names in a batch."""
        graph = self.graph
        values, columns, ends = map(torch.from_numpy, (graph.values, graph.columns, graph.row_ends))
        features = SparseRows.of(values, columns, ends, graph.width)
        return {**features.tensors(), "edges": torch.from_numpy(graph.edges)}

    def batch(self, numbers: Ints) -> Batch:
        """Return a batch of the whole graph with the given nodes to classify."""
        # Labels that do not occur in the training data are ignored in the loss.
        lenient = replace(self.labels, lenient=True)
        known = [self.graph.labels[number] for number in numbers.tolist()]
        ids = [IGNORE if label is None else lenient.encode(label)[0] for label in known]
        asked = {"asked": torch.from_numpy(numbers), "label": torch.tensor(ids, dtype=torch.long, device="cpu")}
        return Batch({**self.inputs, **asked}, tuple(numbers.tolist()), sum(one != IGNORE for one in ids))

    def loss(self, model: nn.Module, batch: Batch, *, update: int | None = None, state: Any = None) -> Loss:
        graph = batch.view(NodeBatch)
        predicted: ModelOutput = model(batch.view(SparseRows), graph.edges)
        smoothing, weights = (0.0, None) if update is None else (self.smoothing, self.weights)
        logits = predicted.logits.index_select(0, graph.asked)  # [M, classes]
        total, nll = token_loss(logits, graph.label, padding=IGNORE, smoothing=smoothing, weights=weights)
        return Loss(total, nll.detach(), batch.tokens)

    def predict(self, model: Any, texts: Sequence[str], search: Search, *, batch: int = 32) -> list[list[Prediction]]:
        numbers = [self.graph.number(text.strip()) for text in texts]
        logits, reads = self._answered(model)
        ranked = log_softmax(logits[numbers]).sort(dim=-1, descending=True, stable=True)
        scores, ids = ranked.values[:, : search.n_best].tolist(), ranked.indices[:, : search.n_best].tolist()
        looked = None if reads is None else _NodeWeights(reads[-1])
        answers: list[list[Prediction]] = []
        for text, number, row, chosen in zip(texts, numbers, scores, ids, strict=True):
            read, weights = ((), None) if looked is None else looked.of(number)
            names = tuple(self.graph.names[one] for one in read)
            found = zip(self.labels.decode(chosen), row, strict=True)
            answers.append(
                [Prediction(text, label, score, names, (label,), (score,), weights) for label, score in found]
            )
        return answers

    def panels(self, model: Any, text: str, search: Search, *, head: int | None = None) -> list[Panel]:
        """Return a panel of a node's neighbourhood: attention in the last layer, and its neighbours' in the one before.

        Args:
            model: the model.
            text: name of the node.
            search: settings of the search; not used.
            head: head of the layer before the last, from 1; None for the mean of all heads.
        """
        number = self.graph.number(text.strip())
        logits, reads = self._answered(model)
        if reads is None:
            raise ValueError("several models together attend to nothing that could be drawn; draw one of them")
        said = self.labels.decode(logits.argmax(-1).tolist())
        first = _NodeWeights(reads[-1])
        near, weights = first.of(number, most=_NEAR)
        shown, strengths = [number], {}
        for neighbour, weight in zip(near, weights[0].tolist(), strict=True):
            shown += [neighbour] if neighbour != number else []
            strengths[number, neighbour] = weight
        ring = [0] + [1] * (len(shown) - 1)
        if head is not None and len(reads) == 1:
            raise ValueError("a head is one of a layer before the last, and the network has one layer; leave it out")
        if len(reads) > 1:
            before = _NodeWeights(reads[-2], head)
            for neighbour in shown[1:]:
                far, weights = before.of(neighbour, most=_FAR)
                for other, weight in zip(far, weights[0].tolist(), strict=True):
                    if other not in shown:
                        shown.append(other)
                        ring.append(2)
                    strengths.setdefault((neighbour, other), weight)
        return [self._network(text.strip(), shown, ring, strengths, said)]

    def _network(
        self, name: str, shown: list[int], ring: list[int], strengths: dict[tuple[int, int], float], said: list[str]
    ) -> GraphPanel:
        place = {number: index for index, number in enumerate(shown)}
        values = torch.zeros(len(shown), len(shown), device="cpu")
        for (reader, read), weight in strengths.items():
            values[place[reader], place[read]] = weight
        labels = [self.graph.labels[number] or "" for number in shown]
        names = tuple(self.graph.names[number] for number in shown)
        known = f" (it is {labels[0]})" if labels[0] else ""
        return GraphPanel(
            f"{name} → {said[shown[0]]}{known}: whom it reads, and whom they read",
            values,
            down="reads",
            along="is read",
            rows=names,
            columns=names,
            places=_placed(ring, values),
            groups=tuple(labels),
        )

    def _answered(self, model: Any) -> tuple[Tensor, tuple[GraphAttended, ...] | None]:
        """Return the logits of all nodes, and the attention of all layers, None for an ensemble."""
        inputs = Batch(self.inputs, (), 0).to(device_of(model))
        with torch.inference_mode():
            if isinstance(model, GAT):
                trace = model.trace(inputs.view(SparseRows), inputs["edges"])
                return trace.logits.float().cpu(), trace.reads
            predicted: ModelOutput = model(inputs.view(SparseRows), inputs["edges"])
            return predicted.logits.float().cpu(), None


class _NodeWeights:
    """Attention weights of each node over its neighbours.

    Args:
        read: attention of a layer.
        head: number of the head, from 1; None for the mean of all heads.
    """

    def __init__(self, read: GraphAttended, head: int | None = None) -> None:
        weights = read.weights().float().cpu()
        if head is not None and not 1 <= head <= len(weights):
            raise ValueError(f"there is no head {head}; the layer has 1 to {len(weights)}")
        sources, targets = read.edges.cpu().numpy()
        chosen = (weights.mean(0) if head is None else weights[head - 1]).numpy()
        # Grouped by target, largest weight first, so that the neighbours of a node are one slice.
        order = np.lexsort((-chosen, targets))
        self._sources, self._weights = sources[order], chosen[order]
        self._ends = [0, *np.bincount(targets).cumsum().tolist()]

    def of(self, node: int, most: int | None = None) -> tuple[list[int], Tensor]:
        """Return the S neighbours of a node, including itself, largest weight first, and the weights [1, S]."""
        begin, end = self._ends[node], self._ends[node + 1]
        mine = slice(begin, end if most is None else min(end, begin + most))
        return self._sources[mine].tolist(), torch.from_numpy(self._weights[mine]).unsqueeze(0)


def _placed(ring: list[int], values: Tensor) -> Tensor:
    """Return a radial layout [N, 2]: the node in the centre, its neighbours around it, their neighbours outside."""
    angle = [0.0] * len(ring)
    inner = [place for place, distance in enumerate(ring) if distance == 1]
    reader = {far: int(values[inner, far].argmax()) for far, distance in enumerate(ring) if distance == 2}
    room = [1 + sum(one == number for one in reader.values()) for number in range(len(inner))]
    begin = 0
    for number, place in enumerate(inner):
        mine = [far for far, one in reader.items() if one == number]
        turn = 2 * math.pi / sum(room)
        angle[place] = turn * (begin + room[number] / 2)
        for index, far in enumerate(mine):
            angle[far] = turn * (begin + (index + 0.5) * room[number] / len(mine))
        begin += room[number]
    radius = torch.tensor([float(distance) for distance in ring], device="cpu")
    turned = torch.tensor(angle, device="cpu")
    return torch.stack((radius * turned.cos(), radius * turned.sin()), dim=1)  # [N, 2]
