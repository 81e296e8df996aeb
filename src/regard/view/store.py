"""Storage of views as data: files that can be loaded and compared, and alignment links.

`.npz` and `.safetensors` hold each tensor of each panel under `<panel>.<attribute>`, and everything else as JSON.
`.json` holds all of it as text. `.pharaoh` has a line per panel: for each row the column of its largest weight, as
`column-row`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file
from torch import Tensor

from regard.explain import panel as kinds
from regard.explain.lazy_rows import to_float32
from regard.explain.panel import Panel, StreamedPanel

STORED = (".npz", ".json", ".safetensors", ".pharaoh")
_ABOUT = "regard.view"
_KINDS = {kind.__name__: kind for kind in vars(kinds).values() if isinstance(kind, type) and issubclass(kind, Panel)}

Arrays = dict[str, np.ndarray[Any, Any]]


def store(panels: Sequence[Panel], path: Path, suffix: str) -> None:
    """Write panels as numbers.

    Args:
        panels: the panels.
        path: where.
        suffix: one of `STORED`.

    Raises:
        ValueError: a panel is too large for memory.
    """
    if any(isinstance(panel, StreamedPanel) for panel in panels):
        raise ValueError(f"{path}: the rows of a panel are made while it is drawn; write .html, .png, .svg or .pdf")
    if suffix == ".pharaoh":
        path.write_text("".join(f"{pharaoh(panel)}\n" for panel in panels), encoding="utf-8")
        return
    arrays, about = taken_apart(panels)
    if suffix == ".json":
        text = {"about": about, "arrays": {name: one.tolist() for name, one in arrays.items()}}
        path.write_text(json.dumps(text, ensure_ascii=False) + "\n", encoding="utf-8")
    elif suffix == ".npz":
        with path.open("wb") as file:
            np.savez_compressed(file, **{_ABOUT: np.frombuffer(json.dumps(about).encode(), np.uint8)}, **arrays)  # type: ignore[arg-type]
    else:
        save_file(arrays, path, metadata={_ABOUT: json.dumps(about)})


def taken_apart(panels: Sequence[Panel]) -> tuple[Arrays, list[dict[str, Any]]]:
    """Return the tensors of panels by name, and the rest as plain values."""
    arrays: Arrays = {}
    about = []
    for number, panel in enumerate(panels):
        rest: dict[str, Any] = {"panel": type(panel).__name__}
        for field in fields(panel):
            value = getattr(panel, field.name)
            if isinstance(value, Tensor):
                arrays[f"{number}.{field.name}"] = to_float32(value)
            elif value is not None:
                rest[field.name] = value
        about.append(rest)
    return arrays, about


def read_panels(path: Path) -> list[Panel]:
    """Return the panels of a file that `store` wrote.

    Raises:
        ValueError: it is no such file.
    """
    try:
        arrays, about = _READERS[path.suffix](path)
        return [_panel(number, dict(one), arrays) for number, one in enumerate(about)]
    except (KeyError, ValueError, TypeError, OSError, SafetensorError) as problem:
        raise ValueError(f"{path}: no stored view; regard writes them as .npz, .safetensors or .json") from problem


def _panel(number: int, about: dict[str, Any], arrays: Mapping[str, Any]) -> Panel:
    kind, begin = _KINDS[about.pop("panel")], f"{number}."
    given = {name: _tuples(value) for name, value in about.items()}
    given |= {
        name.removeprefix(begin): torch.from_numpy(np.array(one, np.float32))
        for name, one in arrays.items()
        if name.startswith(begin)
    }
    return kind(**given)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _npz(path: Path) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    with np.load(path, allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    return arrays, json.loads(arrays.pop(_ABOUT).tobytes())


def _json(path: Path) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["arrays"], found["about"]


def _safetensors(path: Path) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()[_ABOUT])
    return load_file(path), about


_READERS = {".npz": _npz, ".json": _json, ".safetensors": _safetensors}


def pharaoh(panel: Panel) -> str:
    """Return links `column-row` between each row and its largest weight, counted from 0; none of a row of zeros.

    >>> pharaoh(Panel("x", torch.tensor([[0.1, 0.9], [0.6, 0.4], [0.0, 0.0]])))
    '1-0 0-1'
    """
    values = panel.values
    if not values.numel():
        return ""
    return " ".join(
        f"{column}-{row}" for row, column in enumerate(values.argmax(1).tolist()) if float(values[row, column]) > 0
    )
