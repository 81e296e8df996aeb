"""HTML figures: a chart with caption and data table, and SVG primitives."""

from __future__ import annotations

from regard.report.markup import Markup, element, join_markup


def figure(chart: Markup, caption: Markup | str, behind: Markup | None = None, *, wide: bool = False) -> Markup:
    """Return a chart with its caption and a collapsed data table."""
    return element(
        "figure",
        element("div", chart, class_="chart"),
        element("figcaption", caption) if caption else None,
        behind,
        class_="wide" if wide else None,
    )


def svg(width: float, height: float, label: str, *content: Markup, fixed: bool = False) -> Markup:
    """Return an SVG element that scales to its container unless `fixed`; `label` is for screen readers."""
    return element(
        "svg",
        join_markup(*content),
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}" if fixed else None,
        height=f"{height:g}" if fixed else None,
        role="img",
        aria_label=label,
    )


def label(
    shown: str, x: float, y: float, *, kind: str = "tick", anchor: str | None = None, turned: bool = False
) -> Markup:
    """Return a text in a picture."""
    turn = f"rotate(-90 {x:.1f} {y:.1f})" if turned else None
    return element("text", shown, x=f"{x:.1f}", y=f"{y:.1f}", class_=kind, text_anchor=anchor, transform=turn)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Return a straight line."""
    return element("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=kind)
