"""Reader of citation graphs in NumPy files: Cora, Citeseer and others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.formats.lines import opened
from regard.data.hash_split import Part
from regard.data.problems import DataError
from regard.systems.nodes.graphs.graph import Graph, Ints, normalised, undirected_edges

_KEYS = ("feat_indptr", "feat_indices", "feat_data", "shape", "labels", "edges")
_PARTS: dict[Part, str] = {"train": "train_idx", "valid": "val_idx", "test": "test_idx"}


@dataclass(frozen=True)
class Planetoid:
    """A graph with a fixed split in one .npz file, such as the citation graphs of Yang et al. 2016.

    Its arrays are `feat_indptr`, `feat_indices`, `feat_data` and `shape`, the features [N, C] as CSR; integer `labels`
    [N], negative if unlabelled; undirected `edges` [E, 2]; `train_idx`, `val_idx`, `test_idx`. Nodes and labels are
    named by their numbers.

    Args:
        path: the file.
        normalise: normalise the features of each node to sum to one.
    """

    path: Path
    normalise: bool = True

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    def read(self) -> Graph:
        """Read the graph.

        Raises:
            DataError: the file is missing or invalid.
        """
        arrays = self._arrays()
        if arrays["shape"].shape != (2,):
            raise self._wrong(f"shape is two numbers, of nodes and of features; got {arrays['shape'].tolist()}")
        count, width = (int(size) for size in arrays["shape"])
        ends, columns = arrays["feat_indptr"].astype(np.int64), arrays["feat_indices"].astype(np.int64)
        values, numbers = arrays["feat_data"].astype(np.float32), arrays["labels"]
        if len(ends) != count + 1 or len(numbers) != count:
            raise self._wrong(f"shape speaks of {count} nodes; feat_indptr has {len(ends) - 1}, labels {len(numbers)}")
        if not np.isfinite(values).all():
            raise self._wrong("feat_data has entries that are no numbers")
        if ends[0] != 0 or ends[-1] != len(columns) or len(columns) != len(values) or (np.diff(ends) < 0).any():
            raise self._wrong("feat_indptr, feat_indices and feat_data do not fit together")
        self._within("feat_indices", columns, width)
        self._within("edges", arrays["edges"], count)
        if arrays["edges"].size and arrays["edges"].shape[1:] != (2,):
            raise self._wrong(f"edges is {list(arrays['edges'].shape)}; it must be [E, 2], a row for each edge")
        return Graph(
            tuple(map(str, range(count))),
            tuple(str(number) if number >= 0 else None for number in numbers.tolist()),
            normalised(values, ends) if self.normalise else values,
            columns,
            ends,
            width,
            undirected_edges(arrays["edges"].astype(np.int64).reshape(-1, 2), count),
            self._parts(arrays, count),
        )

    def _parts(self, arrays: dict[str, NDArray[Any]], count: int) -> dict[Part, Ints]:
        """Return the nodes of each split, after checking that all are labelled and that the splits are disjoint."""
        parts = {part: arrays[name].astype(np.int64) for part, name in _PARTS.items() if name in arrays}
        numbers, home = arrays["labels"], dict[int, str]()
        for part, members in parts.items():
            name = _PARTS[part]
            self._within(name, members, count)
            if (numbers[members] < 0).any():
                nameless = int(members[numbers[members] < 0][0])
                raise self._wrong(f"node {nameless} is in {name} and has no label")
            for node in members.tolist():
                if home.setdefault(node, name) != name:
                    raise self._wrong(f"node {node} is in {home[node]} and in {name}; each is in one of them")
        return parts

    def _arrays(self) -> dict[str, NDArray[Any]]:
        try:
            # Opened here, because NumPy does not close a file that it opened itself and cannot parse.
            with opened(self.path) as raw, np.load(raw, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except DataError:
            raise
        except Exception as error:  # NumPy documents no exception types for corrupt archives, headers or arrays
            raise self._wrong("no .npz file of plain arrays") from error
        for name in (*_KEYS, *list(_PARTS.values())[:2]):
            if name not in arrays:
                raise self._wrong(f"there is no array {name!r}; it needs {', '.join((*_KEYS, *_PARTS.values()))}")
        for name in (*_KEYS, *_PARTS.values()):
            if name in arrays and name != "feat_data" and arrays[name].dtype.kind not in "iu":
                raise self._wrong(f"{name} must be whole numbers; it is an array of {arrays[name].dtype}")
        if arrays["feat_data"].dtype.kind not in "iuf":
            raise self._wrong(f"feat_data must be numbers; it is an array of {arrays['feat_data'].dtype}")
        return arrays

    def _within(self, name: str, numbers: Ints, count: int) -> None:
        if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < count:
            raise self._wrong(f"{name} has {int(numbers.min())} to {int(numbers.max())}; it can be 0 to {count - 1}")

    def _wrong(self, why: str) -> DataError:
        return DataError(f"{self.path}: {why}")
