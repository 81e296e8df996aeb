"""Graphs: from an .npz file, from two tables, and made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.data import DataError
from regard.systems.nodes.graphs import Communities, Graph, GraphTables, Members, Planetoid

ARRAYS: dict[str, Any] = {
    "feat_indptr": np.array([0, 2, 3, 3, 4, 5], np.int32),
    "feat_indices": np.array([0, 2, 1, 2, 0], np.int32),
    "feat_data": np.array([1, 1, 1, 1, 3], np.float32),
    "shape": np.array([5, 3]),
    "labels": np.array([1, 0, -1, 1, 0]),
    "edges": np.array([[0, 1], [1, 3], [3, 1], [2, 2]], np.int32),  # one twice, one loop; nodes 2 and 4 are isolated
    "train_idx": np.array([0, 1]),
    "val_idx": np.array([3]),
    "test_idx": np.array([4]),
}


def npz(folder: Path, **changed: Any) -> Path:
    path = folder / "graph.npz"
    np.savez(path, **{name: value for name, value in (ARRAYS | changed).items() if value is not None})
    return path


def features(graph: Graph) -> list[list[float]]:
    dense = np.zeros((len(graph.names), graph.width))
    for node in range(len(graph.names)):
        for entry in range(graph.row_ends[node], graph.row_ends[node + 1]):
            dense[node, graph.columns[entry]] = graph.values[entry]
    return dense.tolist()  # type: ignore[no-any-return]


def test_a_citation_graph(tmp_path: Path) -> None:
    graph = Planetoid(npz(tmp_path)).read()
    assert graph.names == ("0", "1", "2", "3", "4")
    assert graph.labels == ("1", "0", None, "1", "0")
    assert graph.edges.tolist() == [[1, 0, 3, 1], [0, 1, 1, 3]]  # in the order of targets
    assert graph.isolated == 2
    assert features(graph) == [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert features(Planetoid(npz(tmp_path), normalise=False).read())[4] == [3, 0, 0]
    assert [example.fields for example in Members(graph, "valid")] == [{"node": "3", "label": "1"}]
    assert "test" not in Planetoid(npz(tmp_path, test_idx=None)).read().parts


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"edges": None}, "there is no array 'edges'; it needs feat_indptr, "),
        ({"edges": np.array([[0, 5]])}, "edges has 0 to 5; it can be 0 to 4"),
        ({"feat_indices": np.array([0, 2, 1, 2, 7])}, "feat_indices has 0 to 7; it can be 0 to 2"),
        ({"feat_data": np.array([1, 1, 1, 1, np.nan])}, "feat_data has entries that are no numbers"),
        ({"feat_data": np.array([1.0])}, "feat_indptr, feat_indices and feat_data do not fit together"),
        ({"labels": np.array([1, 0])}, "shape speaks of 5 nodes; feat_indptr has 5, labels 2"),
        ({"train_idx": np.array([0, 2])}, "node 2 is in train_idx and has no label"),
        ({"val_idx": np.array([9])}, "val_idx has 9 to 9; it can be 0 to 4"),
        ({"edges": np.array([{}], dtype=object)}, "no .npz file of plain arrays"),
        ({"edges": np.array([[0, 1, 2], [1, 3, 3]])}, "edges is [2, 3]; it must be [E, 2], a row for each edge"),
        ({"edges": np.array([[0.5, 1.0]])}, "edges must be whole numbers; it is an array of float64"),
        ({"labels": np.array(["a"] * 5)}, "labels must be whole numbers; it is an array of <U1"),
        ({"feat_data": np.array(["a"] * 5)}, "feat_data must be numbers; it is an array of <U1"),
        ({"shape": np.array([5])}, "shape is two numbers, of nodes and of features; got [5]"),
        ({"val_idx": np.array([0])}, "node 0 is in train_idx and in val_idx; each is in one of them"),
    ],
)
def test_a_file_that_is_none_is_one_sentence(changed: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = npz(tmp_path, **changed)
    with pytest.raises(DataError, match=r"graph\.npz") as raised:
        Planetoid(path).read()
    assert sentence in str(raised.value)


def test_a_file_that_is_not_there_or_no_array(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.npz: there is no such file"):
        Planetoid(tmp_path / "no.npz").read()
    for content in ("not an archive", ""):
        (tmp_path / "text.npz").write_text(content)
        with pytest.raises(DataError, match=r"text.npz: no .npz file of plain arrays"):
            Planetoid(tmp_path / "text.npz").read()


NODES = "ada\tred\t1\t0\nbob\tblue\t0\t2.5\neve\t\t-1\t1\ntim\tdark blue\t0\t0\n"
EDGES = "ada\tbob\nbob\tada\nada\teve\neve\teve\n"


def tables(folder: Path, nodes: str = NODES, edges: str = EDGES, **options: Any) -> GraphTables:
    (folder / "nodes.tsv").write_text(nodes, encoding="utf-8")
    (folder / "edges.tsv").write_text(edges, encoding="utf-8")
    return GraphTables(folder / "nodes.tsv", folder / "edges.tsv", **options)


def test_two_tables(tmp_path: Path) -> None:
    graph = tables(tmp_path).read()
    assert graph.names == ("ada", "bob", "eve", "tim")
    assert graph.labels == ("red", "blue", None, "dark blue")
    assert features(graph) == [[1, 0], [0, 2.5], [-1, 1], [0, 0]]
    assert graph.edges.tolist() == [[1, 2, 0, 0], [0, 0, 1, 2]]
    assert graph.isolated == 1
    assert tables(tmp_path, directed=True).read().edges.tolist() == [[1, 0, 0], [0, 1, 2]]
    assert features(tables(tmp_path, normalise=True).read())[2] == [-0.5, 0.5]
    named = tables(tmp_path, "id\tlabel\tx\ty\n" + NODES, "from\tto\n" + EDGES, header=True)
    assert named.read().names == graph.names


def test_nodes_with_labels_are_divided(tmp_path: Path) -> None:
    nodes = "".join(f"n{number}\t{'ab'[number % 2] if number < 100 else ''}\t1\n" for number in range(120))
    hashed = tables(tmp_path, nodes, "", valid=0.2, test=0.3).read().parts
    assert sorted(np.concatenate(list(hashed.values())).tolist()) == list(range(100))
    assert 10 < len(hashed["valid"]) < 30
    assert 18 < len(hashed["test"]) < 42
    other = tables(tmp_path, nodes, "", valid=0.2, test=0.3, salt="x").read().parts
    assert hashed["test"].tolist() != other["test"].tolist()
    folds = [tables(tmp_path, nodes, "", test=0.25, fold=fold).read().parts["test"].tolist() for fold in range(4)]
    assert sorted(node for fold in folds for node in fold) == list(range(100))
    ordered = tables(tmp_path, nodes, "", by="order", valid=0.2, test=0.3).read().parts
    assert {part: (int(members[0]), len(members)) for part, members in ordered.items()} == {
        "train": (0, 50), "valid": (50, 20), "test": (70, 30)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "edges", "sentence"),
    [
        (NODES + "ada\tred\t1\t1\n", EDGES, "nodes.tsv:5: the node 'ada' stands on line 1 already"),
        (NODES + "kim\tred\n", EDGES, "nodes.tsv:5: the node 'kim' has no features"),
        (NODES + "kim\tred\t1\n", EDGES, "nodes.tsv:5: the node 'kim' has 1 features, and those before it have 2"),
        (NODES + "kim\tred\t1\tx\n", EDGES, "nodes.tsv:5: column 4 of the node 'kim' is 'x', which is no number"),
        (NODES + "kim\tred\t1\tnan\n", EDGES, "column 4 of the node 'kim' is 'nan', which is no number"),
        (NODES + "kim\tred\t1\t1e39\n", EDGES, "column 4 of the node 'kim' is '1e39', which is no number"),
        (NODES + "\tred\t1\t1\n", EDGES, "nodes.tsv:5: the node has no id"),
        (NODES + "\n", EDGES, "nodes.tsv:5: the node has no id"),
        (NODES, EDGES + "ada\tbobb\n", "edges.tsv:5: there is no node 'bobb' in "),
        (NODES, EDGES + "ada\n", "edges.tsv:5: 1 column; an edge is two ids with a tab between"),
    ],
)
def test_a_line_that_is_wrong_is_named_or_left_out(nodes: str, edges: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="mend the line or set bad_lines to skip") as raised:
        tables(tmp_path, nodes, edges).read()
    assert sentence in str(raised.value)
    graph = tables(tmp_path, nodes, edges, bad_lines="skip").read()
    assert (graph.names, graph.edges.shape[1]) == (("ada", "bob", "eve", "tim"), 4)
    assert graph.skipped.count == 1
    assert sentence in str(graph.skipped)


def test_the_nearest_id_is_offered(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="did you mean 'bob'"):
        tables(tmp_path, NODES, "ada\tbobb\n").read()
    with pytest.raises(DataError, match="the graph has no node 'evee'; did you mean 'eve'"):
        tables(tmp_path).read().number("evee")


def test_no_nodes_no_labels_and_nothing_to_learn_from(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nodes.tsv: there are no nodes"):
        tables(tmp_path, "", "").read()
    with pytest.raises(DataError, match=r"nodes.tsv: no node has a label, its second column"):
        tables(tmp_path, "a\t\t1\n", "").read()
    graph = tables(tmp_path, "a\tx\t1\n", "", by="order", valid=0.6, test=0.3).read()
    with pytest.raises(DataError, match="the split train has no nodes with labels"):
        Members(graph, "train")


def test_communities_keep_to_their_own() -> None:
    graph = Communities(communities=4, nodes=400, inside=6, outside=1, test_size=200, seed=3).read()
    labels = np.array(graph.labels)
    assert sorted(set(labels.tolist())) == ["a", "b", "c", "d"]
    same = (labels[graph.edges[0]] == labels[graph.edges[1]]).mean()
    assert same == pytest.approx(6 / 7, abs=0.03)
    assert graph.edges.shape[1] / 400 == pytest.approx(7, abs=0.6)
    parts = [set(graph.parts[part].tolist()) for part in ("train", "valid", "test")]
    assert [len(part) for part in parts] == [40, 150, 200]
    assert not parts[0] & parts[1]
    assert not (parts[0] | parts[1]) & parts[2]
    counts = [int((labels[graph.parts["train"]] == label).sum()) for label in "abcd"]
    assert counts == [10] * 4
    again, other = Communities(nodes=600).read(), Communities(nodes=600, seed=1).read()
    assert np.array_equal(again.edges, Communities().read().edges)
    assert not np.array_equal(again.values, other.values)
    with pytest.raises(DataError, match="nodes is 100, and 500 of them are to learn from"):
        Communities(nodes=100)
