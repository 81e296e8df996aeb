"""The README is true: its commands are CI's, its table is the catalogue, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from regard.cli.mechanisms import markdown

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.md")})


def commands() -> list[str]:
    return re.findall(r"```bash\n(.+?)\n```", README)


def test_the_second_command_is_what_ci_runs_to_the_letter() -> None:
    assert len(commands()) == 2
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == commands()[1]
    assert "bash .ci/run" in (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def test_the_table_is_the_catalogue() -> None:
    table = re.search(r"<!-- mechanisms: .*? -->\n(.*?)<!-- end of mechanisms -->", README, re.DOTALL)
    assert table is not None
    assert table[1].strip() == markdown(), "run: regard mechanisms --markdown"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing
