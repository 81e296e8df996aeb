"""Field of small graphs: nodes with texts, and labelled edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from regard.data.fields.column import Column, EncodedRows, Ints, Part, all_below, concatenate_rows
from regard.data.fields.field import Field
from regard.data.fields.padding import PER_EXAMPLE, PaddedArray, PaddingRule, nested, table
from regard.data.fields.record import NamedTexts
from regard.data.fields.sentences import encoded_sentences
from regard.data.fields.tokens import Learner, learn_words
from regard.data.problems import DataError
from regard.specials import IGNORE, PAD


class Edge(NamedTuple):
    """A directed edge: the indices of two nodes, from 0, and its label."""

    source: int
    target: int
    label: str = ""


class GraphValue(NamedTuple):
    """The graph of an example: the text of each node, and the edges."""

    nodes: Sequence[str]
    edges: Sequence[tuple[int, int, str]]


@dataclass(frozen=True)
class GraphField(Field[NamedTexts]):
    """One graph per example: texts of nodes [B, N, J] and their number [B]; edges, their labels and their number.

    Edges are in `<field>_edges` [B, E, 2], padded with -100, their labels in `<field>_labels` [B, E], and their number
    in `<field>_edges_lengths` [B]. The names of the encoder are the edge labels.

    Attributes:
        learner: function that learns a tokenizer from the texts of nodes.

    >>> from regard.data.fields.tokenizer import Tokenizer
    >>> field = GraphField(NamedTexts(("likes",), Tokenizer.train(["Ada Bob"], kind="words")))
    >>> {name: part.values.tolist() for name, part in field.encode([(["Ada", "Bob"], [(0, 1, "likes")])]).items()}
    {'ids': [4, 3, 5, 3], 'edges': [[0, 1]], 'labels': [2]}
    """

    learner: Learner = field(default=learn_words, repr=False, compare=False)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("ids"), Part("edges", inner=(2,)), Part("labels"))

    def learn(self, values: Iterable[Any]) -> NamedTexts:
        graphs = [_checked(value) for value in values]
        if not graphs:
            raise DataError("there are no graphs in the training data")
        labels = tuple(sorted({edge[2] for graph in graphs for edge in graph.edges}))
        return NamedTexts(labels, self.learner(chain.from_iterable(graph.nodes for graph in graphs)))

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        graphs, encoder = [_checked(value) for value in values], self.learned
        texts = encoded_sentences([graph.nodes for graph in graphs], encoder.tokenizer.encode_all)
        pairs = np.array([edge[:2] for graph in graphs for edge in graph.edges], np.int32).reshape(-1, 2)  # [E, 2]
        labels = concatenate_rows([encoder.ids(edge[2] for edge in graph.edges) for graph in graphs], "int32")
        return {"ids": concatenate_rows(texts, "int32"), "edges": EncodedRows(pairs, labels.counts), "labels": labels}

    def cells(self, column: Column) -> Ints:
        return column.counts("ids")

    def predicted(self, column: Column) -> Ints:
        return column.counts("ids")

    def fits(self, column: Column) -> bool:
        ids, labels = column.values["ids"], column.values["labels"]
        return self.encoder is None or (all_below(ids, self.encoder.size) and all_below(labels, self.encoder.num_names))

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        words, nodes = nested(column.rows("ids", examples))
        begins = column.offsets["edges"][examples]
        counts = column.offsets["edges"][examples + 1] - begins
        ends = [table(column.values["edges"][:, end], begins, counts, pad=IGNORE) for end in (0, 1)]
        labels = table(column.values["labels"], begins, counts, pad=PAD)
        return {
            name: PaddedArray(words, PaddingRule(PAD, (0, 0, 0))),
            f"{name}_lengths": PaddedArray(nodes, PER_EXAMPLE),
            f"{name}_edges": PaddedArray(np.stack(ends, axis=2), PaddingRule(IGNORE, (0, 0, None))),  # [B, E, 2]
            f"{name}_labels": PaddedArray(labels, PaddingRule(PAD, (0, 0))),
            f"{name}_edges_lengths": PaddedArray(counts, PER_EXAMPLE),
        }


def _checked(value: Any) -> GraphValue:
    try:
        nodes, edges = value
        graph = GraphValue(list(nodes), [Edge(int(edge[0]), int(edge[1]), *map(str, edge[2:])) for edge in edges])
    except (TypeError, ValueError, IndexError):
        raise DataError(f"{value!r} is no graph; give texts of nodes, and edges (number, number, label)") from None
    if not all(isinstance(node, str) for node in graph.nodes):
        raise DataError("a node of the graph is no text")
    for edge in graph.edges:
        if not (0 <= edge[0] < len(graph.nodes) and 0 <= edge[1] < len(graph.nodes)):
            raise DataError(f"the edge {tuple(edge)} leads to no node; there are {len(graph.nodes)}, from 0 on")
    return graph
