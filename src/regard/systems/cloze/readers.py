"""Readers of cloze files: the Children's Book Test, CNN and DailyMail, and plain JSON lines or TSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.data.example import BadLine, DataReader, Example, good_lines
from regard.data.formats.jsonl import json_object
from regard.data.problems import DataError, shortened
from regard.systems.cloze.question import BETWEEN, BLANK, KEYS, cloze_of, renamed

_ENTITY = re.compile(r"@entity\d+")


@dataclass(frozen=True)
class ClozeFile(DataReader):
    """Base class of the readers: yields the fields "passage" (sentences), "question", "candidates" and "answer".

    Args:
        path: the file.
        placeholder: token that marks the blank in the file; in examples it becomes `XXXXX`.
    """

    path: Path
    placeholder: str = field(default=BLANK, kw_only=True)

    def _example(self, row: Mapping[str, Any], where: str) -> Example | BadLine:
        """Return an example from its parts by name, or a bad line with the reason."""
        try:
            cloze = cloze_of(row, self.placeholder)
        except ValueError as problem:
            return BadLine(where, str(problem))
        fields = {"passage": list(cloze.passage), "question": cloze.question, "candidates": list(cloze.candidates)}
        if self.questions:
            return Example(fields, where)
        answer = row.get("answer")
        if not isinstance(answer, str) or not answer.strip():
            return BadLine(where, "there is no answer")
        answer = " ".join(answer.split())
        if cloze.candidates and answer not in cloze.candidates:
            return BadLine(where, f"the answer {shortened(answer)!r} is none of the {len(cloze.candidates)} candidates")
        return Example({**fields, "answer": answer}, where)


@dataclass(frozen=True)
class ChildrensBooks(ClozeFile):
    """The Children's Book Test: 20 numbered sentences, then question, answer and candidates, separated by tabs.

    Any number of sentences is accepted. A blank line, or the number 1, starts the next question.

    Hill, Bordes, Chopra & Weston 2016, "The Goldilocks Principle", section 2.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "cbtest_NE_train.txt"
    >>> _ = path.write_text("1 Ann left .\\n2 Bo stayed .\\n3 XXXXX went home .\\tAnn\\t\\tAnn|Bo\\n")
    >>> for value in next(iter(ChildrensBooks(path))).fields.values():
    ...     print(value)
    ['Ann left .', 'Bo stayed .']
    XXXXX went home .
    ['Ann', 'Bo']
    Ann
    """

    def read(self) -> Iterator[Example | BadLine]:
        """Yield an example at each line that contains a question."""
        story: list[str] = []
        for line in good_lines(self.path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                yield line
                continue
            if not line.text.strip():
                story = []
                continue
            where = f"{self.path}:{line.number}"
            digits, _, text = line.text.lstrip().partition(" ")
            if not (digits.isascii() and digits.isdigit()) or not text.strip():
                yield BadLine(where, "the line is not a number, a space and a sentence")
                continue
            story = [] if digits == "1" else story
            question, *cells = text.split("\t")
            if not cells:
                story.append(text)
                continue
            answer, candidates = cells[0], cells[-1] if len(cells) > 1 else ""
            row = {"passage": story, "question": question, "answer": answer, "candidates": candidates}
            yield self._example(row, where)


@dataclass(frozen=True)
class News(ClozeFile):
    """CNN and DailyMail: one `.question` file, or a folder of them, each with one question about an article.

    A file has blocks separated by blank lines: URL, article, question with `@placeholder`, answer, and one line
    `@entity3:Name` per entity. The candidates are the entities of the article.

    Hermann et al. 2015, "Teaching Machines to Read and Comprehend", section 2.1.
    """

    placeholder: str = field(default="@placeholder", kw_only=True)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the folder, sorted by name."""
        if Path(self.path).is_file():
            return (Path(self.path),)
        found = tuple(sorted(Path(self.path).glob("*.question")))
        if not found:
            raise DataError(f"{self.path}: the folder has no file that ends in .question")
        return found

    def read(self) -> Iterator[Example | BadLine]:
        """Yield the question of each file."""
        for path in self.files:
            lines = list(good_lines(path, self.encoding, self.max_line))
            bad = next((line for line in lines if isinstance(line, BadLine)), None)
            yield bad or self._question([line.text for line in lines if not isinstance(line, BadLine)], path)

    def _question(self, lines: list[str], path: Path) -> Example | BadLine:
        blocks = [block.split("\n") for block in re.split(r"\n\s*\n", "\n".join(lines).strip())]
        if len(blocks) < 4:
            return BadLine(
                str(path), f"the file has {len(blocks)} blocks; they are address, article, question and answer"
            )
        _, article, question, answer = (" ".join(block) for block in blocks[:4])
        entities = list(dict.fromkeys(_ENTITY.findall(article)))
        row = {"passage": article, "question": question, "answer": answer, "candidates": entities}
        return self._example(row, str(path))


@dataclass(frozen=True)
class PlainCloze(ClozeFile):
    """One question per line: a JSON object, or the tab-separated columns passage, question, candidates and answer.

    Candidates are optional; in a column they are separated by `|`. Files with the suffix .jsonl contain objects, all
    others columns.

    Args:
        keys: keys of passage, question, candidates and answer in an object.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "own.tsv"
    >>> _ = path.write_text("Ann left. Bo stayed.\\tXXXXX went home.\\t\\tAnn\\n")
    >>> next(iter(PlainCloze(path))).fields["answer"]
    'Ann'
    """

    keys: tuple[str, ...] = field(default=KEYS, kw_only=True)

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one question per line."""
        name = Path(self.path).name.removesuffix(".gz")
        objects = name.endswith((".jsonl", ".ndjson", ".json"))
        for line in good_lines(self.path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                yield line
            elif line.text.strip():
                where = f"{self.path}:{line.number}"
                row = json_object(line.text, where) if objects else self._row(line.text, where)
                if isinstance(row, BadLine):
                    yield row
                else:
                    yield self._example(renamed(row, self.keys) if objects else row, where)

    def _row(self, text: str, where: str) -> dict[str, Any] | BadLine:
        cells = text.split("\t")
        if not (2 if self.questions else len(KEYS)) <= len(cells) <= len(KEYS):
            named = f"passage, question, candidates with {BETWEEN} between them (or blank) and answer"
            return BadLine(where, f"the line has {len(cells)} columns; there are four, {named}")
        return dict(zip(KEYS, cells, strict=False))
