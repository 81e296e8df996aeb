"""Reader of SQuAD as retrieval data: pairs of a question and its paragraph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.example import BadLine, DataReader, Example
from regard.data.formats.jsonl import parsed_json
from regard.data.formats.lines import check_encoding, opened, read_errors
from regard.data.problems import DataError

_LARGEST = 1 << 30  # bytes


@dataclass(frozen=True)
class SquadQueries(DataReader):
    """SQuAD 1.1 or 2.0 for search: a question is a query, and its paragraph the passage.

    Fields "query", "passage" and "article", its title; answers are not read.

    Args:
        path: the file; .gz is decompressed.
    """

    path: str | Path

    def read(self) -> Iterator[Example | BadLine]:
        """Yield one example per question."""
        path = Path(self.path)
        for number, article in enumerate(self._articles(path), start=1):
            if not isinstance(article, dict) or not isinstance(article.get("paragraphs"), list):
                yield BadLine(f"{path}: article {number}", "this is not {title: ..., paragraphs: [...]}")
                continue
            title = str(article.get("title", number))
            for place, paragraph in enumerate(article["paragraphs"], start=1):
                yield from _asked(paragraph, title, f"{path}: article {number}, paragraph {place}")

    def _articles(self, path: Path) -> list[Any]:
        """Parse the file, a single JSON object, and return its articles."""
        check_encoding(self.encoding, path)
        with opened(path) as file, read_errors(path):
            raw = file.read(_LARGEST + 1)
        if len(raw) > _LARGEST:
            raise DataError(f"{path}: the file has more than {_LARGEST:,} bytes; cut it")
        try:
            found = parsed_json(raw.decode(self.encoding))
        except ValueError as error:
            raise DataError(f"{path} is not JSON in {self.encoding}: {error}") from error
        articles = found.get("data") if isinstance(found, dict) else None
        if not isinstance(articles, list):
            raise DataError(f"{path} is not in SQuAD's format: it has no list 'data' of articles")
        return articles


def _asked(paragraph: Any, title: str, where: str) -> Iterator[Example | BadLine]:
    """Yield the questions of a paragraph."""
    passage = paragraph.get("context") if isinstance(paragraph, dict) else None
    if not isinstance(passage, str) or not passage.strip() or not isinstance(paragraph.get("qas"), list):
        yield BadLine(where, "this is not {context: ..., qas: [...]}")
        return
    for number, asked in enumerate(paragraph["qas"], start=1):
        query = asked.get("question") if isinstance(asked, dict) else None
        if not isinstance(query, str) or not query.strip():
            yield BadLine(f"{where}, question {number}", "there is no question")
        else:
            fields = {"query": " ".join(query.split()), "passage": " ".join(passage.split()), "article": title}
            yield Example(fields, f"{where}, question {number}")
