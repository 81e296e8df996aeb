"""Lock of a run folder for a single writer, released by the kernel when its process ends."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO

from regard.runs.folder import RunError

if sys.platform != "win32":
    import fcntl

PATIENCE = 60.0
"""Seconds to wait for a process that is about to end, such as one whose parent was killed in the middle of a step."""
_NAME = ".lock"
_PAUSE = 0.1
_GLANCE = 0.5  # seconds: `regard runs` holds a lock for a moment, to see whether it is free
_RANKS = ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")
_held: set[tuple[Path, int]] = set()
"""Folders, and the threads that have locked them: a command that holds one may call what locks it too."""


@contextmanager
def locked(folder: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Lock a folder against other writers; readers need no lock.

    The kernel holds the lock, so a killed process releases it. The lock file records the holder.

    Args:
        folder: folder of a run or a comparison, created if missing.
        patience: seconds to wait for another process.

    Raises:
        RunError: another process holds it; the message names it.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with locked(folder), locked(folder):                 # the same process may
    ...     [path.name for path in folder.iterdir()]
    ['.lock']
    """
    key = (folder.resolve(), threading.get_ident())
    if key in _held:
        yield
        return
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    file = _taken(folder, time.monotonic() + max(patience, _GLANCE))
    _held.add(key)
    try:
        _sweep(folder)
        yield
    finally:
        _held.discard(key)
        (folder / _NAME).unlink(missing_ok=True)  # still locked, and whoever opened it before looks again
        file.close()
        with suppress(OSError):  # a folder that was made for the lock alone goes with it
            for place in made:
                place.rmdir()


def first_process(environment: Mapping[str, str] = os.environ) -> bool:
    """Return True in the one process of a distributed run that writes, and where there is only one.

    >>> first_process({}), first_process({"RANK": "0"}), first_process({"RANK": "1"})
    (True, True, False)
    """
    return next((environment[name] for name in _RANKS if name in environment), "0") == "0"


def _taken(folder: Path, until: float) -> IO[str]:
    """Return the open lock file of a folder once this process holds the lock."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / _NAME).open("a+", encoding="utf-8")
        if _free(file.fileno()):
            if _same(file, folder / _NAME):
                _sign(file)
                return file
        elif time.monotonic() >= until:
            holder = _holder(file)
            file.close()
            raise RunError(f"{folder} is in use: {holder}; wait until that ends, or stop it first")
        else:
            time.sleep(_PAUSE)
        file.close()


def _same(file: IO[str], path: Path) -> bool:
    """Return False for a lock file that its last holder removed after it was opened here."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _sign(file: IO[str]) -> None:
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    command = shlex.join([name, *sys.argv[1:]])
    about = {"pid": os.getpid(), "host": socket.gethostname(), "since": since, "command": command}
    file.truncate(0)
    file.write(json.dumps(about) + "\n")
    file.flush()


def _free(file: int) -> bool:
    """Lock an open file if no other process holds it."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: a run there is as safe as its user is careful
        return True
    return True


def _holder(file: IO[str]) -> str:
    """Return process, host and start time of the holder, as recorded in the lock file."""
    file.seek(0)
    with suppress(ValueError, KeyError, TypeError):
        about = json.loads(file.read())
        return f"process {about['pid']} on {about['host']} writes to it since {about['since']} ({about['command']})"
    return "another process writes to it"  # and is just about to say so


def _sweep(folder: Path) -> None:
    """Remove temporary files of killed processes; the holder of the lock has none yet."""
    for draft in (*folder.glob(".*.draft"), *folder.glob("checkpoints/.*.draft")):
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)
