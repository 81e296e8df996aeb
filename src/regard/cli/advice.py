"""Advice of messages about data, in terms of options instead of keys of a recipe."""

from __future__ import annotations

from regard.data.example import COLUMNS

_OPTIONS = {
    f"set {COLUMNS}": "name columns that are there with --source and, to evaluate, --target",
    "set bad_lines to skip": "leave it out with --bad-lines skip",
    "data.encoding=": "--encoding ",
    ", or set data.max_line": "",
}


def explain_file_error(said: str) -> str:
    """Return a message about a file of the command line with what its user can do there.

    >>> explain_file_error("a.csv:3: the line is blank; mend the line or set bad_lines to skip")
    'a.csv:3: the line is blank; mend the line or leave it out with --bad-lines skip'
    """
    for key, option in _OPTIONS.items():
        said = said.replace(key, option)
    return said
