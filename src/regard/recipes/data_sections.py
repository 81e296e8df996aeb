"""Sections `data` of the file formats that more than one system can learn from: one class per format."""

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
"""Bytes of a file whose lines are counted in a tenth of a second."""


class SplitSection(Section):
    """Split of data that come in one file."""

    by: Literal["source", "target", "order"] = "source"
    """By a hash of the source or of the target, so that equal ones stay together; or in the order of the file."""
    valid: float = Field(0.05, gt=0, lt=1)
    """Share of the validation split; in `order` it follows the training split."""
    test: float = Field(0.0, ge=0, lt=1)
    """Share of the test split; in `order` it comes last."""
    salt: str = ""
    """Salt of the hash: another text gives another split."""
    fold: int = Field(0, ge=0)
    """Fold of a cross-validation, from 0: each tests another part of the data; with `test: 0.1`, 0 to 9."""

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
        """Return a split of data that come in one piece."""
        from regard.data import HashSplit, OrderedSlice

        if self.by != "order":
            by = (reading.answer or reading.question) if self.by == "target" else reading.group
            return HashSplit(everything, split, by=by, valid=self.valid, test=self.test, salt=self.salt, fold=self.fold)
        learned, validated = 1 - self.valid - self.test, 1 - self.test
        begin, end = {"train": (0.0, learned), "valid": (learned, validated), "test": (validated, 1.0)}[split]
        return OrderedSlice(everything, begin, end)


class Files(DataSection):
    """Keys of all data that lie in files."""

    root: Path | None = None
    """Folder of the files below; None for the working directory."""
    encoding: str = "utf-8"
    """Encoding of the files, by any name that Python knows."""

    @field_validator("encoding")
    @classmethod
    def _known(cls, encoding: str) -> str:
        try:
            codecs.lookup(encoding)
        except (LookupError, ValueError):
            raise ValueError("there is no such encoding; utf-8, latin-1 and cp1252 are frequent ones") from None
        return encoding

    max_line: int = Field(LONGEST, ge=1)
    """Longest line in bytes; a longer one is a bad line."""
    bad_lines: Literal["refuse", "skip"] = "refuse"
    """Bad lines: `refuse` stops and names the line, `skip` leaves it out and counts it."""

    def reading(self) -> dict[str, Any]:
        """The arguments that all readers of files have in common."""
        return self.model_dump(include={"encoding", "max_line", "bad_lines"})


class SplittableFiles(Files):
    """Files per split, or files that are split."""

    split: SplitSection | None = None
    """Split of `train`, for `valid` and `test` without files of their own."""

    @model_validator(mode="after")
    def _divided(self) -> SplittableFiles:
        valid, test = (getattr(self, name) for name in ("valid", "test"))
        if (valid is None) == (self.split is None):
            raise ValueError("set valid, what to validate on, or split, to divide train; one of them")
        if self.split is not None and self.split.test and test is not None:
            raise ValueError("test is a file and split.test a share; set one of them")
        return self

    def reader(self, named: Any, reading: FieldLayout) -> DataReader:
        """Return the reader of a file, or of a pair of files, that a key of this section names."""
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
            return everything.each(lambda part: division.part(part, split, reading))  # each keeps weight and end
        return division.part(everything, split, reading)

    def _read(self, named: Any, reading: FieldLayout) -> Examples:
        """Examples of a file or a pair of files, or of several with weights."""
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
    """One of several training files; a name alone has weight 1."""

    file: DataFile
    """File name."""
    weight: Weight = 1.0
    """Repetitions of each example per epoch: 3 for three, 0.5 for half of them, drawn anew in each epoch."""

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
    """One of several training pairs of files."""

    weight: Weight = 1.0
    """Repetitions of each example per epoch, as for one file."""

    @property
    def named(self) -> PairFiles:
        """File, or pair of files, without its weight."""
        return self


def _form(given: Any) -> str:
    """The branch of a union; brackets tell it from the keys of a section."""
    return "[several]" if isinstance(given, list | tuple) else "[one]"


def _spelled(given: Any) -> Any:
    """Files with a weight each, where some are given by their names alone."""
    return [{"file": one} if isinstance(one, str) else one for one in given] if isinstance(given, list) else given


class SplitFiles(SplittableFiles):
    """Data with one file per split, or one file that is split; `train` may be several files."""

    train: Annotated[
        Annotated[DataFile, Tag("[one]")] | Annotated[tuple[WeightedFile, ...], Field(min_length=1), Tag("[several]")],
        Discriminator(_form),
        BeforeValidator(_spelled),
    ]
    """Training file, or several with weights: `[{file: a.tsv, weight: 3}, {file: b.tsv}]`; with `split`, the files to
    split."""
    valid: DataFile | None = None
    """Validation file."""
    test: DataFile | None = None
    """Test file; None for no test."""

    def training_files(self) -> tuple[Path, ...]:
        """Return the files to train on."""
        named = [one.file for one in self.train] if isinstance(self.train, tuple) else [self.train]
        return tuple(map(self._path, named))


class PairsData(SplittableFiles):
    """Pairs of text files, line by line; `.gz` is decompressed."""

    format: Literal["pairs"]
    """Selects this format."""
    train: Annotated[
        Annotated[PairFiles, Tag("[one]")] | Annotated[tuple[WeightedPair, ...], Field(min_length=1), Tag("[several]")],
        Discriminator(_form),
    ]
    """Training files, or a list of pairs with a `weight` each; with `split`, the files to split."""
    valid: PairFiles | None = None
    """Validation files."""
    test: PairFiles | None = None
    """Test files; None for no test."""

    def pair_paths(self) -> list[tuple[Path, Path]]:
        """Return the files of every pair, source and target."""
        root, train = self.root or Path(), self.train if isinstance(self.train, tuple) else (self.train,)
        named = (one for one in (*train, self.valid, self.test) if one is not None)
        return [(root / one.source, root / one.target) for one in named]

    def reader(self, named: PairFiles, reading: FieldLayout) -> DataReader:
        from regard.data import Pairs

        return Pairs(self._path(named.source), self._path(named.target), **self.reading())

    def check_files(self) -> None:
        """Check that small files of pairs have as many lines; large ones are checked when they are read."""
        from regard.data.formats.pairs import Pairs

        for source, target in self.pair_paths():
            if max(source.stat().st_size, target.stat().st_size) <= _SMALL:
                Pairs(source, target, **self.reading()).check()


class TableData(SplitFiles):
    """Columns of a TSV or CSV file."""

    format: Literal["table"]
    """Selects this format."""
    source: str | int | list[str | int] = 0
    """Input column: its number from 0, or its name in the header. Two columns, `[0, 1]`, for models that read two
    texts."""
    target: str | int = 1
    """Target column: a text or a label. Language models have none."""
    delimiter: Literal["tab", "comma"] | None = None
    """Separator of columns; `comma` reads quotes as CSV does. None for a comma in `.csv` and `.csv.gz` files, and a tab
    in others."""
    header: bool = False
    """The first line is a header."""

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
    """Key of the input. Two keys for models that read two texts."""
    target: str = "target"
    """Key of the target: a text, a label, or a list of tags. Language models have none."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Jsonl

        columns = reading.columns(self.source, self.target)
        return Jsonl(self._path(named), columns, target_kind=reading.target_kind, **self.reading())


class HubData(DataSection):
    """A data set that the `datasets` library loads (the extra `regard[data]`)."""

    format: Literal["hub"]
    """Selects this format."""
    name: str
    """Name of the data set on the hub, or a folder."""
    config: str | None = None
    """Configuration, of a data set that has several."""
    train: str = "train"
    """Training split, or a slice of it: `train[:1000]`."""
    valid: str = "validation"
    """Validation split."""
    test: str | None = None
    """Test split; None for no test."""
    source: str | list[str] = "source"
    """Input column; nested ones with a dot: `translation.de`. Two columns for models that read two texts."""
    target: str = "target"
    """Target column. Language models have none."""
    bad_lines: Literal["refuse", "skip"] = "refuse"
    """Bad rows: `refuse` stops and names the row, `skip` leaves it out and counts it."""

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
    """The CMU pronouncing dictionary: words to phonemes."""

    format: Literal["cmudict"]
    """Selects this format."""
    stress: bool = False
    """Keep the stress of vowels: AH0, AH1, AH2."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Cmudict

        return Cmudict(self._path(named), stress=self.stress, **self.reading())


class TextData(SplitFiles):
    """Plain text, one text per line."""

    format: Literal["text"]
    """Selects this format."""
    blank: Literal["drop", "keep"] = "drop"
    """Blank lines: dropped, or kept as empty texts."""
    ends: bool = False
    """Line ends are part of the text, blank lines too, as character models need."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Text

        return Text(self._path(named), blank=self.blank, ends=self.ends, **self.reading())


class LabelledData(SplitFiles):
    """One text per line, with its label."""

    format: Literal["labelled"]
    """Selects this format."""
    label: Literal["first", "last"] = "first"
    """Position of the label on the line."""
    separator: str | None = Field(None, min_length=1)
    """Separator of label and text; None for white space."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import LabelledLines

        return LabelledLines(
            self._path(named), self.label, separator=self.separator, target_kind=reading.target_kind, **self.reading()
        )


class FolderData(Files):
    """Folder of .txt files named by the label of their lines, or of folders named by a label with one text per file."""

    format: Literal["folder"]
    """Selects this format."""
    train: DataFolder
    """Training folder; `split` takes the validation split from it."""
    test: DataFolder | None = None
    """Test folder; None for a share of `train`, or no test."""
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
    """One word per line with its tags in columns, and a blank line between sentences."""

    format: Literal["columns"]
    """Selects this format."""
    source: int | list[int] = 0
    """Column of the word, from 0; -1 is the last. Two columns, `[0, 1]`, for a word and a feature of it."""
    target: int = 1
    """Column of the tag."""
    separator: str | None = Field(None, min_length=1)
    """Separator of columns; None for white space."""
    comment: str | None = None
    """Prefix of comment lines, which are skipped."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Columns

        columns = reading.columns(self.source, self.target)
        return Columns(self._path(named), columns, separator=self.separator, comment=self.comment, **self.reading())


class ConlluData(SplitFiles):
    """Universal Dependencies: one word per line in ten columns, and a blank line between sentences."""

    format: Literal["conllu"]
    """Selects this format."""
    source: Literal["form", "lemma"] = "form"
    """Column of the word."""
    target: Literal["upos", "xpos", "feats", "deprel", "lemma", "form"] = "upos"
    """Column of the tag."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Conllu

        return Conllu(self._path(named), reading.columns(self.source, self.target), **self.reading())
