"""Damaged inputs for fuzzers: bytes, tokens and structure of a good one, changed at random from a seed."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from types import FrameType
from typing import Any

TOKENS = (
    *(
        "",
        "\0",
        "\n",
        "\r",
        "\t",
        "\x1b[31m",
        "\x85",
        "\u2028",
        "\ufeff",
        "\udcff",
        "é",
        "二",
        "🙂",
        "a" * 3000,
        " " * 300,
    ),
    *("[", "]", "{", "}", "'", '"', "#", "&a ", "*a", "<<: ", "? ", "- ", "|", ">", "!!int ", "!!python/none ", "%"),
    *("[" * 300, "{a: " * 200, '{"a":' * 2000, "[[]," * 50, "&b [*b]", "\\ud800", "\\x00", "[/]", "[bold]", ":heart:"),
    *("0x_", "2021-13-45", "9" * 5000, "1e999", "-1", "0", "nan", "inf", ".inf", "null", "~", "true", "1:1:1:1", "0b2"),
    *("../..", "/dev/null", "/dev/zero", "~", "*", "**", "%s", "{}", "${HOME}", "__class__", "self", "kind", "=", "=="),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 10**30, 1e308, 1e-320, 0.5, -0.0, "", "x", "0", "null", "\ud800"),
    *(
        [],
        [[]],
        [None],
        {},
        {"": {}},
        {"a": 1},
        [0, 1, 2],
        ["a", "b"],
        {"kind": "x"},
        {"name": "x"},
        "a" * 5000,
        [1] * 500,
    ),
)


def damaged(random: Random, text: bytes) -> bytes:
    """Return a text with a few bytes or tokens changed, or a part of it removed, repeated or moved."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        begin = random.randrange(len(text) + 1)
        end = min(len(text), begin + random.choice((0, 1, 1, 2, 10, 100)))
        part = text[begin:end]
        new = random.choice(
            (
                b"",
                part * random.choice((2, 50)),
                part[::-1],
                bytes([random.randrange(256)]),
                random.randbytes(random.randrange(1, 9)),
                random.choice(TOKENS).encode("utf-8", "surrogateescape"),
            )
        )
        text = text[:begin] + new + text[end:]
    return text[: random.randrange(len(text))] if text and random.random() < 0.1 else text


def reshaped(random: Random, content: Any) -> Any:
    """Return plain content with one value, however deep, replaced, removed or renamed."""
    if isinstance(content, dict) and content and random.random() < 0.85:
        key = random.choice(list(content))
        changed = dict(content)
        if random.random() < 0.15:
            changed[random.choice((*content, "x", ""))] = changed.pop(key)
        elif random.random() < 0.1:
            del changed[key]
        else:
            changed[key] = reshaped(random, content[key])
        return changed
    if isinstance(content, list) and content and random.random() < 0.7:
        place = random.randrange(len(content))
        return [*content[:place], reshaped(random, content[place]), *content[place + 1 :]]
    return random.choice(VALUES)


def json_text(content: Any) -> str:
    """Return JSON, halves of surrogate pairs among it."""
    return json.dumps(content)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in a block that takes longer."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"longer than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_sentence(text: str) -> bool:
    """Return whether a message is one line of a length that people read."""
    return 5 < len(text) < 1500 and "\n" not in text and "Traceback" not in text
