"""Tokenised rows of SQuAD as one article in SQuAD's JSON, to train on beside other files.

    python benchmarks/squad_rows.py PATH/squad/cs224n_val rows.json

The folder has val.context, val.question and val.span, one row per line, tokens with spaces between; a span is the first
and the last token of the answer, counted from 0. Rows of another span than one that fits its passage are left out and
counted. All rows are one article, so that `split: {by: article}` never divides them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

TITLE = "rows of train"


def question_of(number: int, context: str, question: str, span: str) -> dict[str, Any] | None:
    """Return a paragraph with its question; None if the span does not fit the passage.

    >>> question_of(3, "Ada left Turin .", "What did Ada leave ?", "2 2")["qas"][0]["answers"]
    [{'text': 'Turin', 'answer_start': 9}]
    """
    tokens, (first, last) = context.split(" "), map(int, span.split())
    if not 0 <= first <= last < len(tokens):
        return None
    start = len(" ".join([*tokens[:first], ""]))
    answer = {"text": " ".join(tokens[first : last + 1]), "answer_start": start}
    return {"context": context, "qas": [{"id": str(number), "question": question, "answers": [answer]}]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    files = [given.folder / f"val.{name}" for name in ("context", "question", "span")]
    columns = [file.read_text(encoding="utf-8").split("\n") for file in files]
    rows = [row for row in zip(*columns, strict=True) if all(row)]
    found = [question_of(number, *row) for number, row in enumerate(rows, start=1)]
    kept = [one for one in found if one is not None]
    given.output.write_text(json.dumps({"data": [{"title": TITLE, "paragraphs": kept}]}), encoding="utf-8")
    print(f"{len(kept)} of {len(rows)} rows")


if __name__ == "__main__":
    main()
