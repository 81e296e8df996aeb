"""Tables of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from regard.report.markup import Markup, element, text


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str | None = None, numbers: Sequence[int] = ()
) -> Markup:
    """Return an HTML table, in a container that scrolls if the table is wider than the page.

    Args:
        heads: a heading per column.
        rows: cells, as markup or as texts; the first of each row is its heading.
        caption: one for readers of screens too; None for none.
        numbers: the columns whose cells are right-aligned.

    >>> "<td class=\\"number\\"><bdi>0.5</bdi></td>" in table(["split", "loss"], [["test", "0.5"]], numbers=[1])
    True
    """
    head = element("tr", [_head(name, place in numbers) for place, name in enumerate(heads)])
    body = [element("tr", [_cell(cell, place, numbers) for place, cell in enumerate(row)]) for row in rows]
    found = element(
        "table",
        None if caption is None else element("caption", caption),
        element("thead", head),
        element("tbody", body),
    )
    label = caption or " and ".join(heads[:2])
    return element("div", found, class_="scroll", tabindex=0, role="region", aria_label=label)


def numbers_behind(heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> Markup:
    """Return the numbers of a chart as a table that is folded away."""
    return element("details", element("summary", "Numbers"), table(heads, rows, numbers=numbers))


def _head(name: str, number: bool) -> Markup:
    return element("th", name, scope="col", class_="number" if number else None)


def _cell(cell: str, place: int, numbers: Sequence[int]) -> Markup:
    shown = cell if isinstance(cell, Markup) else text(cell)
    if place == 0:
        return element("th", shown, scope="row", class_="number" if 0 in numbers else None)
    return element("td", shown, class_="number" if place in numbers else None)
