"""Examples, and the base class of readers that yield them."""

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
"""Value of a text field; other kinds of fields may take other values, such as arrays."""
COLUMNS = "data.source and data.target to columns that are there"
_WORDS = 400  # maximum characters of an error message, which may quote a whole file


class Example(NamedTuple):
    """One example: its raw field values by name, and its location (`file:line`)."""

    fields: dict[str, Any]
    where: str

    @property
    def line(self) -> int | None:
        """Line number in the file; None if the example is not on a single line."""
        return line_number(self.where)


class BadLine(NamedTuple):
    """A line that is not a valid example, with the reason."""

    where: str
    why: str
    keys: str = ""
    """The recipe keys that are probably wrong if the first line has this problem."""

    @property
    def line(self) -> int | None:
        """Line number in the file; None if there is none."""
        return line_number(self.where)


def line_number(where: str) -> int | None:
    """Return the line number in `file:line`; None if the location has none.

    >>> line_number("reviews.csv:12"), line_number("dev.json: question 7")
    (12, None)
    """
    digits = where.rpartition(":")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else None


class Examples(Protocol):
    """A re-iterable source of examples that yields the same examples each time and describes what they depend on."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The source files; none for generated data."""

    @property
    def skipped(self) -> SkippedLines:
        """Lines skipped in the last iteration."""

    def settings(self) -> str:
        """Return a description of everything but the files that the examples depend on, for the cache key."""

    def __iter__(self) -> Iterator[Example]: ...


@runtime_checkable
class Checksummed(Protocol):
    """Examples that are parts of one object, such as a graph, with checksums of that object."""

    def sums(self) -> dict[str, str]:
        """Return the checksums by part."""


@dataclass(frozen=True)
class WrappedExamples:
    """Base of transformed examples: files and skipped lines are those of the wrapped examples.

    Attributes:
        examples: the wrapped examples.
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
    """Base of readers of files. A subclass lists its path fields in `PATHS` and yields examples and bad lines in order.

    Args:
        encoding: encoding of the files; line ends must be encoded as in ASCII (utf-8, latin-1, cp1252, ...).
        max_line: maximum length of a line in bytes; a longer line is a bad line.
        bad_lines: "refuse" raises an error at the first bad line; "skip" counts it in `skipped` and continues.
        questions: whether to read inputs only, for prediction: targets may be missing and texts may be blank.
        target_kind: the form of the field "label", if there is one.
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
        """Yield the examples and the bad lines in file order."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files to read, in order."""
        return tuple(Path(getattr(self, name)) for name in self.PATHS)

    def settings(self) -> str:
        """Return a description of everything but the paths that the examples depend on, for the cache key."""
        kept = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr and f.name not in self.PATHS]
        return f"{type(self).__name__}({', '.join(kept)}){self.target_setting}{self.limit_setting}"

    @property
    def target_setting(self) -> str:
        """Return the form of labels for `settings`; empty for the default, so that existing caches stay valid."""
        return "" if self.target_kind == ONE_LABEL else f" {self.target_kind}"

    @property
    def limit_setting(self) -> str:
        """Return the maximum line length for `settings`; empty for the default, so that existing caches stay valid."""
        return "" if self.max_line == LONGEST else f" {self.max_line}"

    def may_be_blank(self, name: str) -> bool:
        """Return whether an empty field is allowed."""
        return self.questions or (name == "label" and self.target_kind.blank)

    def asking(self, columns: Mapping[str, Any]) -> Self:
        """Return a reader of inputs only, without targets.

        Args:
            columns: mapping from field to column, for formats with columns.
        """
        return replace(self, questions=True)

    def items(self) -> Iterator[Example | BadLine]:
        """Yield the examples and the bad lines in file order, independently of `bad_lines`."""
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
        """Return the example with a normalised label, or a bad line if its label or tags are invalid."""
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
    """Return an error message for the first text with a lone surrogate; None if there is none."""
    for name, value in values.items():
        text = "".join(one for one in value if isinstance(one, str)) if isinstance(value, list) else value
        if isinstance(text, str) and lone_surrogate(text) is not None:
            return f"the field {name!r} has half of a surrogate pair (as JSON's \\ud800), which is not a character"
    return None


def good_lines(path: Path, encoding: str, longest: int = LONGEST) -> Iterator[Line | BadLine]:
    """Yield the lines of a file; lines that are too long or cannot be decoded are `BadLine`s."""
    for line in lines(path, encoding, longest):
        yield line if line.problem is None else BadLine(f"{path}:{line.number}", line.problem)


def disagreement(fields: Mapping[str, Any]) -> str | None:
    """Return an error message if the tags do not match their words; None if they do.

    Each word has one tag. A tag contains no white space, because predictions are written separated by spaces.

    >>> disagreement({"text": ["He", "reckons"], "tags": ["PRP"]})
    'there are 2 words and 1 tags; each word needs one'
    """
    if not {"text", "tags"} <= fields.keys():
        return None
    return _beside(fields["text"], fields["tags"], "tag") or (
        _beside(fields["text"], fields["features"], "feature") if "features" in fields else None
    )


def _beside(words: str | list[str], tags: str | list[str], name: str) -> str | None:
    """Return an error message if a list parallel to the words does not match them."""
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
