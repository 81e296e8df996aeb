"""The README is true: its commands are those of CI, its recipe trains, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli.app import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.md")})


def commands() -> list[str]:
    return re.findall(r"```bash\n(.+?)\n```", README)


def test_the_second_command_is_what_ci_runs_to_the_letter() -> None:
    assert len(commands()) == 2
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == commands()[1]
    assert (ROOT / ".ci" / "run").read_text().count("pip install") == 1  # what comes before installs a browser alone
    assert "bash .ci/run" in (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 110


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_anchors_are_headings(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text())
    targets = [(page.parent / link if link else page, anchor) for link, anchor in links if "://" not in link]
    assert not [anchor for target, anchor in targets if target.suffix == ".md" and anchor not in anchors(target)]


def test_the_recipe_and_its_commands_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = re.search(r"```yaml\n(.+?)```", README, re.DOTALL)
    assert recipe is not None
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    Path("reviews.yaml").write_text(recipe[1].replace("steps: 1000", "steps: 40"))
    for name in ("train.csv", "valid.csv"):
        Path(name).write_text("text,label\n" + 'a gem,good\n"dull, and long",bad\n' * 8)
    lines = re.findall(r"^    regard (.+?)(?:  +#.*)?$", README, re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["train", "train", "predict", "compare"]
    for line in lines[:3]:
        done = CliRunner().invoke(app, shlex.split(line))
        assert done.exit_code == 0, done.output
    assert done.output.startswith("good\n")
    listed = CliRunner().invoke(app, [*shlex.split(lines[3]), "--dry-run"])
    assert listed.exit_code == 0, listed.output
    assert len(re.findall("pooling=", listed.output)) == 9


def anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}
