"""Baselines of node classification, on graphs that can be worked by hand."""

from __future__ import annotations

import numpy as np
import torch

from regard.recipes.load import load
from regard.systems.nodes.baseline import averaging, baselines, features, logistic, propagated
from regard.systems.nodes.graphs import Graph
from tests.mechanism import assert_close

# a - b - c, and d apart; features are one-hot.
PATH = Graph.of(["a", "b", "c", "d"], ["x", None, "y", "y"], np.eye(4), [(0, 1), (1, 2)], {"train": [0, 2]})


def test_averaging_by_hand() -> None:
    """Degrees are 1, 2, 1 and 0; with loops 2, 3, 2 and 1."""
    root = 2**-0.5
    without = [[0, root, 0, 0], [root, 0, root, 0], [0, root, 0, 0], [0, 0, 0, 0]]
    assert_close(averaging(PATH, loops=False).to_dense(), torch.tensor(without, dtype=torch.float64), tolerance=1e-12)
    found = averaging(PATH, loops=True).to_dense()
    assert_close(found.diagonal(), torch.tensor([1 / 2, 1 / 3, 1 / 2, 1], dtype=torch.float64), tolerance=1e-12)
    assert_close(features(PATH, hops=2), found @ found, tolerance=1e-12)
    assert torch.equal(features(PATH), torch.eye(4, dtype=torch.float64))


def test_labels_spread_to_the_fixed_point() -> None:
    """F = α S F + (1 - α) Y, so F = (1 - α) (I - α S)^-1 Y."""
    labels = torch.tensor([0, -1, 1, 1])
    found = propagated(PATH, torch.tensor([0, 2]), labels, 2, share=0.8)
    given = torch.tensor([[1.0, 0], [0, 0], [0, 1], [0, 0]], dtype=torch.float64)
    inverse = torch.linalg.inv(torch.eye(4, dtype=torch.float64) - 0.8 * averaging(PATH, loops=False).to_dense())
    assert_close(found, 0.2 * inverse @ given, tolerance=1e-10)
    assert not found[3].any()  # no label reaches a node without edges


def test_logistic_regression_is_at_its_optimum() -> None:
    rows, labels = torch.randn(30, 4, dtype=torch.float64), torch.arange(30) % 3
    known = torch.arange(20)
    logits = logistic(rows, known, labels, 3, penalty=0.1)
    weight = torch.linalg.lstsq(torch.cat((rows, torch.ones(30, 1)), 1), logits).solution.requires_grad_()
    loss = torch.nn.functional.cross_entropy(rows[known] @ weight[:4] + weight[4], labels[known])
    (slope,) = torch.autograd.grad(loss + 0.1 * weight[:4].square().sum(), weight)
    assert slope.abs().max() < 1e-4


def test_all_are_measured_on_the_graph_of_a_recipe() -> None:
    found = dict(baselines(load("graph_communities").recipe))
    accuracies = [values["accuracy"] for values in found.values()]
    assert len(accuracies) == 4
    assert accuracies[3] > accuracies[1] > 0
    assert accuracies[2] > accuracies[0]
