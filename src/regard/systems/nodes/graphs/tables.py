"""Reader of graphs in two tables: nodes and edges."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from regard.data.formats.lines import LONGEST, Line, lines
from regard.data.hash_split import Part, hash_fraction
from regard.data.problems import DataError, SkippedLines, shortened
from regard.systems.nodes.graphs.graph import Graph, directed_edges, normalised

By = Literal["source", "order"]
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class GraphTables:
    r"""A graph in two tab-separated files.

    `nodes` has one line per node: id, label (may be empty) and numeric features. `edges` has one line per edge: two
    ids. Duplicate edges count once. Self-loops are ignored, because a node always attends to itself.

    Args:
        nodes, edges: the files.
        directed: only the second node of an edge attends to the first; otherwise both attend to each other.
        header: the first line of each file is a header.
        normalise: normalise the features of each node to sum to one.
        by: split of the labelled nodes by a hash of their ids, or in the order of the file.
        valid, test: fractions of the validation and the test split.
        salt: salt of the hash.
        fold: number of the cross-validation fold, from 0, for splits by hash; test sets of the folds are disjoint.
        encoding: encoding of both files.
        max_line: maximum length of a line in bytes; longer lines are bad lines.
        bad_lines: "refuse" raises at the first bad line, "skip" skips and counts bad lines.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "nodes.tsv").write_text("ada\tx\t0.5\t1\nbob\ty\t0\t2\neve\t\t1\t1\n")
    >>> _ = (folder / "edges.tsv").write_text("ada\tbob\nbob\tada\n")
    >>> graph = GraphTables(folder / "nodes.tsv", folder / "edges.tsv", by="order", valid=0.5).read()
    >>> graph.labels, graph.edges.tolist(), graph.isolated
    (('x', 'y', None), [[1, 0], [0, 1]], 1)
    """

    nodes: Path
    edges: Path
    directed: bool = field(default=False, kw_only=True)
    header: bool = field(default=False, kw_only=True)
    normalise: bool = field(default=False, kw_only=True)
    by: By = field(default="source", kw_only=True)
    valid: float = field(default=0.1, kw_only=True)
    test: float = field(default=0.1, kw_only=True)
    salt: str = field(default="", kw_only=True)
    fold: int = field(default=0, kw_only=True)
    encoding: str = field(default="utf-8", kw_only=True)
    max_line: int = field(default=LONGEST, kw_only=True)
    bad_lines: Literal["refuse", "skip"] = field(default="refuse", kw_only=True)

    @property
    def files(self) -> tuple[Path, ...]:
        """Both files."""
        return (self.nodes, self.edges)

    def read(self) -> Graph:
        """Read the graph.

        Raises:
            DataError: a line is bad (the message has its file and number), or there are no nodes or no labels.
        """
        skipped = SkippedLines()
        names, labels, rows = self._nodes(skipped)
        pairs = self._edges({name: number for number, name in enumerate(names)}, skipped)
        graph = Graph.of(names, labels, np.array(rows), [] if self.directed else pairs, self._parts(names, labels))
        if self.directed:
            graph = replace(graph, edges=directed_edges(np.asarray(pairs, np.int64).reshape(-1, 2), len(names)))
        if self.normalise:
            graph = replace(graph, values=normalised(graph.values, graph.row_ends))
        return replace(graph, skipped=skipped)

    def _nodes(self, skipped: SkippedLines) -> tuple[list[str], list[str | None], list[list[float]]]:
        seen: dict[str, int] = {}
        labels: list[str | None] = []
        rows: list[list[float]] = []
        for line in self._lines(self.nodes):
            name, label, *features = (*line.text.split("\t"), "")[: max(2, line.text.count("\t") + 1)]
            name, label = name.strip(), " ".join(label.split())
            numbers = [_number(feature) for feature in features]
            why = line.problem or _wrong_node(name, features, numbers, rows[0] if rows else None)
            if why is None and name in seen:
                why = f"the node {name!r} stands on line {seen[name]} already"
            if why is not None:
                self._refuse(self.nodes, line, why, skipped)
                continue
            seen[name] = line.number
            labels.append(label or None)
            rows.append([number for number in numbers if number is not None])
        if not rows:
            raise DataError(
                f"{self.nodes}: there are no nodes; a line is an id, a label and features with tabs between"
            )
        if not any(labels):
            raise DataError(f"{self.nodes}: no node has a label, its second column; nothing can be learned from")
        return list(seen), labels, rows

    def _edges(self, numbers: dict[str, int], skipped: SkippedLines) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for line in self._lines(self.edges):
            ends = [end.strip() for end in line.text.split("\t")]
            why = line.problem
            if why is None and len(ends) != 2:
                why = f"{len(ends)} column{'s' if len(ends) > 1 else ''}; an edge is two ids with a tab between"
            unknown = next((end for end in ends if end not in numbers), None)
            if why is None and unknown is not None:
                near = difflib.get_close_matches(unknown, list(numbers)[:10_000], n=1)
                why = f"there is no node {unknown!r} in {self.nodes}{f'; did you mean {near[0]!r}?' if near else ''}"
            if why is not None:
                self._refuse(self.edges, line, why, skipped)
                continue
            found.append((numbers[ends[0]], numbers[ends[1]]))
        return found

    def _parts(self, names: list[str], labels: list[str | None]) -> dict[Part, list[int]]:
        """Return the labelled nodes of each split."""
        known = [number for number, label in enumerate(labels) if label is not None]
        places = [
            (hash_fraction(names[number], self.salt) - self.fold * self.test) % 1.0
            if self.by == "source"
            else 1 - (place + 1) / len(known)
            for place, number in enumerate(known)
        ]
        ends: list[Part] = [
            "test" if place < self.test else "valid" if place < self.test + self.valid else "train" for place in places
        ]
        parts: tuple[Part, ...] = ("train", "valid", "test")
        return {part: [number for number, end in zip(known, ends, strict=True) if end == part] for part in parts}

    def _lines(self, path: Path) -> Iterator[Line]:
        return (line for line in lines(path, self.encoding, self.max_line) if line.number > self.header)

    def _refuse(self, path: Path, line: Line, why: str, skipped: SkippedLines) -> None:
        said = f"{path}:{line.number}: {shortened(why, 400)}"
        if self.bad_lines == "refuse":
            raise DataError(f"{said}; mend the line or set bad_lines to skip")
        skipped.add(said)


def _wrong_node(name: str, features: list[str], numbers: list[float | None], first: list[float] | None) -> str | None:
    """Return the error in a line of a node; None if it is valid."""
    if not name:
        return "the node has no id, its first column"
    if not features:
        return f"the node {name!r} has no features; write its id, its label (or nothing) and numbers with tabs between"
    for place, (feature, number) in enumerate(zip(features, numbers, strict=True), start=3):
        if number is None:
            return f"column {place} of the node {name!r} is {feature!r}, which is no number"
    if first is not None and len(features) != len(first):
        return f"the node {name!r} has {len(features)} features, and those before it have {len(first)}"
    return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) <= _LARGEST else None  # the comparison is also false for NaN
