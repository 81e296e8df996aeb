"""Readers of extractive question answering: SQuAD files, and plain tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.example import BadLine, DataReader, Example, good_lines
from regard.data.formats.jsonl import json_object, parsed_json
from regard.data.formats.lines import check_encoding, opened, read_errors
from regard.data.formats.table import comma_separated
from regard.data.problems import DataError, shortened

KEYS = ("question", "context", "answer", "start")
_LINES = 100  # maximum size of a file with a single object, in multiples of the maximum line length


@dataclass(frozen=True)
class Squad(DataReader):
    """SQuAD 1.1: one JSON object with `data`, `paragraphs` and their `qas`.

    Fields "question", "context", "answer" (the first answer), "start" (the index of its first character), "answers"
    (all human answers) and "article" (its title, or else its number). A question without an answer, as in SQuAD 2, is a
    bad line. Answers may also have the form of Hugging Face datasets, {text: [...], answer_start: [...]}.

    Args:
        path: the file; .gz is decompressed.

    Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for Machine Comprehension of Text".
    """

    path: str | Path

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per question."""
        path = Path(self.path)
        try:
            found = parsed_json(self._content(path))
            paragraphs = [
                (str(article.get("title") or f"article {number}"), paragraph)
                for number, article in enumerate(found["data"], start=1)
                for paragraph in article["paragraphs"]
            ]
        except DataError:
            raise
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataError(f"{path} is not in SQuAD's format, {{data: [{{paragraphs: [...]}}]}}: {error}") from error
        for number, (article, paragraph) in enumerate(paragraphs, start=1):
            where = f"{path}: paragraph {number}"
            if not isinstance(paragraph, dict) or not isinstance(paragraph.get("qas"), list):
                yield BadLine(where, "this is not {context: ..., qas: [...]}")
                continue
            for place, asked in enumerate(paragraph["qas"], start=1):
                if not isinstance(asked, dict):
                    yield BadLine(f"{where}, question {place}", "this is not {question: ..., answers: [...]}")
                    continue
                name = shortened(str(asked.get("id", "")))
                where_asked = f"{path}: question {name}"
                if self.questions:
                    yield _question({**asked, "context": paragraph.get("context")}, where_asked)
                else:
                    example = _asked(asked, paragraph.get("context"), where_asked)
                    yield example if isinstance(example, BadLine) else _of_article(example, article)

    def _content(self, path: Path) -> str:
        """Return the text of the file, a single JSON object that may exceed the maximum line length."""
        most = _LINES * self.max_line
        check_encoding(self.encoding, path)
        with opened(path) as file, read_errors(path):
            raw = file.read(most + 1)
        if len(raw) > most:
            raise DataError(f"{path}: the file has more than {most:,} bytes, {_LINES} times data.max_line; cut it")
        return raw.decode(self.encoding)


@dataclass(frozen=True)
class SpanTable(DataReader):
    """One question per line: "question", "context", "answer", and "start", the index of the answer's first character.

    A .jsonl file has objects with these keys; other files have columns in this order, separated by tabs (commas in
    .csv). Without a start, the first occurrence of the answer in the passage is used. In JSON, "answer" may be a list
    of correct answers, the first of which is the training target.

    Args:
        path: the file.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "asked.tsv"
    >>> _ = path.write_text("who left?\\tAda came, and Carl left.\\tCarl\\n")
    >>> [(example.fields["answer"], example.fields["start"]) for example in SpanTable(path)]
    [('Carl', '14')]
    """

    path: str | Path

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per line."""
        path = Path(self.path)
        plain = path.name.removesuffix(".gz")
        objects, comma = plain.endswith((".jsonl", ".json")), plain.endswith(".csv")
        least = 2 if self.questions else 3  # minimum number of columns
        for line in good_lines(path, self.encoding, self.max_line):
            if isinstance(line, BadLine):
                yield line
            elif line.text.strip():
                where = f"{path}:{line.number}"
                row = json_object(line.text, where) if objects else _row(line.text, where, comma=comma, least=least)
                if isinstance(row, BadLine):
                    yield row
                else:
                    yield _question(row, where) if self.questions else _listed(row, where)


def locate_answer(row: Mapping[str, Any], where: str, answers: list[str]) -> Example | BadLine:
    """Return the example if the answer occurs at its start index in the passage, else a bad line with the reason."""
    question, context, answer = (row.get(key) for key in KEYS[:3])
    for key, value in zip(KEYS, (question, context, answer), strict=False):
        if not isinstance(value, str) or not value.strip():
            return BadLine(where, f"there is no {key}")
    assert isinstance(question, str)
    assert isinstance(context, str)
    assert isinstance(answer, str)
    given = row.get("start")
    try:
        start = context.find(answer) if given in (None, "") else int(str(given))
    except ValueError:
        return BadLine(where, f"the start {given!r} is no number")
    if start < 0 or context[start : start + len(answer)] != answer:
        place = "in the passage" if given in (None, "") else f"at character {start} of the passage"
        return BadLine(where, f"the answer {answer[:40]!r} does not stand {place}")
    fields = {"context": _line(context), "question": _line(question), "answer": _line(answer), "start": str(start)}
    return Example({**fields, "answers": list(dict.fromkeys(filter(None, map(_line, answers))))}, where)


def _question(row: Mapping[str, Any], where: str) -> Example | BadLine:
    """Return a question with its passage, ignoring its answers."""
    for key in KEYS[:2]:
        if not isinstance(row.get(key), str) or not row[key].strip():
            return BadLine(where, f"there is no {key}")
    return Example({key: _line(row[key]) for key in KEYS[:2]}, where)


def _line(text: str) -> str:
    """Replace tabs and line ends without changing character indices."""
    return text.translate({9: " ", 10: " ", 13: " "})


def _asked(asked: Mapping[str, Any], context: object, where: str) -> Example | BadLine:
    """Return the example of a SQuAD question with its answers."""
    answers = asked.get("answers") or []
    if isinstance(answers, dict):
        answers = _parallel(answers)
    if not isinstance(answers, list) or not all(isinstance(one, dict) for one in answers):
        return BadLine(where, "its answers are not [{text: ..., answer_start: ...}]")
    if not answers:
        return BadLine(where, "there is no answer in the passage, and a span is what is learned")
    row = {"answer": answers[0].get("text"), "start": answers[0].get("answer_start")}
    texts = [str(one.get("text", "")) for one in answers]
    return locate_answer({"question": asked.get("question"), "context": context, **row}, where, texts)


def _of_article(example: Example, article: str) -> Example:
    return example._replace(fields={**example.fields, "article": article})


def _parallel(answers: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Convert parallel lists of texts and start indices to one object per answer; None for another form."""
    texts, starts = answers.get("text"), answers.get("answer_start")
    if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
        return None
    return [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]


def _listed(row: Mapping[str, Any], where: str) -> Example | BadLine:
    """Return the example of a row with one or several answers."""
    answer = row.get("answer")
    answers = [str(one) for one in (answer if isinstance(answer, list) else [answer]) if one is not None]
    return locate_answer({**row, "answer": answers[0] if answers else None}, where, answers)


def _row(text: str, where: str, *, comma: bool, least: int) -> dict[str, Any] | BadLine:
    cells = next(comma_separated([text])) if comma else text.split("\t")
    if not least <= len(cells) <= len(KEYS):
        return BadLine(
            where, f"the line has {len(cells)} columns; there are {', '.join(KEYS)}, and start may be left out"
        )
    return dict(zip(KEYS, cells, strict=False))
