"""Corpus: the encoded fields of all examples, in memory-mapped files."""

from __future__ import annotations

import copy
import json
import math
import shutil
import tempfile
import time
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from regard.checksum import sums_of, verify_checksum, write_checksum
from regard.data.batching.encoding import Progress, encode_chunks
from regard.data.batching.mixture import Mixture
from regard.data.example import Examples
from regard.data.fields.column import Column, EncodedRows, Part
from regard.data.fields.field import Field
from regard.data.fingerprint import fingerprint
from regard.data.problems import DataError, FileNotes, SkippedLines

FORMAT = 3  # version of the file layout, part of the cache key; 3: a field may have several files
_ABANDONED = 24 * 3600.0
_REBUILT = "remove the folder, and it is built again"

Ids = NDArray[Any]


class Corpus:
    """Encoded examples by index, memory-mapped from disk: a corpus may be larger than memory.

    A folder contains `corpus.json` and the parts of each field: the concatenated rows of all examples
    (`<field>.<part>`) and their offsets (`<field>.<part>.offsets`, int64), unless all examples have the same number of
    rows. The kind of a field defines its parts and their types (`Field.parts`). Texts are ids without `<s>` and `</s>`.

    Attributes:
        kinds: the kind of each field, by name.
        skipped: lines that the reader skipped.
        file_notes: notes on files that were converted or looked damaged.
        parts: number of examples of each part of a mixture; a single number for other data.

    >>> from regard.data import Tokenizer, TokensField
    >>> from regard.systems.translation.digits import Digits
    >>> data = Digits("reverse", size=100)
    >>> words = TokensField(Tokenizer.train((example.fields["source"] for example in data), kind="words"))
    >>> corpus = Corpus.build(data, {"source": words, "target": words}, tempfile.mkdtemp())
    >>> len(corpus), corpus.fields, bool((corpus[7]["source"] == corpus[7]["target"][::-1]).all())
    (100, ('source', 'target'), True)
    """

    def __init__(self, folder: str | Path, fields: Mapping[str, Field[Any]]) -> None:
        """Open a folder written by `build` with these fields."""
        self.folder = Path(folder)
        self.kinds: dict[str, Field[Any]] = dict(fields)
        try:
            verify_checksum(self.folder / "corpus.json")
            self._open(json.loads((self.folder / "corpus.json").read_text(encoding="utf-8")))
        except DataError:
            raise
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(f"{self.folder} is not a corpus: {error}; remove it, and it is built again") from error

    def _open(self, about: Any) -> None:
        """Map the files that `corpus.json` lists."""
        self.skipped = SkippedLines(**about["skipped"])
        self.file_notes = FileNotes(**about.get("file_notes", {}))
        self._count = int(about["count"])
        self.parts: tuple[int, ...] = tuple(about["parts"])
        self._columns = {name: self._column(name, about["fields"][name]) for name in self.kinds}
        for name, kind in self.kinds.items():
            if not kind.fits(self._columns[name]):
                raise DataError(f"{self.folder / name} has values out of range; {_REBUILT}")

    def _column(self, field: str, rows: Mapping[str, int]) -> Column:
        values: dict[str, Ids] = {}
        offsets: dict[str, NDArray[np.int64]] = {}
        for part in self.kinds[field].parts:
            values[part.name] = self._mapped(f"{field}.{part.name}", part.dtype, (rows[part.name], *part.inner))
            if part.rows is None:
                path = f"{field}.{part.name}.offsets"
                offsets[part.name] = self._mapped(path, "int64", (self._count + 1,))
                if not _ascend(offsets[part.name], rows[part.name]):
                    raise DataError(f"{self.folder / path} does not divide the rows among the examples; {_REBUILT}")
            else:
                offsets[part.name] = np.arange(self._count + 1) * part.rows
        return Column(values, offsets)

    @classmethod
    def build(
        cls,
        examples: Examples,
        fields: Mapping[str, Field[Any]],
        cache: str | Path,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> Corpus:
        """Return the corpus of these examples, from the cache if it exists; otherwise encode and cache them.

        The cache key is a hash of everything that determines the values: the bytes of the files, the settings of the
        reader, the kinds of the fields with their encoders, and the format version. The corpus is written to a
        temporary folder and renamed when complete, so an interrupted build leaves no partial corpus. Examples are
        streamed, so they need not fit in memory.

        Args:
            examples: a reader, or generated data.
            fields: the kind of each field to store, with its encoder.
            cache: folder of all caches, created if missing. The folder of the data is never written to.
            workers: number of encoding processes; 0 encodes in this process with the threads of the tokenizers library;
                None uses several if the files are large and there are more than 4 cores.
            progress: called with the number of examples so far; None shows a progress bar on a terminal if the files
                are large.
        """
        key = _key(examples, fields)
        folder = Path(cache) / key
        if folder.is_dir():
            try:
                return cls(folder, fields)
            except DataError:
                shutil.rmtree(folder)  # damaged: build it again
        Path(cache).mkdir(parents=True, exist_ok=True)
        _sweep(Path(cache))
        building = Path(tempfile.mkdtemp(prefix=f".building-{key}-", dir=cache))
        building.chmod(Path(cache).stat().st_mode)  # mkdtemp is private: use the permissions of the cache
        try:
            _write(building, examples, fields, workers, progress)
            write_checksum(building)
            # Files that changed during the build would be cached under the key of their old content.
            if _key(examples, fields) != key:
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
        return cls(folder, fields)

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
        return {name: self.ids(name)[slice(*self.offsets(name)[index : index + 2])] for name in self.kinds}

    def column(self, field: str) -> Column:
        """Return all values of a field."""
        if field not in self.kinds:
            raise DataError(f"the corpus has no field {field!r}; it has {', '.join(self.kinds)}")
        return self._columns[field]

    def lengths(self, field: str) -> NDArray[np.int64]:
        """Return the number of ids of each example in a field, [N]."""
        return np.diff(self.offsets(field))

    def ids(self, field: str) -> Ids:
        """Return the concatenated ids of a field: the rows of its main part."""
        return self.column(field).values[self.kinds[field].parts[0].name]

    def counts(self, field: str) -> NDArray[np.int64]:
        """Return the number of tokens or values to predict in each example, [N]."""
        column = self.column(field)
        return self.kinds[field].predicted(column)

    def offsets(self, field: str) -> NDArray[np.int64]:
        """Return the offset of each example in `ids`, with the end of the last one, [N + 1]."""
        return self.column(field).offsets[self.kinds[field].parts[0].name]

    def sums(self) -> dict[str, str]:
        """Return checksums of the values and offsets of each part of each field.

        The main part is named `ids` for every kind, for compatibility with checkpoints of earlier formats.
        """
        found, files = dict[str, str](), sums_of(self.folder)
        for field, kind in self.kinds.items():
            for number, part in enumerate(kind.parts):
                name, offsets = ("ids", "offsets") if number == 0 else (part.name, f"{part.name}.offsets")
                found[f"{field}.{name}"] = files[f"{field}.{part.name}"][-1]
                begins = np.ascontiguousarray(self.column(field).offsets[part.name], np.int64)
                found[f"{field}.{offsets}"] = f"{zlib.crc32(begins.data):08x}"
        return found

    def replaced(self, columns: Mapping[str, Column]) -> Corpus:
        """Return a corpus with the columns of some fields replaced by columns in memory."""
        other = copy.copy(self)
        other._columns = {**self._columns, **columns}
        return other

    def _mapped(self, name: str, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
        path, size = self.folder / name, math.prod(shape)
        if not path.is_file() or path.stat().st_size != size * np.dtype(dtype).itemsize:
            raise DataError(f"{path} is not whole; {_REBUILT}")
        if name not in sums_of(self.folder):
            raise DataError(f"{path} has no checksum; {_REBUILT}")
        verify_checksum(path)
        return np.memmap(path, np.dtype(dtype), "r", shape=shape) if size else np.empty(shape, dtype)


def _ascend(offsets: NDArray[np.int64], rows: int) -> bool:
    """Return whether offsets are ascending from 0 to the number of rows."""
    return bool(offsets[0] == 0 and offsets[-1] == rows and (offsets[1:] >= offsets[:-1]).all())


def _key(examples: Examples, fields: Mapping[str, Field[Any]]) -> str:
    """Return the cache key: a hash of everything that determines the stored values."""
    described = [f"{name}:{type(field).__qualname__}:{field.fingerprint}" for name, field in fields.items()]
    # Paths are not part of the key, but the suffix decides whether the content is decompressed.
    unpacked = [f"gz: {path.suffix == '.gz'}" for path in examples.files]
    return fingerprint([f"format {FORMAT}", examples.settings(), *described, *unpacked], examples.files)


def _write(
    folder: Path,
    examples: Examples,
    fields: Mapping[str, Field[Any]],
    workers: int | None,
    progress: Progress | None,
) -> None:
    """Encode all examples into a folder; `corpus.json` is written last."""
    counts, notes = list[int](), FileNotes()
    with ExitStack() as stack:
        files = {
            (name, part.name): stack.enter_context(_PartFile(folder, name, part))
            for name, field in fields.items()
            for part in field.parts
        }
        for source in examples.parts if isinstance(examples, Mixture) else (examples,):
            counts.append(0)
            for chunk in encode_chunks(source, fields, workers, progress):
                counts[-1] += chunk.size
                for (name, part), file in files.items():
                    file.write(chunk.fields[name][part])
                    # Captions of one picture are consecutive examples: report a note on its file once.
                    for note in dict.fromkeys(chunk.fields[name][part].notes):
                        notes.add(note)
    about = {
        "count": sum(counts),
        "parts": counts,
        "fields": {name: {part.name: files[name, part.name].total for part in fields[name].parts} for name in fields},
        "kinds": {name: type(field).__name__ for name, field in fields.items()},
        "skipped": vars(examples.skipped),
        "file_notes": vars(notes),
        "settings": examples.settings(),
    }
    (folder / "corpus.json").write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")


class _PartFile:
    """Writer of the file of one part of a field, and of its offsets if it has any."""

    def __init__(self, folder: Path, field: str, part: Part) -> None:
        self.total = 0
        self._part = part
        self._path = folder / f"{field}.{part.name}"

    def __enter__(self) -> Self:
        self._values = self._path.open("wb")
        self._offsets = None if self._part.rows is not None else Path(f"{self._path}.offsets").open("wb")
        if self._offsets is not None:
            self._offsets.write(np.zeros(1, np.int64).tobytes())
        return self

    def write(self, rows: EncodedRows) -> None:
        """Append the rows of some examples."""
        self._values.write(np.ascontiguousarray(rows.values, self._part.dtype).tobytes())
        if self._offsets is not None:
            self._offsets.write((self.total + np.cumsum(rows.counts, dtype=np.int64)).tobytes())
        self.total += len(rows.values)

    def __exit__(self, *problem: object) -> None:
        self._values.close()
        if self._offsets is not None:
            self._offsets.close()


def _move(building: Path, folder: Path) -> None:
    """Rename the complete folder; if another process was faster, use its corpus, which is identical."""
    try:
        building.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _sweep(cache: Path) -> None:
    """Remove temporary folders of builds that were killed more than a day ago."""
    for left in cache.glob(".building-*"):
        try:
            newest = max(entry.stat().st_mtime for entry in (left, *left.iterdir()))
        except OSError:
            continue
        if time.time() - newest > _ABANDONED:
            shutil.rmtree(left, ignore_errors=True)
