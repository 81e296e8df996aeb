"""Cloze questions: a passage, a question with a blank, and candidate answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.data.formats.jsonl import parsed_json
from regard.data.problems import shortened

BLANK = "XXXXX"
"""The placeholder of the Children's Book Test; other placeholders are replaced by it."""
BETWEEN = "|"
"""Separator of candidates."""
KEYS = ("passage", "question", "candidates", "answer")
_END = re.compile(r"(?<=[.!?]) +")


@dataclass(frozen=True)
class Cloze:
    """A question about a passage, with a blank.

    Attributes:
        passage: sentences of the passage.
        question: question with `XXXXX` in place of the answer, at least once.
        candidates: the distinct possible answers; empty if every word of the passage is a candidate.

    >>> str(Cloze(("Ann left .", "Bo stayed ."), "XXXXX went home", ("Ann", "Bo")))
    'Ann left . Bo stayed .\\tXXXXX went home\\tAnn|Bo'
    """

    passage: tuple[str, ...]
    question: str
    candidates: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = (" ".join(self.passage), self.question, BETWEEN.join(self.candidates))
        return "\t".join(parts if self.candidates else parts[:2])

    def filled(self, candidate: str) -> str:
        """Return the question with its blank filled by a candidate."""
        return self.question.replace(BLANK, candidate)


def cloze_of(fields: Mapping[str, Any], placeholder: str = BLANK) -> Cloze:
    """Build a cloze question from its parts by name.

    Args:
        fields: "passage" (a text, or a list of sentences), "question", and optionally "candidates" (a list, or a text
            separated by `|`).
        placeholder: token that marks the blank in the question; `XXXXX` is accepted too.

    Raises:
        ValueError: a part is missing or blank, or the question has no placeholder.

    >>> cloze_of({"passage": "Ann left. Bo stayed.", "question": "___ went home", "candidates": "Ann|Bo"}, "___")
    Cloze(passage=('Ann left.', 'Bo stayed.'), question='XXXXX went home', candidates=('Ann', 'Bo'))
    """
    passage, question = _sentences(fields.get("passage")), fields.get("question")
    if not passage:
        raise ValueError("there is no passage; give a text, or a list of sentences")
    if not isinstance(question, str) or not question.strip():
        raise ValueError("there is no question; give a text with a placeholder")
    blank = _spaced(question).replace(placeholder, BLANK)
    if BLANK not in blank:
        raise ValueError(
            f"the question {shortened(question)!r} has no placeholder {placeholder!r}; write it where the answer "
            "belongs, or set data.placeholder"
        )
    return Cloze(passage, blank, _candidates(fields.get("candidates")))


def parsed_cloze(text: str, placeholder: str = BLANK) -> Cloze:
    r"""Parse a cloze question: a JSON object, or tab-separated passage, question and candidates.

    Raises:
        ValueError: the text is not a cloze question.

    >>> parsed_cloze("Ann left. Bo stayed.\tXXXXX went home").question
    'XXXXX went home'
    >>> parsed_cloze("Who left?")
    Traceback (most recent call last):
    ValueError: 'Who left?' is no cloze question; write passage, tab, question, and perhaps a tab and candidates ...
    """
    if text.lstrip().startswith("{"):
        try:
            found = parsed_json(text)
        except ValueError as problem:
            raise ValueError(f"{shortened(text)!r} cannot be read as JSON: {problem}") from None
        return cloze_of(renamed(found), placeholder)
    cells = text.split("\t")
    if not 2 <= len(cells) <= len(KEYS) - 1:
        raise ValueError(
            f"{shortened(text)!r} is no cloze question; write passage, tab, question, and perhaps a tab and candidates "
            f"with {BETWEEN} between them"
        )
    return cloze_of(dict(zip(KEYS, cells, strict=False)), placeholder)


_OTHER_NAMES = {"context": "passage", "document": "passage", "query": "question"}


def renamed(found: Mapping[str, Any], keys: Sequence[str] = KEYS) -> dict[str, Any]:
    """Return the parts of a JSON object under canonical names.

    Args:
        found: the object.
        keys: its keys of passage, question, candidates and answer; "context", "document" and "query" are accepted too.

    >>> renamed({"context": ["Ann left ."], "query": "XXXXX left"})
    {'passage': ['Ann left .'], 'question': 'XXXXX left'}
    """
    names = {**_OTHER_NAMES, **dict(zip(KEYS, KEYS, strict=True)), **dict(zip(keys, KEYS, strict=True))}
    return {names[key]: value for key, value in found.items() if key in names}


def _sentences(passage: Any) -> tuple[str, ...]:
    if isinstance(passage, str):
        passage = _END.split(_spaced(passage))
    if not isinstance(passage, Sequence) or not all(isinstance(one, str) for one in passage):
        return ()
    return tuple(filter(None, map(_spaced, passage)))


def _candidates(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        given = given.split(BETWEEN)
    if given is None:
        return ()
    if not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
        raise ValueError(f"the candidates {shortened(str(given))!r} are no list of texts")
    return tuple(dict.fromkeys(filter(None, map(_spaced, given))))


def _spaced(text: str) -> str:
    """Collapse whitespace to single spaces."""
    return " ".join(text.split())
