"""Atomic writes: files are written under a temporary name, then renamed."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from safetensors import SafetensorError, safe_open

from regard.checksum import NAME, checksum, sums_of, verify_checksum
from regard.runs.folder import RunError

if TYPE_CHECKING:
    from torch import Tensor

_SAME = "same"
"""Where a file says which names stand for a tensor that has another name too."""


class DiskError(OSError):
    """A failed write; the previous file is intact."""


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `path` on success, so that `path` is never incomplete.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder) / "a.txt") as draft:
    ...         _ = draft.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    draft = path.with_name(f".{path.name}.{uuid4().hex[:12]}.draft")  # no other process writes to this one
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield draft
        _settle(draft)
        if path.is_dir():
            old = path.with_name(f".{path.name}.old")
            path.rename(old)  # a folder replaces none that holds something
            draft.replace(path)
            _remove(old)
        else:
            draft.replace(path)
        _sync(path.parent)
    except OSError as problem:
        with suppress(OSError):
            _remove(draft)
        if isinstance(problem, DiskError):  # a file of this folder, which has said so
            raise
        raise DiskError(
            f"{path}: cannot be written ({problem.strerror or problem}); what was there is kept"
        ) from problem
    except BaseException:
        _remove(draft)
        raise


@contextmanager
def checksummed_path(path: Path) -> Iterator[Path]:
    """Write a file as `atomic_path` does, and its checksum.

    The previous checksum stays valid until the next write: a process killed in between leaves a file that passes.
    """
    with atomic_path(path) as draft:
        yield draft
        sums = sums_of(path.parent)
        before = sums.get(path.name) or ([checksum(path)] if path.is_file() else [])
        sums[path.name] = [*before[-1:], checksum(draft)]
        write_json(path.parent / NAME, sums)


def write_json(path: Path, content: Any) -> None:
    """Write JSON with indentation."""
    with atomic_path(path) as draft:
        draft.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_tensors(path: Path, tensors: Mapping[str, Tensor], *, record: bool = False) -> None:
    """Write tensors by name as safetensors; a tensor with several names, such as tied embeddings, once.

    Args:
        path: the file.
        tensors: tensors by name.
        record: also write a checksum, for folders whose checksums are not written together.
    """
    from safetensors.torch import save_file  # with PyTorch, which reading a run's other files does not need

    first: dict[tuple[Any, ...], str] = {}
    same = {}
    for name, tensor in tensors.items():
        place = (tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tensor.shape, tensor.stride())
        if tensor.numel() and first.setdefault(place, name) != name:
            same[name] = first[place]
    kept = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items() if name not in same}
    # One key alone: safetensors writes several in any order, and the same tensors would be other bytes. Transformers 4
    # reads only files that are marked as PyTorch's.
    note = {_SAME: json.dumps(same)} if same else {"format": "pt"}
    with (checksummed_path if record else atomic_path)(path) as draft:
        draft.touch()
        mode = draft.stat().st_mode  # as other files have it: safetensors makes one that only its owner reads
        try:
            save_file(kept, draft, metadata=note)
        except SafetensorError as problem:
            raise OSError(str(problem)) from problem
        draft.chmod(mode)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read tensors by name.

    Raises:
        RunError: the file is missing or damaged.
    """
    with _whole(path):
        verify_checksum(path)
    with _whole(path), safe_open(path, framework="pt") as file:
        same = json.loads((file.metadata() or {}).get(_SAME, "{}"))
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, a file is no mapping
        return tensors | {name: tensors[other] for name, other in same.items()}


def read_json(path: Path) -> Any:
    """Read JSON.

    Raises:
        RunError: the file is missing or damaged.
    """
    with _whole(path):
        verify_checksum(path)
        return json.loads(path.read_text(encoding="utf-8"))


def check_tensors(path: Path) -> None:
    """Check that a file of tensors can be read, without reading them unless it has a checksum.

    Raises:
        RunError: the file is missing or damaged.
    """
    with _whole(path):
        verify_checksum(path)
    with _whole(path), safe_open(path, framework="pt"):
        pass


def check_file(path: Path) -> None:
    """Compare a file with its checksum.

    Raises:
        RunError: they differ.
    """
    with _whole(path):
        verify_checksum(path)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Convert errors of reading a file of a run to a `RunError` with advice."""
    try:
        yield
    except FileNotFoundError:
        raise RunError(f"{path} is missing; put it back, or remove {path.parent} and train again") from None
    except (SafetensorError, ValueError, RecursionError) as problem:
        raise RunError(
            f"{path} is damaged ({problem}); put a whole one there, or remove {path.parent} and train again"
        ) from problem


def _settle(draft: Path) -> None:
    """Flush a temporary file to the disk before it is renamed."""
    for part in (*draft.rglob("*"), draft) if draft.is_dir() else (draft,):
        _sync(part)


def _sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    if path.is_dir() and sys.platform == "win32":  # which opens no folders
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as problem:
        if not path.is_dir() or problem.errno != errno.EINVAL:  # some network file systems sync no folders
            raise
    finally:
        os.close(number)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
