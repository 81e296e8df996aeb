"""Call path of an answer: the functions and files of `regard` that loading a run and one prediction pass through.

    regard train dates train.steps=60
    python -m benchmarks.call_path runs/dates "3 mars 2021" --list

A reader who wants to know what `predict` does has to open these files. Fewer of them is better.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from rich.console import Console
from rich.table import Table

import regard

PACKAGE = Path(regard.__file__).parent


def main() -> None:
    """Print the counts of a run as a table, and with `--list` each function."""
    options = parse()
    loading = reached(lambda: regard.load(options.run, device="cpu"))
    predictor = regard.load(options.run, device="cpu")
    paths = {
        "load": loading,
        "first predict": reached(lambda: predictor.predict(options.text)),
        "next predict": reached(lambda: predictor.predict(options.text)),
    }
    paths["load and predict"] = paths["load"] | paths["first predict"]
    table = Table("call", "functions", "files")
    for name, found in paths.items():
        table.add_row(name, str(len(found)), str(len(files(found))))
    Console(width=100).print(table)
    if options.list:
        for path, count in sorted(files(paths["load and predict"]).items()):
            names = sorted(one.co_qualname for one in paths["load and predict"] if file_of(one) == path)
            print(f"{path} ({count}): {', '.join(names)}")


def parse() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path, help="folder of a trained run")
    parser.add_argument("text", help="input of the prediction")
    parser.add_argument("--list", action="store_true", help="list the functions, file by file")
    return parser.parse_args()


def reached(call: Callable[[], Any]) -> set[CodeType]:
    """Return the functions of the package that a call runs, without the bodies of modules and classes.

    >>> from regard.nearest import nearest
    >>> [code.co_qualname for code in reached(lambda: nearest("dtaes", ["dates", "tales"])) if code.co_name[0] != "<"]
    ['nearest', 'nearest.<locals>.likeness']
    """
    found: dict[CodeType, None] = {}

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(f"{PACKAGE}/"):
            found[frame.f_code] = None

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return {code for code in found if is_function(code)}


def is_function(code: CodeType) -> bool:
    """Return False for comprehensions, and for the bodies of modules and classes, which run once at import."""
    optimized = bool(code.co_flags & 0x1)  # CO_OPTIMIZED: local variables in slots, as only functions have them
    return optimized and (code.co_name == "<lambda>" or not code.co_name.startswith("<"))


def files(found: set[CodeType]) -> Counter[str]:
    """Return the number of functions per file."""
    return Counter(map(file_of, found))


def file_of(code: CodeType) -> str:
    """Return the file of a function, below the package."""
    return str(Path(code.co_filename).relative_to(PACKAGE))


if __name__ == "__main__":
    main()
