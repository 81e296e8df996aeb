"""Graphs from the command line: train, predict, evaluate, view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from tests.cli.command import asked, refused
from tests.systems.nodes.test_graphs import npz

SMALL = (
    "data.nodes=80",
    "data.communities=2",
    "data.signal=9",
    "data.features=4",
    "data.valid_size=20",
    "data.test_size=30",
)
SHORT = ("train.steps=40", "train.valid_every=10", "evaluate.examples=1", "model.num_heads=2")


@pytest.fixture(scope="module")
def communities(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The small recipe on a smaller graph."""
    folder = tmp_path_factory.mktemp("runs")
    said = asked("train", "graph_communities", *SMALL, *SHORT, "run=small", "--runs", str(folder))
    assert "small: finished" in said
    assert "accuracy" in said
    return str(folder / "small")


def test_it_learns_and_is_measured_as_in_training(communities: str) -> None:
    rows = [json.loads(line) for line in (Path(communities) / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["split"] == "test"
    assert rows[-1]["accuracy"] > 0.8
    measured = json.loads(asked("evaluate", communities, "--json"))
    assert (measured["accuracy"], measured["loss"]) == (rows[-1]["accuracy"], rows[-1]["loss"])
    assert "the best by accuracy and loss" in (Path(communities) / "report.md").read_text()
    assert "nats a node" in asked("evaluate", communities, "--split", "train")


def test_nodes_are_asked_for_by_name(communities: str) -> None:
    answers = asked("predict", communities, "n0", "n1", "n2").split()
    assert set(answers) <= {"a", "b"}
    drawn = asked("predict", communities, "n0", "--alignment").splitlines()
    neighbours = regard.load(communities).predict("n0")[0].source_tokens
    assert [line.split()[0] for line in drawn[2:] if line] == list(neighbours)
    row = json.loads(asked("predict", communities, "n0", "--json", "--alignment", "--n-best", "2"))
    assert sum(row["alignment"][0]) == pytest.approx(1.0)
    assert len(row["n_best"]) == 2


def test_a_head_of_one_layer_is_refused(tmp_path: Path) -> None:
    asked("train", "graph_communities", *SMALL, *SHORT, "model.num_layers=1", "run=one", "--runs", str(tmp_path))
    said = refused("view", str(tmp_path / "one"), "n0", "--head", "1", "--output", str(tmp_path / "a.png"))
    assert "the network has one layer" in said


def test_networks_for_other_nodes_do_not_answer_together(communities: str, tmp_path: Path) -> None:
    wider = [one.replace("features=4", "features=5") for one in SMALL]
    asked("train", "graph_communities", *wider, *SHORT, "run=wider", "--runs", str(tmp_path))
    said = refused("predict", communities, "n0", "--ensemble", str(tmp_path / "wider"))
    assert "have nodes of 5 and of 4 features" in said


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_neighbourhood_is_drawn(communities: str, suffix: str, tmp_path: Path) -> None:
    picture = tmp_path / f"node.{suffix}"
    assert asked("view", communities, "n0", "--output", str(picture)) == f"{picture}\n"
    assert picture.stat().st_size > 4000
    if suffix == "svg":
        other = tmp_path / "head.svg"
        asked("view", communities, "n0", "--head", "2", "--output", str(other))
        assert other.read_text() != picture.read_text()


def test_two_tables_to_learn_from_and_a_node_that_came_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = [f"p{number}\t{'no' if number % 2 else 'yes'}\t{number % 2}\t1" for number in range(60)]
    edges = [f"p{number}\tp{(number + 2) % 60}" for number in range(60)]
    Path("nodes.tsv").write_text("\n".join([*nodes, "who\t\t1\t1"]) + "\n")
    Path("edges.tsv").write_text("\n".join(edges) + "\n")
    settings = ("graph_communities", "data={format: graph}", *SHORT, "run=mine")
    said = asked("train", *settings, "model.dropout=0")
    assert "1 of 61 nodes have no edge: they read only themselves" in said
    assert asked("predict", "runs/mine", "who", "p0") == "no\nyes\n"
    with Path("nodes.tsv").open("a") as file:
        file.write("new\t\t0\t1\n")
    with Path("edges.tsv").open("a") as file:
        file.write("new\tp4\n")
    assert asked("predict", "runs/mine", "new") == "yes\n"
    assert "the graph has no node 'knew'; did you mean 'new'?" in refused("predict", "runs/mine", "knew")
    Path("nodes.tsv").write_text("\n".join(line + "\t0" for line in nodes) + "\n")
    Path("edges.tsv").write_text("\n".join(edges) + "\n")
    assert "and [16, 3] is needed; give it the recipe and data like those it was trained on" in refused(
        "predict", "runs/mine", "p0"
    )
    Path("nodes.tsv").unlink()
    assert "nodes.tsv: there is no such file" in refused("predict", "runs/mine", "p0")


@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_citation_graphs_learn_for_a_few_updates(name: str, tmp_path: Path) -> None:
    npz(tmp_path).rename(tmp_path / f"{name}.npz")
    root = f"data.root={tmp_path}"
    said = asked("train", name, root, "train.steps=3", "--runs", str(tmp_path / "runs"))
    assert f"{name}: finished after step 3" in said
    assert "2 of 5 nodes have no edge" in said


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    settings = (
        "graph_communities",
        *SMALL,
        *SHORT,
        "train.steps=12",
        "train.valid_every=1",
        "train.checkpoint_every=4",
    )
    asked("train", *settings, "--runs", str(tmp_path / "whole"))
    asked("train", *settings, "train.steps=8", "--runs", str(tmp_path / "parts"))
    asked("train", *settings, "--runs", str(tmp_path / "parts"))
    whole, parts = (
        [
            line
            for line in (tmp_path / name / "graph_communities" / "metrics.jsonl").read_text().splitlines()
            if json.loads(line)["step"] > 8
        ]
        for name in ("whole", "parts")
    )
    assert whole == parts


def test_a_dry_run_says_what_would_be_trained() -> None:
    said = asked("train", "graph_communities", "--dry-run")
    assert "one graph of 600 nodes and" in said
    assert "layers.0.node_map.weight" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("data.nodes=100",), "data: nodes is 100, and 500 of them are to learn from"),
        (("data={format: digits}",), "data.format is 'digits': it can be communities"),
        (("model.kind=luong",), "model.kind is 'luong': of the task nodes it can be gat"),
        (("model.heads=3",), "there is no key 'model.heads'; did you mean num_heads?"),
        (("train.batch={sentences: 8}",), "or 'translate'; the task is 'nodes'"),
        (("evaluate.select=[accuracy, bleu]",), "select is ['accuracy', 'bleu']; it can be loss, accuracy"),
        (("evaluate.select=[]",), "select is []; it can be loss, accuracy"),
        (("evaluate.metrics=[span_f1]",), "metric 'span_f1' compares chunks"),
        (("decode.beam_size=3",), "a search is for the task '"),
        (("data={format: graph, split: {by: target}}",), "split.by is 'target'"),
        (("data={format: graph, nodes: no.tsv}",), "there is no file no.tsv"),
    ],
)
def test_recipes_that_do_not_fit_are_one_sentence(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sentence in refused("train", "graph_communities", *arguments, "--runs", "runs")
    assert not Path("runs").exists()


def test_questions_and_pictures_that_are_none_are_one_sentence(communities: str, tmp_path: Path) -> None:
    assert "the graph has no node 'x99'" in refused("predict", communities, "x99")
    assert "there is no head 9; the layer has 1 to 2" in refused("view", communities, "n0", "--head", "9")
