"""Labels for nodes: the loss, the answers, the pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from regard.data import DataError, Labels
from regard.data.batching.batch import Batch
from regard.data.batching.feed import BatchPosition
from regard.decode.search import Search
from regard.explain.panel import GraphPanel
from regard.specials import IGNORE
from regard.systems.nodes.feed import GraphFeed
from regard.systems.nodes.gat import GAT
from regard.systems.nodes.graphs import Graph, Members
from regard.systems.nodes.task import Nodes
from regard.tasks.ensemble import make_ensemble
from tests.mechanism import assert_close

NAMES = ["ada", "bob", "eve", "kim", "tim"]
LABELS = ["red", "blue", None, "red", "green"]
GRAPH = Graph.of(
    NAMES, LABELS, np.arange(15).reshape(5, 3) % 4, [(0, 1), (1, 2), (0, 3)], {"train": [0, 1, 3], "valid": [4]}
)
TASK = Nodes(GRAPH, {"label": Labels(("blue", "red"))})


def network(seed: int = 0) -> GAT:
    torch.manual_seed(seed)
    return GAT(3, 2, hidden_dim=4, num_heads=3).eval()


def whole() -> tuple[torch.Tensor, torch.Tensor]:
    """Features and edges."""
    return torch.tensor(np.arange(15).reshape(5, 3) % 4).float(), torch.tensor(GRAPH.edges)


def asked(*numbers: int) -> Batch:
    return TASK.batch(np.array(numbers)).to(torch.get_default_device())


def logits(model: GAT) -> torch.Tensor:
    return model(*whole()).logits


def test_the_loss_is_that_of_the_nodes_that_are_asked_for() -> None:
    model = network()
    loss = TASK.loss(model, asked(3, 1))
    expected = F.cross_entropy(logits(model)[[3, 1]], torch.tensor([1, 0]), reduction="sum")
    assert_close(loss.total, expected, tolerance=1e-5)
    assert (loss.tokens, TASK.sizes, TASK.unit) == (2, (3, 2), "node")
    assert TASK.unigram_loss(None) == pytest.approx(np.log(3) - 2 / 3 * np.log(2))


def test_a_label_that_was_never_learned_does_not_count() -> None:
    batch = asked(4, 0)
    assert batch["label"].tolist() == [IGNORE, 1]
    assert batch.tokens == 1
    assert_close(TASK.loss(network(), batch).total, TASK.loss(network(), asked(0)).total)


def test_other_labels_are_never_seen() -> None:
    changed = Nodes(replace(GRAPH, labels=("red", "blue", "blue", "blue", "red")), TASK.encoders)
    first, second = TASK.batch(np.array([0, 1])), changed.batch(np.array([0, 1]))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_answers_are_ranked_with_whom_they_read() -> None:
    model = network()
    answers = TASK.predict(model, ["kim", " ada "], replace(Search(), n_best=2, beam_size=2))
    log_probs = logits(model).log_softmax(-1)
    order = log_probs[3].argsort(descending=True).tolist()
    assert [one.text for one in answers[0]] == [("blue", "red")[index] for index in order]
    assert [one.score for one in answers[0]] == pytest.approx(log_probs[3][order].tolist(), abs=1e-5)
    first = answers[1][0]
    assert set(first.source_tokens) == {"ada", "bob", "kim"}
    assert first.alignment is not None
    assert first.alignment.sum().item() == pytest.approx(1.0)
    assert (first.alignment.diff() <= 0).all()
    read = model.trace(*whole()).reads[-1]
    expected = read.dense().weights()[0].mean(0)[0]
    found = dict(zip(first.source_tokens, first.alignment[0].tolist(), strict=True))
    assert found == pytest.approx({"ada": expected[0].item(), "bob": expected[1].item(), "kim": expected[3].item()})


def test_an_isolated_node_reads_itself_and_is_remarked() -> None:
    (answer,) = TASK.predict(network(), ["tim"], Search())[0]
    assert (answer.source_tokens, answer.alignment.tolist()) == (("tim",), [[1.0]])  # type: ignore[union-attr]
    assert TASK.data_warnings(network(), None) == ["1 of 5 nodes have no edge: they read only themselves"]
    whole = replace(GRAPH, edges=np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]]))
    assert Nodes(whole, TASK.encoders).data_warnings(network(), None) == []


def test_a_node_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(DataError, match="the graph has no node 'adda'; did you mean 'ada'"):
        TASK.predict(network(), ["adda"], Search())


def test_several_networks_answer_as_one() -> None:
    both = make_ensemble([network(0), network(1)]).eval()
    (answer,) = TASK.predict(both, ["bob"], Search())[0]
    mean = torch.stack([logits(network(seed))[1].softmax(-1) for seed in (0, 1)]).mean(0)
    assert answer.score == pytest.approx(mean.max().log().item(), abs=1e-5)
    assert answer.alignment is None
    with pytest.raises(ValueError, match="several models together attend to nothing that could be drawn"):
        TASK.panels(both, "bob", Search())


def test_a_picture_has_the_neighbours_and_theirs() -> None:
    model = network()
    (panel,) = TASK.panels(model, "kim", Search())
    assert isinstance(panel, GraphPanel)
    assert panel.rows[0] == "kim"
    assert set(panel.rows) == {"kim", "ada", "bob"}
    assert panel.places.shape == (3, 2)
    assert panel.places[0].tolist() == [0.0, 0.0]
    assert panel.places.norm(dim=1).round().tolist() == [0.0, 1.0, 2.0]
    assert panel.groups == ("red", "red", "blue")
    reads = model.trace(*whole()).reads
    last, before = reads[-1].dense().weights()[0].mean(0).detach(), reads[-2].dense().weights()[0].detach()
    assert_close(panel.values[0], [last[3, 3], last[3, 0], 0.0], tolerance=1e-6)
    assert_close(panel.values[1], before.mean(0)[0, [3, 0, 1]], tolerance=1e-6)
    (one,) = TASK.panels(model, "kim", Search(), head=2)
    assert_close(one.values[1], before[1, 0, [3, 0, 1]], tolerance=1e-6)
    with pytest.raises(ValueError, match="there is no head 4; the layer has 1 to 3"):
        TASK.panels(model, "kim", Search(), head=4)
    (alone,) = TASK.panels(model, "tim", Search())
    assert alone.values.tolist() == [[1.0]]


def test_the_feed_is_one_batch_an_epoch_divided_among_processes() -> None:
    feed = GraphFeed(TASK, Members(GRAPH, "train"))
    places = feed.after(0, 0)
    assert [next(places) for _ in range(3)] == [BatchPosition(0, 0), BatchPosition(1, 0), BatchPosition(2, 0)]
    assert next(feed.after(4, 1)) == BatchPosition(5, 0)
    everything = feed.batch(BatchPosition(0, 0)).to(torch.get_default_device())
    assert (everything.indices, everything.tokens, feed.tokens(BatchPosition(7, 0))) == ((0, 1, 3), 3, 3)
    halves = [feed.batch(BatchPosition(0, 0), rank, 2).to(torch.get_default_device()) for rank in range(2)]
    assert [half.indices for half in halves] == [(0, 3), (1,)]
    total = sum(float(TASK.loss(network(), half).nll) for half in halves)
    assert total == pytest.approx(float(TASK.loss(network(), everything).nll), rel=1e-5)
    assert feed.batch(BatchPosition(0, 0), 3, 4).size == 0
    assert "one graph of 5 nodes and 6 edges, 3 of its nodes" in str(feed)
