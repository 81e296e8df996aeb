"""Texts of users on the console: no markup, no emoji, and no control characters on a terminal.

Rich itself leaves the bell and four others out.
"""

from __future__ import annotations

import io

import pytest
from rich.markup import escape
from rich.table import Table

from regard.view.console import Console
from regard.view.text import visible

HOSTILE = "a\x1b]0;title\x07b\x1b[31m\x9bc\x7f :heart: [/]"


def printed(*, terminal: bool) -> str:
    file = io.StringIO()
    table = Table()
    table.add_column(escape(HOSTILE))
    console = Console(file=file, force_terminal=terminal, width=100, color_system="standard" if terminal else None)
    console.print(f"[bold]{escape(HOSTILE)}[/]")
    console.print(table)
    return file.getvalue()


def test_a_terminal_shows_control_characters_and_obeys_none() -> None:
    text = printed(terminal=True)
    assert text.count("a␛]0;title␇b␛[31m�c␡ :heart: [/]") == 2
    assert "\x1b[1m" in text, "rich's own codes are kept"
    assert not {"\x1b]0", "\x1b[31m", "\x07", "\x9b", "\x7f"} & {
        text[i : i + n] for i in range(len(text)) for n in (1, 3, 5)
    }


def test_a_pipe_gets_them_as_they_are() -> None:
    assert HOSTILE.replace("\a", "") in printed(terminal=False).replace("\n", "")


@pytest.mark.parametrize("text", ["", "plain", "zwei\tSpalten\n", "größer 二 \u2028"])
def test_other_texts_are_unchanged(text: str) -> None:
    assert visible(text) == text


def test_every_other_control_character_and_lone_surrogate_is_shown() -> None:
    hidden = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0xD800, 0xDFFF) if chr(code) not in "\n\t"]
    assert all(visible(one).isprintable() and len(visible(one)) == 1 for one in hidden)
