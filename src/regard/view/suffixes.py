"""The kinds of pictures, by the ends of their names."""

from __future__ import annotations

from pathlib import Path

SUFFIXES = (".png", ".svg", ".pdf", ".html")


def check_suffix(path: Path, suffix: str) -> None:
    """Raise ValueError if there is no such kind of picture.

    Args:
        path: of the picture.
        suffix: its end, or what says its kind in the end's place.
    """
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: a picture's name ends in {', '.join(SUFFIXES)}")
