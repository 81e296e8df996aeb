"""Example, and the readers that yield examples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self, runtime_checkable

from regard.data.fields.target_kinds import ONE_LABEL, TargetKind
from regard.data.formats.encodings import lone_surrogate
from regard.data.formats.lines import LONGEST, Line, lines
from regard.data.problems import DataError, SkippedLines, shortened

Value = str | list[str]
"""A field that is read as text; a kind of field may take other values, as arrays."""
COLUMNS = "data.source and data.target to columns that are there"
_WORDS = 400  # characters of a reason, which quotes what may be a whole file


class Example(NamedTuple):
    """One example: its fields by name, whose values their kinds know how to encode, and its place (`file:line`)."""

    fields: dict[str, Any]
    where: str

    @property
    def line(self) -> int | None:
        """The number of its line in the file; None where it stands on none."""
        return line_number(self.where)


class BadLine(NamedTuple):
    """A line that is no example, and why."""

    where: str
    why: str
    keys: str = ""
    """The keys of the recipe that are wrong where the first line is bad in this way."""

    @property
    def line(self) -> int | None:
        """The number of the line; None where there is none."""
        return line_number(self.where)


def line_number(where: str) -> int | None:
    """Return the line of `file:line`; None where a place is no line.

    >>> line_number("reviews.csv:12"), line_number("dev.json: question 7")
    (12, None)
    """
    digits = where.rpartition(":")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else None


class Examples(Protocol):
    """Anything that gives the same examples whenever it is iterated over, and can say what they depend on."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read; none for generated data."""

    @property
    def skipped(self) -> SkippedLines:
        """Lines that the last iteration left out."""

    def settings(self) -> str:
        """Everything but the files that decides what the examples are."""

    def __iter__(self) -> Iterator[Example]: ...


@runtime_checkable
class Checksummed(Protocol):
    """Examples that are parts of one whole, such as a graph, and have checksums of their own."""

    def sums(self) -> dict[str, str]:
        """Return the checksums by part."""


@dataclass(frozen=True)
class WrappedExamples:
    """Base of examples that are made of others: their files and bad lines are those of the others.

    Attributes:
        examples: the others.
    """

    examples: Examples

    @property
    def files(self) -> tuple[Path, ...]:
        """Files of the wrapped examples."""
        return self.examples.files

    @property
    def skipped(self) -> SkippedLines:
        """Bad lines of the wrapped examples."""
        return self.examples.skipped


@dataclass(frozen=True)
class DataReader(ABC):
    """Examples from files. A subclass names its path fields in `PATHS` and gives examples and bad lines in order.

    Args:
        encoding: of the files; every one that writes a line end as ASCII does (utf-8, latin-1, cp1252, ...).
        max_line: the longest line in bytes; a longer one is a bad line.
        bad_lines: "refuse" raises at the first line that is no example, "skip" counts it in `skipped` and goes on.
        questions: whether only what a model is asked is read: answers may be missing, and a blank text is one.
        target_kind: the form of the field "label", where there is one.
    """

    PATHS: ClassVar[tuple[str, ...]] = ("path",)
    registered_as: ClassVar[str] = "reader"

    encoding: str = field(default="utf-8", kw_only=True)
    max_line: int = field(default=LONGEST, kw_only=True, repr=False)
    bad_lines: Literal["refuse", "skip"] = field(default="refuse", kw_only=True)
    questions: bool = field(default=False, kw_only=True, repr=False)
    target_kind: TargetKind = field(default=ONE_LABEL, kw_only=True, repr=False)
    skipped: SkippedLines = field(default_factory=SkippedLines, init=False, repr=False, compare=False)

    @abstractmethod
    def read(self) -> Iterator[Example | BadLine]:
        """The examples and the bad lines in the order of the file."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read, in order."""
        return tuple(Path(getattr(self, name)) for name in self.PATHS)

    def settings(self) -> str:
        """Everything but the paths that decides what the examples are."""
        kept = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr and f.name not in self.PATHS]
        return f"{type(self).__name__}({', '.join(kept)}){self.target_setting}{self.limit_setting}"

    @property
    def target_setting(self) -> str:
        """The form of labels in `settings`; nothing of one label, so that caches keep the names they always had."""
        return "" if self.target_kind == ONE_LABEL else f" {self.target_kind}"

    @property
    def limit_setting(self) -> str:
        """The longest line in `settings`; nothing of the usual one, for the same reason."""
        return "" if self.max_line == LONGEST else f" {self.max_line}"

    def may_be_blank(self, name: str) -> bool:
        """Return whether an empty field is allowed."""
        return self.questions or (name == "label" and self.target_kind.blank)

    def asking(self, columns: Mapping[str, Any]) -> Self:
        """Return a reader of inputs alone, without answers.

        Args:
            columns: field to column, of formats with columns.
        """
        return replace(self, questions=True)

    def items(self) -> Iterator[Example | BadLine]:
        """Return the examples and the bad lines in the order of the file, whatever `bad_lines` says."""
        return map(self._agreeing, self.read())

    def __iter__(self) -> Iterator[Example]:
        if self.bad_lines not in ("refuse", "skip"):
            raise DataError(f"bad_lines is {self.bad_lines!r}; it can be 'refuse' or 'skip'")
        self.skipped.clear()
        empty = True
        for item in self.items():
            if isinstance(item, Example):
                empty = False
                yield item
            elif self.bad_lines == "refuse":
                remedy = f"set {item.keys}" if empty and item.keys else "mend the line or set bad_lines to skip"
                raise DataError(f"{item.where}: {shortened(item.why, _WORDS)}; {remedy}")
            else:
                self.skipped.add(f"{item.where}: {shortened(item.why, _WORDS)}")
        if empty:
            raise DataError(f"{' and '.join(map(str, self.files))}: {self._emptiness()}")

    def _emptiness(self) -> str:
        return f"every line is bad ({self.skipped})" if self.skipped.count else "the file has no examples"

    def _agreeing(self, item: Example | BadLine) -> Example | BadLine:
        """Return the example with its label in normal form; one whose label or tags are no such thing is bad."""
        if isinstance(item, BadLine):
            return item
        if (label := item.fields.get("label")) is not None and not self.questions:
            try:
                item = item._replace(fields=item.fields | {"label": self.target_kind.read(label)})
            except ValueError as problem:
                return BadLine(item.where, str(problem))
        why = _unwritable(item.fields) or disagreement(item.fields)
        return item if why is None else BadLine(item.where, why)


def _unwritable(values: Mapping[str, Any]) -> str | None:
    """Return the first text with half of a surrogate pair, as a sentence; None if there is none."""
    for name, value in values.items():
        text = "".join(one for one in value if isinstance(one, str)) if isinstance(value, list) else value
        if isinstance(text, str) and lone_surrogate(text) is not None:
            return f"the field {name!r} has half of a surrogate pair (as JSON's \\ud800), which is not a character"
    return None


def good_lines(path: Path, encoding: str, longest: int = LONGEST) -> Iterator[Line | BadLine]:
    """The lines of a file; those that are too long or cannot be decoded as `BadLine`."""
    for line in lines(path, encoding, longest):
        yield line if line.problem is None else BadLine(f"{path}:{line.number}", line.problem)


def disagreement(fields: Mapping[str, Any]) -> str | None:
    """Return a sentence on tags that do not fit their words; None if they fit.

    A sentence has as many tags as words; a tag is one word, because answers are written with spaces between.

    >>> disagreement({"text": ["He", "reckons"], "tags": ["PRP"]})
    'there are 2 words and 1 tags; each word needs one'
    """
    if not {"text", "tags"} <= fields.keys():
        return None
    return _beside(fields["text"], fields["tags"], "tag") or (
        _beside(fields["text"], fields["features"], "feature") if "features" in fields else None
    )


def _beside(words: str | list[str], tags: str | list[str], name: str) -> str | None:
    """Return a sentence on what stands beside the words and does not fit them."""
    if isinstance(words, str) or isinstance(tags, str):
        return f"words and {name}s must be two lists, a {name} for each word"
    for kind, values in (("word", words), (name, tags)):
        for value in values:
            if not _word(value):
                return f"the {kind} {value!r} is empty or has white space in it"
    if len(words) != len(tags):
        return f"there are {len(words)} words and {len(tags)} {name}s; each word needs one"
    return None


def _word(value: str) -> bool:
    return value.split() == [value]
