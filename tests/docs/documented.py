"""Figures of recipes and of the pages that report them."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "notebook" / "results.md"
_NUMBER = r"(?<![\w.=/-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w/=-]|\.\d)"
_LIST = re.compile(rf"{_NUMBER}(?:%?(?:,| and|, and) {_NUMBER})+")


def expected(recipe: Path) -> str:
    """Return what a recipe says that it reaches: the sentences after "Expected", up to the cost."""
    lines = [line.removeprefix("#").strip() for line in recipe.read_text().splitlines() if line.startswith("#")]
    text = " ".join(lines)
    found = re.search(r"\bExpected\b(.*?)(?=\bCost\b|\bCosts\b|\bGallery:|\bWith an |$)", text)
    return "" if found is None else found[1]


def figures(text: str) -> list[str]:
    """Return the figures of a sentence: numbers with a decimal point or a per cent sign; those of keys do not count.

    >>> figures("99% of 1,000 right (3 seeds: 0.27, 81), train.rate=1.0e-3, 2.5 ± 0.10%")
    ['99', '0.27', '2.5', '0.10']
    """
    plain = re.sub(r"\S+=\S*", " ", text)
    found = re.finditer(rf"({_NUMBER})(%?)", plain)
    return [one[1].replace(",", "") for one in found if one[2] or "." in one[1]]


def numbers(text: str) -> set[float]:
    """Return all numbers of a page, with the mean and the deviation of those that stand in a list."""
    found = {float(one.replace(",", "")) for one in re.findall(_NUMBER, text)}
    for one in _LIST.findall(text):
        listed = [float(number.replace(",", "")) for number in re.findall(_NUMBER, one)]
        found |= {statistics.fmean(listed), statistics.stdev(listed)}
    return found


def documented(figure: str, known: set[float]) -> bool:
    """Return whether a page has a figure, rounded as it is, as it stands or as a share instead of per cent.

    >>> documented("99.9", {0.9991}), documented("99.9", {0.997}), documented("0.27", {0.274})
    (True, False, True)
    """
    decimals = len(figure.partition(".")[2])
    half = 0.5 * 10.0**-decimals * (1 + 1e-6)
    return any(abs(factor * one - float(figure)) <= half for one in known for factor in (1.0, 100.0))


def passages(recipe: Path) -> str:
    """Return the page of a recipe's system, and the parts of the results page that are about the recipe.

    Those are the rows of its task, and what has its name or a command of its header. If a header names the results
    page, all of it counts.
    """
    page, text, header = (recipe.parent / "README.md").read_text(), RESULTS.read_text(), recipe.read_text()
    if RESULTS.name in header:
        return page + text
    names = [recipe.stem, *re.findall(r'--only "([^"]+)"', header)]
    table, _, details = text.partition("\n## ")
    task = re.search(r"`task: (\w+)`", page)
    rows, current = [], ""
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        current = cells[0] or current
        if task is not None and task[1] in current:
            rows.append(line)
    blocks = re.split(r"\n(?=#{2,4} )", f"## {details}")
    named = [line for block in blocks for line in _about(block, names)]
    return "\n".join([page, *rows, *named])


def _about(block: str, names: list[str]) -> list[str]:
    """Return the lines of a block that has one of some names; of a table with them, its rows."""
    lines = block.splitlines()
    if not any(_has(block, name) for name in names):
        return []
    return [line for line in lines if line.startswith("|") and any(_has(line, name) for name in names)] or lines


def _has(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
