"""Readers of Hugging Face files, with one-sentence error messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from regard.runs.folder import RunError


def read_text(path: Path) -> str:
    """Read a UTF-8 text file.

    Raises:
        RunError: the file cannot be read.
    """
    with _whole(path):
        return path.read_text(encoding="utf-8")


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        RunError: the file cannot be read, or does not contain an object.
    """
    with _whole(path):
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError(f"it holds {json.dumps(content)[:40]}, and keys with values are needed")
    return content


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read tensors by name.

    Raises:
        RunError: the file cannot be read.
    """
    with _whole(path):
        return load_file(path)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Convert every error of reading a file to a one-sentence `RunError`."""
    try:
        yield
    except (SafetensorError, ValueError, OSError) as problem:
        raise RunError(
            f"{path} cannot be read ({problem}); put a whole one there, as save_pretrained writes it"
        ) from problem
