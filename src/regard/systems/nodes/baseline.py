"""Baselines of node classification: the majority label, features alone, edges alone, and both without attention.

The single hyperparameter of each is chosen on the validation nodes. All are deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.recipes.sections import Recipe
from regard.systems.nodes.graphs import Graph
from regard.systems.nodes.sections import GraphSection

PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""L2 penalties of logistic regression, per node."""
SHARES = (0.5, 0.8, 0.9, 0.95, 0.99)
"""Shares α of the neighbours in label propagation."""
HOPS = 2
"""K of simplified graph convolution, as in the paper."""


def averaging(graph: Graph, *, loops: bool) -> Tensor:
    """Return S = D^-1/2 A D^-1/2 [N, N] of the edges, sparse; `loops` adds one to each node.

    >>> import numpy as np
    >>> graph = Graph.of(["a", "b"], ["x", "y"], np.eye(2), [(0, 1)], {})
    >>> averaging(graph, loops=True).to_dense()
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]], dtype=torch.float64)
    """
    size = len(graph.names)
    edges = torch.from_numpy(graph.edges)
    if loops:
        edges = torch.cat((edges, torch.arange(size).expand(2, -1)), 1)
    degree = edges[1].bincount(minlength=size).double().clamp(min=1)
    weights = (degree[edges[0]] * degree[edges[1]]).rsqrt()
    # Rows of the matrix are targets, while `edges` has sources first.
    return torch.sparse_coo_tensor(edges.flip(0), weights, (size, size), check_invariants=False).coalesce()


def propagated(graph: Graph, known: Tensor, labels: Tensor, classes: int, *, share: float, rounds: int = 200) -> Tensor:
    """Return the label scores [N, classes] of label propagation: F ← α S F + (1 - α) Y.

    Zhou et al. 2003, "Learning with Local and Global Consistency", algorithm 1.
    """
    edges = averaging(graph, loops=False)
    given = torch.zeros(len(graph.names), classes, dtype=torch.float64)
    given[known] = F.one_hot(labels[known], classes).double()
    scores = given
    for _ in range(rounds):
        scores = share * (edges @ scores) + (1 - share) * given
    return scores


def features(graph: Graph, *, hops: int = 0) -> Tensor:
    """Return S^K X [N, C]: features, averaged over neighbours K times.

    Wu et al. 2019, "Simplifying Graph Convolutional Networks", equation 8.
    """
    counts = torch.from_numpy(graph.row_ends).diff()
    rows = torch.arange(len(graph.names)).repeat_interleave(counts)  # [K], node of each value
    found = torch.zeros(len(graph.names), graph.width, dtype=torch.float64)
    found[rows, torch.from_numpy(graph.columns)] = torch.from_numpy(graph.values).double()
    edges = averaging(graph, loops=True)
    for _ in range(hops):
        found = edges @ found
    return found


def logistic(rows: Tensor, known: Tensor, labels: Tensor, classes: int, *, penalty: float) -> Tensor:
    """Return the logits [N, classes] of logistic regression, fitted to its optimum on the known nodes by L-BFGS."""
    weight = torch.zeros(rows.shape[1], classes, dtype=rows.dtype, requires_grad=True)
    bias = torch.zeros(classes, dtype=rows.dtype, requires_grad=True)
    solver = torch.optim.LBFGS([weight, bias], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        solver.zero_grad()
        total = F.cross_entropy(rows[known] @ weight + bias, labels[known]) + penalty * weight.square().sum()
        total.backward()
        return total

    solver.step(loss)
    return (rows @ weight + bias).detach()


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield each baseline with its accuracy on the test nodes of a recipe."""
    assert isinstance(recipe.data, GraphSection)
    graph = recipe.data.graph()
    names = sorted({label for label in graph.labels if label is not None})
    labels = torch.tensor([-1 if label is None else names.index(label) for label in graph.labels])
    train, valid, test = (torch.from_numpy(graph.parts[part]) for part in ("train", "valid", "test"))

    def best(candidates: Sequence[Tensor]) -> dict[str, float]:
        right = [one.argmax(1) == labels for one in candidates]
        chosen = max(right, key=lambda found: float(found[valid].double().mean()))
        return {"accuracy": float(chosen[test].double().mean())}

    frequent = labels[train].bincount(minlength=len(names)).double().expand(len(labels), -1)
    yield "most frequent label", best([frequent])
    for name, rows in (
        ("logistic regression on features", features(graph)),
        (f"simplified graph convolution, {HOPS} hops", features(graph, hops=HOPS)),
    ):
        yield name, best([logistic(rows, train, labels, len(names), penalty=one) for one in PENALTIES])
    yield "label propagation", best([propagated(graph, train, labels, len(names), share=one) for one in SHARES])
