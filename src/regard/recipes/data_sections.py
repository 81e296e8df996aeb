"""Sections `data` of file formats that several systems share: one class per format."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from regard.data.formats.lines import LONGEST
from regard.recipes.data_section import DataSection, FieldLayout, SplitName
from regard.recipes.files import DataFile, DataFolder
from regard.recipes.section import Section

if TYPE_CHECKING:
    from regard.data.example import DataReader, Examples

Weight = Annotated[float, Field(gt=0, le=1000)]
_SMALL = 2**23
"""Maximum file size in bytes for an early check of line counts; counting takes a tenth of a second."""


class SplitSection(Section):
    """Split of one file into training, validation and test data."""

    by: Literal["source", "target", "order"] = "source"
    """Assign examples to splits by a hash of the source or of the target, so that duplicates are in the same split, or
    in the order of the file."""
    valid: float = Field(0.05, gt=0, lt=1)
    """Fraction of the validation split; with `by: order` it follows the training split."""
    test: float = Field(0.0, ge=0, lt=1)
    """Fraction of the test split; with `by: order` it is the end of the file."""
    salt: str = ""
    """Salt of the hash; a different salt gives a different split."""
    fold: int = Field(0, ge=0)
    """Fold of a cross-validation, counted from 0. Each fold has a different test split; with `test: 0.1` there are
    folds 0 to 9."""

    @model_validator(mode="after")
    def _leaving(self) -> SplitSection:
        if self.valid + self.test >= 1:
            raise ValueError(
                f"valid {self.valid} and test {self.test} leave nothing to learn from; they are shares of 1"
            )
        if self.fold and (self.by == "order" or round((self.fold + 1) * self.test, 9) > 1 or not self.test):
            raise ValueError(
                f"fold {self.fold} tests another part of the data by a hash; with test {self.test} by {self.by} there "
                "is no such part"
            )
        return self

    def part(self, everything: Examples, split: SplitName, reading: FieldLayout) -> Examples:
        """Return one split of the examples."""
        from regard.data import HashSplit, OrderedSlice

        if self.by != "order":
            by = (reading.answer or reading.question) if self.by == "target" else reading.group
            return HashSplit(everything, split, by=by, valid=self.valid, test=self.test, salt=self.salt, fold=self.fold)
        learned, validated = 1 - self.valid - self.test, 1 - self.test
        begin, end = {"train": (0.0, learned), "valid": (learned, validated), "test": (validated, 1.0)}[split]
        return OrderedSlice(everything, begin, end)


class Files(DataSection):
    """Keys of all data formats that are files."""

    root: Path | None = None
    """Folder that file names are relative to; None for the working directory."""
    encoding: str = "utf-8"
    """Character encoding of the files, by any name that Python accepts."""

    @field_validator("encoding")
    @classmethod
    def _known(cls, encoding: str) -> str:
        try:
            codecs.lookup(encoding)
        except (LookupError, ValueError):
            raise ValueError("there is no such encoding; utf-8, latin-1 and cp1252 are frequent ones") from None
        return encoding

    max_line: int = Field(LONGEST, ge=1)
    """Maximum length of a line in bytes; longer lines count as bad lines."""
    bad_lines: Literal["refuse", "skip"] = "refuse"
    """Handling of bad lines: `refuse` stops with an error that names the line, `skip` skips and counts them."""

    def reading(self) -> dict[str, Any]:
        """Return the arguments that all file readers share."""
        return self.model_dump(include={"encoding", "max_line", "bad_lines"})


class SplittableFiles(Files):
    """Data with files per split, or with files that are divided into splits."""

    split: SplitSection | None = None
    """Split of `train` into training, validation and test data, if `valid` or `test` has no file of its own."""

    @model_validator(mode="after")
    def _divided(self) -> SplittableFiles:
        valid, test = (getattr(self, name) for name in ("valid", "test"))
        if (valid is None) == (self.split is None):
            raise ValueError("set valid, what to validate on, or split, to divide train; one of them")
        if self.split is not None and self.split.test and test is not None:
            raise ValueError("test is a file and split.test a share; set one of them")
        return self

    def reader(self, named: Any, reading: FieldLayout) -> DataReader:
        """Return the reader of a file or a pair of files that a key of this section names."""
        raise NotImplementedError

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        named, train = getattr(self, split), getattr(self, "train")  # noqa: B009, of the classes below
        if named is not None and (split != "train" or self.split is None):
            return self._read(named, reading)
        if self.split is None or (split == "test" and not self.split.test):
            return None
        from regard.data import Mixture

        everything, division = self._read(train, reading), self.split
        if isinstance(everything, Mixture) and (split == "train" or division.by == "order"):
            # Divide each file by itself: training files keep their weights, and in order every file has its own end.
            return everything.each(lambda part: division.part(part, split, reading))
        return division.part(everything, split, reading)

    def _read(self, named: Any, reading: FieldLayout) -> Examples:
        """Read the examples of a file or a pair of files, or of several with weights."""
        if not isinstance(named, tuple):
            return self._adapted(named, reading)
        from regard.data import Mixture

        parts = tuple(self._adapted(one.named, reading) for one in named)
        return Mixture(parts, tuple(one.weight for one in named))

    def _adapted(self, named: Any, reading: FieldLayout) -> Examples:
        return reading.adapt(self.reader(named, reading))

    def _path(self, named: str) -> Path:
        return (self.root or Path()) / named


class WeightedFile(Section):
    """One of several training files; a plain file name has weight 1."""

    file: DataFile
    """File name."""
    weight: Weight = 1.0
    """Number of repetitions of each example per epoch; with 0.5, a different random half of the examples in each
    epoch."""

    @property
    def named(self) -> str:
        """File, or pair of files, without its weight."""
        return self.file


class PairFiles(Section):
    """Source and target file, with equal numbers of lines."""

    source: DataFile
    """File of the source."""
    target: DataFile
    """File of the target."""


class WeightedPair(PairFiles):
    """One of several pairs of training files."""

    weight: Weight = 1.0
    """Number of repetitions of each example per epoch; 0.5 for a random half of the examples."""

    @property
    def named(self) -> PairFiles:
        """File, or pair of files, without its weight."""
        return self


def _form(given: Any) -> str:
    """Return the tag of a union's branch, in brackets to distinguish it from keys."""
    return "[several]" if isinstance(given, list | tuple) else "[one]"


def _spelled(given: Any) -> Any:
    """Expand plain file names in a list to mappings."""
    return [{"file": one} if isinstance(one, str) else one for one in given] if isinstance(given, list) else given


class SplitFiles(SplittableFiles):
    """Data with one file per split, or one file that is divided; `train` may be several files."""

    train: Annotated[
        Annotated[DataFile, Tag("[one]")] | Annotated[tuple[WeightedFile, ...], Field(min_length=1), Tag("[several]")],
        Discriminator(_form),
        BeforeValidator(_spelled),
    ]
    """Training file, or several with weights: `[{file: a.tsv, weight: 3}, {file: b.tsv}]`. With `split`, these files
    are divided into the splits."""
    valid: DataFile | None = None
    """Validation file."""
    test: DataFile | None = None
    """Test file; None for no test split."""

    def training_files(self) -> tuple[Path, ...]:
        """Return the paths of the training files."""
        named = [one.file for one in self.train] if isinstance(self.train, tuple) else [self.train]
        return tuple(map(self._path, named))


class PairsData(SplittableFiles):
    """Parallel text files: line i of the source corresponds to line i of the target. `.gz` is decompressed."""

    format: Literal["pairs"]
    """Selects this format."""
    train: Annotated[
        Annotated[PairFiles, Tag("[one]")] | Annotated[tuple[WeightedPair, ...], Field(min_length=1), Tag("[several]")],
        Discriminator(_form),
    ]
    """Pair of training files, or a list of pairs with a `weight` each. With `split`, these files are divided into the
    splits."""
    valid: PairFiles | None = None
    """Validation files."""
    test: PairFiles | None = None
    """Test files; None for no test split."""

    def pair_paths(self) -> list[tuple[Path, Path]]:
        """Return the paths of source and target of every pair."""
        root, train = self.root or Path(), self.train if isinstance(self.train, tuple) else (self.train,)
        named = (one for one in (*train, self.valid, self.test) if one is not None)
        return [(root / one.source, root / one.target) for one in named]

    def reader(self, named: PairFiles, reading: FieldLayout) -> DataReader:
        from regard.data import Pairs

        return Pairs(self._path(named.source), self._path(named.target), **self.reading())

    def check_files(self) -> None:
        """Check that small source and target files have equal numbers of lines; large ones are checked when read."""
        from regard.data.formats.pairs import Pairs

        for source, target in self.pair_paths():
            if max(source.stat().st_size, target.stat().st_size) <= _SMALL:
                Pairs(source, target, **self.reading()).check()


class TableData(SplitFiles):
    """Columns of a TSV or CSV file."""

    format: Literal["table"]
    """Selects this format."""
    source: str | int | list[str | int] = 0
    """Input column: its index, from 0, or its name in the header. Two columns, `[0, 1]`, for models with two input
    texts."""
    target: str | int = 1
    """Target column, which contains a text or a label. Ignored by language models."""
    delimiter: Literal["tab", "comma"] | None = None
    """Column separator; with `comma`, quotes have their meaning in CSV. None for a comma in `.csv` and `.csv.gz` files
    and a tab in others."""
    header: bool = False
    """The first line is a header with the names of the columns."""

    @field_validator("delimiter", mode="before")
    @classmethod
    def _spelt_out(cls, given: Any) -> Any:
        return {",": "comma", "\t": "tab", r"\t": "tab"}.get(given, given) if isinstance(given, str) else given

    @model_validator(mode="after")
    def _headed(self) -> TableData:
        sources = self.source if isinstance(self.source, list) else [self.source]
        named = next((column for column in (*sources, self.target) if isinstance(column, str)), None)
        if named is not None and not self.header:
            raise ValueError(f"column '{named}' is named, so set header to true, or give its number")
        return self

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Table

        delimiter = None if self.delimiter is None else {"tab": "\t", "comma": ","}[self.delimiter]
        columns = reading.columns(self.source, self.target)
        return Table(
            self._path(named),
            columns,
            header=self.header,
            delimiter=delimiter,
            target_kind=reading.target_kind,
            **self.reading(),
        )


class JsonlData(SplitFiles):
    """One JSON object per line."""

    format: Literal["jsonl"]
    """Selects this format."""
    source: str | list[str] = "source"
    """Key of the input. A list of two keys for models with two input texts."""
    target: str = "target"
    """Key of the target, whose value is a text, a label or a list of tags. Ignored by language models."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Jsonl

        columns = reading.columns(self.source, self.target)
        return Jsonl(self._path(named), columns, target_kind=reading.target_kind, **self.reading())


class HubData(DataSection):
    """Data set of the Hugging Face Hub, loaded by the `datasets` library (`pip install regard[data]`)."""

    format: Literal["hub"]
    """Selects this format."""
    name: str
    """Name of the data set on the hub, or a local folder."""
    config: str | None = None
    """Configuration of the data set, if it has several."""
    train: str = "train"
    """Name of the training split, or a slice of it: `train[:1000]`."""
    valid: str = "validation"
    """Name of the validation split."""
    test: str | None = None
    """Name of the test split; None for no test split."""
    source: str | list[str] = "source"
    """Input column; a dot selects a nested one: `translation.de`. A list of two columns for models with two input
    texts."""
    target: str = "target"
    """Target column. Ignored by language models."""
    bad_lines: Literal["refuse", "skip"] = "refuse"
    """Handling of bad rows: `refuse` stops with an error that names the row, `skip` skips and counts them."""

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        from regard.data import Hub

        named = getattr(self, split)
        if named is None:
            return None
        columns = reading.columns(self.source, self.target)
        found = Hub(
            self.name,
            named,
            columns,
            config=self.config,
            bad_lines=self.bad_lines,
            target_kind=reading.target_kind,
        )
        return reading.adapt(found)


class CmudictData(SplitFiles):
    """CMU Pronouncing Dictionary: words and their phonemes."""

    format: Literal["cmudict"]
    """Selects this format."""
    stress: bool = False
    """Keep the stress marks of vowels: AH0, AH1, AH2."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Cmudict

        return Cmudict(self._path(named), stress=self.stress, **self.reading())


class TextData(SplitFiles):
    """Plain text, one text per line."""

    format: Literal["text"]
    """Selects this format."""
    blank: Literal["drop", "keep"] = "drop"
    """Handling of blank lines: dropped, or kept as empty texts."""
    ends: bool = False
    """Keep line ends, and those of blank lines, as part of the text, for character-level models."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Text

        return Text(self._path(named), blank=self.blank, ends=self.ends, **self.reading())


class LabelledData(SplitFiles):
    """Labelled texts: one text per line with its label."""

    format: Literal["labelled"]
    """Selects this format."""
    label: Literal["first", "last"] = "first"
    """Position of the label in the line."""
    separator: str | None = Field(None, min_length=1)
    """Separator between label and text; None for white space."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import LabelledLines

        return LabelledLines(
            self._path(named), self.label, separator=self.separator, target_kind=reading.target_kind, **self.reading()
        )


class FolderData(Files):
    """Folder of labelled texts: a `.txt` file per label with a text per line, or a folder per label with a text per
    file."""

    format: Literal["folder"]
    """Selects this format."""
    train: DataFolder
    """Training folder, which `split` divides into training and validation data."""
    test: DataFolder | None = None
    """Test folder; None for the test split that `split.test` takes from `train`, if any."""
    split: SplitSection = SplitSection()
    """Split of `train`."""

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        from regard.data import LabelledLines

        apart = split == "test" and self.test is not None
        folder = (self.root or Path()) / (str(self.test) if apart else self.train)
        found = LabelledLines(folder, "file", **self.reading())
        if apart:
            return found
        return None if split == "test" and not self.split.test else self.split.part(found, split, reading)


class ColumnsData(SplitFiles):
    """CoNLL-style columns: one word per line with its tags, and a blank line between sentences."""

    format: Literal["columns"]
    """Selects this format."""
    source: int | list[int] = 0
    """Column index of the word, from 0; -1 is the last. Two columns, `[0, 1]`, for a word and a feature of it."""
    target: int = 1
    """Column index of the tag, from 0; -1 is the last."""
    separator: str | None = Field(None, min_length=1)
    """Column separator; None for white space."""
    comment: str | None = None
    """Prefix of comment lines, which are skipped."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Columns

        columns = reading.columns(self.source, self.target)
        return Columns(self._path(named), columns, separator=self.separator, comment=self.comment, **self.reading())


class ConlluData(SplitFiles):
    """Universal Dependencies (CoNLL-U): one word per line in ten columns, and a blank line between sentences."""

    format: Literal["conllu"]
    """Selects this format."""
    source: Literal["form", "lemma"] = "form"
    """Column of the word."""
    target: Literal["upos", "xpos", "feats", "deprel", "lemma", "form"] = "upos"
    """Column of the tag."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Conllu

        return Conllu(self._path(named), reading.columns(self.source, self.target), **self.reading())
