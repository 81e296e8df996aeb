"""Reader of e-mails in JSON lines, and removal of quotes, signatures and forwarded mail from their bodies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from regard.data.example import BadLine, DataReader, Example, Value
from regard.data.formats.jsonl import json_lines

OTHERS = "others"
"""Field of additional reference subject lines."""
_QUOTE = re.compile(r"\s*[>|]")
_HEADER = re.compile(r"\s*(from|to|cc|bcc|sent|date|subject|importance|attachments?)\s*:", re.IGNORECASE)
_FORWARDED = re.compile(
    r"[\s>]*([-_*]{2,}\s*(original|forwarded)\b.*|[-_*]{10,}\s*|begin forwarded message:.*)", re.IGNORECASE
)
_WROTE = re.compile(r"\s*on\b.{4,120}\bwrote:\s*", re.IGNORECASE)
_SIGNATURE = re.compile(r"--\s*")
_CLOSING = re.compile(
    r"\s*((with )?(best|kind|warm)?\s*(regards|wishes)|best|thanks( again)?|many thanks|thank you|sincerely|yours|"
    r"cheers)\s*[,.!]*\s*",
    re.IGNORECASE,
)
_AFTER_CLOSING = 6  # maximum lines of a signature; a closing further up is part of the text


@dataclass(frozen=True)
class Mail(DataReader):
    """Bodies and subject lines of e-mails.

    Args:
        path: a file with a JSON object per line; `.gz` too.
        body: JSON key of the text.
        subject: JSON key of the subject line.
        others: JSON keys of additional reference subject lines; missing keys are ignored.
        clean: apply `clean_body` to the text.
        longest: maximum length of a body in words; longer ones are truncated.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "mail.jsonl"
    >>> _ = path.write_text('{"body": "Lunch is at noon.\\\\n> When?", "subject": "Lunch"}\\n')
    >>> [example.fields for example in Mail(path)]
    [{'source': 'Lunch is at noon.', 'target': 'Lunch'}]
    """

    path: str | Path
    body: str = field(default="body", kw_only=True)
    subject: str = field(default="subject", kw_only=True)
    others: tuple[str, ...] = field(default=(), kw_only=True)
    clean: bool = field(default=True, kw_only=True)
    longest: int = field(default=200, kw_only=True)

    def asking(self, columns: Mapping[str, Any]) -> Self:
        return replace(self, questions=True)

    def read(self) -> Iterator[Example | BadLine]:
        for found, where in json_lines(Path(self.path), self.encoding, self.max_line):
            yield found if isinstance(found, BadLine) else self._example(found, where)

    def _example(self, found: dict[str, Any], where: str) -> Example | BadLine:
        for key in (self.body,) if self.questions else (self.body, self.subject):
            if not isinstance(found.get(key), str):
                return BadLine(where, f"there is no text under the key {key!r} among {', '.join(found) or 'none'}")
        source = shortened_body(found[self.body], clean=self.clean, longest=self.longest)
        if self.questions:
            return Example({"source": source}, where)
        target = " ".join(found[self.subject].split())
        if not source or not target:
            return BadLine(where, "the subject line is blank" if source else "nothing of the body is left to read")
        others = [" ".join(found[key].split()) for key in self.others if isinstance(found.get(key), str)]
        fields: dict[str, Value] = {"source": source, "target": target}
        return Example(fields | {OTHERS: others} if others else fields, where)


def shortened_body(body: str, *, clean: bool, longest: int) -> str:
    """Return the first words of a body on one line.

    >>> shortened_body("One two\\n> three\\nfour", clean=True, longest=2)
    'One two'
    """
    return " ".join((clean_body(body) if clean else body).split()[:longest])


def clean_body(body: str) -> str:
    """Return a body without quotes, headers, forwarded mail, signature and closing.

    The body is cut off at a line such as `---- Original Message ----`, at a line `--`, and at a closing (`Best
    regards,`) that is followed by at most six lines. An e-mail that starts with a forwarded one keeps the forwarded
    text.

    >>> clean_body("Lunch is at noon.\\nBest regards,\\nA. Nobody\\n--\\nThe Company")
    'Lunch is at noon.'
    """
    kept: list[str] = []
    for line in body.splitlines():
        if _FORWARDED.fullmatch(line) or _WROTE.fullmatch(line) or _SIGNATURE.fullmatch(line):
            if kept:
                break
        elif line.strip() and not _QUOTE.match(line) and not _HEADER.match(line):
            kept.append(line.strip())
    for place in range(max(1, len(kept) - _AFTER_CLOSING - 1), len(kept)):
        if _CLOSING.fullmatch(kept[place]):
            return "\n".join(kept[:place])
    return "\n".join(kept)
