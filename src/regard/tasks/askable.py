"""Texts that no model can be asked, whatever its task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.data.problems import TextError, shortened
from regard.data.surrogates import lone_surrogate


def check_askable(texts: Sequence[Any], longest: int) -> None:
    """Refuse a text that cannot be encoded, or one that an answer to would take minutes or all memory.

    Args:
        texts: inputs as a task parses them; those that are no text are not looked at.
        longest: characters of a text, `decode.max_text`.

    Raises:
        TextError: the first such text.

    >>> check_askable(["a text", "another"], longest=6)
    Traceback (most recent call last):
    regard.data.problems.TextError: 'another' has 7 characters and decode.max_text is 6; cut it, or set --decode ...
    """
    for text in texts:
        if not isinstance(text, str):
            continue
        if lone_surrogate(text) is not None:
            raise TextError(
                f"{shortened(text)!r} has a byte that is not UTF-8, or half of a surrogate pair; write it in UTF-8"
            )
        if len(text) > longest:
            raise TextError(
                f"{shortened(text)!r} has {len(text):,} characters and decode.max_text is {longest:,}; cut it, or set "
                f"--decode max_text={len(text)}"
            )
