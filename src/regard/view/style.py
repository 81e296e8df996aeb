"""Styles: the ways in which a panel can be drawn."""

from __future__ import annotations

from typing import Literal, cast, get_args

Style = Literal["heatmap", "lines", "birdseye", "neurons", "text", "curves", "picture", "tree"]


def check_style(style: str) -> Style:
    """Return a style by its name.

    Raises:
        ValueError: there is none of that name.
    """
    if style not in get_args(Style):
        raise ValueError(f"style {style!r} is none of {', '.join(get_args(Style))}")
    return cast("Style", style)
