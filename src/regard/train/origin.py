"""Origin of a run: checksums of its data and encoders, with which alone it resumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from regard.checksum import sums_of
from regard.data.fingerprint import content, fingerprint
from regard.data.graphs import Members
from regard.tasks.setup import Setup
from regard.tasks.splits import Split

Origin = dict[str, dict[str, str]]
"""Checksums by the place of a file, or by another part of the data, of each split; those of encoders by field."""
_ENCODERS = "encoders"


def origin(setup: Setup) -> Origin:
    """Return the checksums of all data and encoders of a run."""
    found = {name: _of(split) for name, split in _splits(setup)}
    # An encoder's fingerprint decides ids; what is tuned after training is no part of it.
    found[_ENCODERS] = {name: fingerprint([one.fingerprint]) for name, one in setup.task.encoders.items()}
    return found


def changed_data(before: Mapping[str, Mapping[str, str]], now: Origin, setup: Setup) -> list[str]:
    """Return the differences between two states of the data, file by file; a split that either lacks does not count."""
    found: list[str] = []
    for name, split in _splits(setup):
        then, files = before.get(name, now[name]), split.examples.files
        if then == now[name]:
            continue
        if len(then) == len(files):
            differing = (path for number, path in enumerate(files) if then.get(str(number)) != now[name][str(number)])
            found += [f"{path} ({name})" for path in differing]
        else:
            found.append(f"the split {name}")
    return found


def changed_encoders(before: Mapping[str, Mapping[str, str]], now: Origin) -> list[str]:
    """Return the fields whose tokenizers or labels differ."""
    then = before.get(_ENCODERS, {})
    return [name for name in then if then[name] != now[_ENCODERS].get(name)]


def _splits(setup: Setup) -> Iterator[tuple[str, Split]]:
    for name, split in (("train", setup.train), ("valid", setup.valid), ("test", setup.test)):
        if split is not None:
            yield name, split


def _of(split: Split) -> dict[str, str]:
    """Return the checksum of each file in order; of generated data, those of its ids."""
    files: tuple[Path, ...] = split.examples.files
    if files:
        return {str(number): content(path).hex() for number, path in enumerate(files)}
    if split.encoded is not None:
        sums = sums_of(split.encoded.folder)
        return {name: one[-1] for name, one in sums.items() if name.endswith((".ids", ".offsets"))}
    if isinstance(split.examples, Members):
        return split.examples.sums()
    return {}  # drawn by a rule that the recipe has
