"""Styles: the ways in which a panel can be drawn."""

from typing import Literal

Style = Literal["heatmap", "lines", "birdseye", "neurons", "text", "curves", "picture", "tree"]
