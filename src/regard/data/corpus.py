"""A corpus: the ids of all examples, in files that are mapped into memory."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.checksum import check, seal
from regard.data.encoding import Encoder, Progress, encoded
from regard.data.example import Examples
from regard.data.field_kind import ONE_TARGET, FieldKind, value_type
from regard.data.fingerprint import fingerprint
from regard.data.mixture import Mixture
from regard.data.problems import DataError, Skipped

FORMAT = 2  # with checksums
_ABANDONED = 24 * 3600.0

Ids = NDArray[np.int32]


class Corpus:
    """Examples as ids, by number, straight from disk: a corpus may be larger than memory.

    A folder holds for each field the ids of all examples one after another (`<field>.ids`, int32) and where each
    begins (`<field>.offsets`, int64), and `corpus.json`. Ids are without beginning and end. Each field is of a
    `FieldKind`; the values of a "number" are float32 in place of ids.

    >>> from regard.data import Digits, Tokenizer
    >>> data = Digits("reverse", size=100)
    >>> words = Tokenizer.train((example.fields["source"] for example in data), kind="words")
    >>> corpus = Corpus.build(data, {"source": words, "target": words}, tempfile.mkdtemp())
    >>> len(corpus), corpus.fields, bool((corpus[7]["source"] == corpus[7]["target"][::-1]).all())
    (100, ('source', 'target'), True)
    """

    def __init__(self, folder: str | Path) -> None:
        """Open a folder that `build` made."""
        self.folder = Path(folder)
        try:
            check(self.folder / "corpus.json")
            self._open(json.loads((self.folder / "corpus.json").read_text(encoding="utf-8")))
        except DataError:
            raise
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(f"{self.folder} is not a corpus: {error}; remove it, and it is built again") from error

    def _open(self, about: Any) -> None:
        """Map the files that `corpus.json` tells of."""
        self.kinds: dict[str, FieldKind] = {name: field["kind"] for name, field in about["fields"].items()}
        self.skipped = Skipped(**about["skipped"])
        self._offsets = {name: self._mapped(name, "offsets", about["count"] + 1) for name in self.kinds}
        self._ids = {name: self._mapped(name, "ids", field["ids"]) for name, field in about["fields"].items()}
        self._count = int(about["count"])
        self.parts: tuple[int, ...] = tuple(about["parts"])

    @classmethod
    def build(
        cls,
        examples: Examples,
        encoders: Mapping[str, Encoder],
        cache: str | Path,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> Corpus:
        """The corpus of these examples: from the cache if it is there, else encoded once and kept.

        The key of the cache is everything that decides the ids: the bytes of the files, the settings of the reader,
        the encoders, the format. It is built beside and renamed when whole, so a build that was killed leaves nothing
        that could be taken for a corpus. Texts stream through; they are never all in memory.

        Args:
            examples: a reader, or generated data.
            encoders: for each field to keep, its `Tokenizer`, `Labels` or `Numbers`.
            cache: the folder of caches; it is made if needed. The data's own folder is never written to.
            workers: processes to encode in; 0 for this one with the library's threads, None for several if the files
                are large and there are more than 4 cores.
            progress: called with the number of examples so far; None draws a bar on a terminal if the files are large.
        """
        key = _key(examples, encoders)
        folder = Path(cache) / key
        if folder.is_dir():
            try:
                return cls(folder)
            except DataError:
                shutil.rmtree(folder)
        Path(cache).mkdir(parents=True, exist_ok=True)
        _sweep(Path(cache))
        building = Path(tempfile.mkdtemp(prefix=f".building-{key}-", dir=cache))
        building.chmod(Path(cache).stat().st_mode)  # whoever may read the cache may read what is in it
        try:
            _write(building, examples, encoders, workers, progress)
            seal(building)
            if _key(examples, encoders) != key:
                changed = ", ".join(map(str, examples.files))
                raise DataError(f"{changed}: changed while being read; start again when nothing writes there")
            _move(building, folder)
        except OSError as problem:
            if problem.filename is not None:
                raise
            raise DataError(
                f"{folder}: cannot be written ({problem.strerror or problem}); make room there"
            ) from problem
        finally:
            shutil.rmtree(building, ignore_errors=True)
        return cls(folder)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self.kinds)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> dict[str, Ids]:
        if not -self._count <= index < self._count:
            raise IndexError(f"example {index} of {self._count}")
        index %= self._count
        return {name: self._ids[name][slice(*self._offsets[name][index : index + 2])] for name in self.kinds}

    def lengths(self, field: str) -> NDArray[np.int64]:
        """How many ids each example has in a field, [N]."""
        return np.diff(self._offsets[self._known(field)])

    def ids(self, field: str) -> Ids:
        """All ids of a field one after another."""
        found: Ids = self._ids[self._known(field)]
        return found

    def counts(self, field: str) -> NDArray[np.int64]:
        """How much there is to predict in each example, [N]: all ids, or one where they are the target together."""
        lengths = self.lengths(field)
        return np.ones_like(lengths) if self.kinds[field] in ONE_TARGET else lengths

    def offsets(self, field: str) -> NDArray[np.int64]:
        """Where each example begins in `ids`, and where the last ends, [N + 1]."""
        return self._offsets[self._known(field)]

    def replaced(self, ids: Mapping[str, Ids], offsets: Mapping[str, NDArray[np.int64]]) -> Corpus:
        """The same examples with other ids in some fields, which are in memory."""
        other = copy.copy(self)
        other._ids, other._offsets = {**self._ids, **ids}, {**self._offsets, **offsets}
        return other

    def _known(self, field: str) -> str:
        if field not in self.kinds:
            raise DataError(f"the corpus has no field {field!r}; it has {', '.join(self.kinds)}")
        return field

    def _mapped(self, field: str, part: str, count: int) -> NDArray[Any]:
        path = self.folder / f"{field}.{part}"
        dtype = np.dtype(value_type(self.kinds[field]) if part == "ids" else "int64")
        if not path.is_file() or path.stat().st_size != count * dtype.itemsize:
            raise DataError(f"{path} is not whole; remove the folder, and it is built again")
        check(path)
        return np.memmap(path, dtype, "r", shape=(count,)) if count else np.empty(0, dtype)


def _key(examples: Examples, encoders: Mapping[str, Encoder]) -> str:
    """The name of everything that decides the ids."""
    described = [f"{name}:{type(encoder).__name__}:{encoder.fingerprint}" for name, encoder in encoders.items()]
    unpacked = [f"gz: {path.suffix == '.gz'}" for path in examples.files]  # the one thing that a name decides
    return fingerprint([f"format {FORMAT}", examples.settings(), *described, *unpacked], examples.files)


def _write(
    folder: Path,
    examples: Examples,
    encoders: Mapping[str, Encoder],
    workers: int | None,
    progress: Progress | None,
) -> None:
    """Encode everything into a folder; `corpus.json` comes last."""
    totals = dict.fromkeys(encoders, 0)
    kinds: dict[str, FieldKind] = dict.fromkeys(encoders, "tokens")
    counts: list[int] = []
    files = {name: ((folder / f"{name}.ids").open("wb"), (folder / f"{name}.offsets").open("wb")) for name in encoders}
    try:
        for _, offsets in files.values():
            offsets.write(np.zeros(1, np.int64).tobytes())
        for part in examples.parts if isinstance(examples, Mixture) else (examples,):
            counts.append(0)
            for chunk in encoded(part, encoders, workers, progress):
                counts[-1] += chunk.size
                for name, (ids, lengths) in chunk.fields.items():
                    files[name][0].write(ids.tobytes())
                    files[name][1].write((totals[name] + np.cumsum(lengths)).tobytes())
                    totals[name] += len(ids)
                    kinds[name] = chunk.kinds[name]
    finally:
        for pair in files.values():
            for file in pair:
                file.close()
    fields = {name: {"kind": kinds[name], "ids": totals[name]} for name in encoders}
    about = {
        "count": sum(counts),
        "parts": counts,
        "fields": fields,
        "skipped": vars(examples.skipped),
        "settings": examples.settings(),
    }
    (folder / "corpus.json").write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")


def _move(building: Path, folder: Path) -> None:
    """Give the whole folder its name; if another process was first, theirs is the same."""
    try:
        building.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _sweep(cache: Path) -> None:
    """Remove what builds that were killed long ago left behind."""
    for left in cache.glob(".building-*"):
        try:
            newest = max(entry.stat().st_mtime for entry in (left, *left.iterdir()))
        except OSError:
            continue
        if time.time() - newest > _ABANDONED:
            shutil.rmtree(left, ignore_errors=True)
