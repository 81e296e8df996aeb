"""Each system has a page with the same five sections; the tables of systems and mechanisms are complete."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from regard.cli.mechanisms import markdown
from regard.recipes.library import shipped
from regard.recipes.system import System, format_of, systems

ROOT = Path(__file__).parents[2]
INDEX = (ROOT / "docs" / "systems" / "README.md").read_text()
PAGES = sorted((ROOT / "src" / "regard" / "systems").glob("*/README.md"))
SECTIONS = ["What it does", "Train it", "Your own data", "Options", "Results and limits"]


def system_of_folder(folder: Path) -> System:
    system = importlib.import_module(f"regard.systems.{folder.name}").SYSTEM
    assert isinstance(system, System)
    return system


def test_every_system_has_a_page() -> None:
    own = {name for name, system in systems().items() if system.task.startswith("regard.systems.")}
    assert {system_of_folder(page.parent).name for page in PAGES} == own  # plug-ins of other tests are systems too


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_page_has_the_five_sections_and_names_its_task(page: Path) -> None:
    text = page.read_text()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert f"`task: {system_of_folder(page.parent).name}`" in text.splitlines()[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_page_names_every_recipe_and_format_of_its_system(page: Path) -> None:
    text = page.read_text()
    recipes = [path.stem for path in page.parent.glob("*.yaml")]
    assert recipes == [] or not [name for name in recipes if name not in text]
    assert not [
        name
        for name in (format_of(data) for data in system_of_folder(page.parent).data)
        if f"`{name}`" not in text and f"format: {name}" not in text
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_the_index_has_a_row_with_task_models_and_page(page: Path) -> None:
    system = system_of_folder(page.parent)
    (row,) = re.findall(rf"^\| `{system.name}` \|.+$", INDEX, re.MULTILINE)
    assert f"systems/{page.parent.name}/README.md" in row
    assert set(re.findall(r"`([^`]+)`", row.split("|")[3])) == set(system.models)


def test_the_index_covers_every_recipe() -> None:
    patterns = [name.replace("*", ".*") for name in re.findall(r"`([^`]+)`", INDEX)]
    assert not [name for name in shipped() if not any(re.fullmatch(pattern, name) for pattern in patterns)]


def test_the_table_of_mechanisms_is_the_catalogue() -> None:
    page = (ROOT / "docs" / "mechanisms" / "README.md").read_text()
    table = re.search(r"<!-- mechanisms: .*? -->\n(.*?)<!-- end of mechanisms -->", page, re.DOTALL)
    assert table is not None
    assert table[1].strip() == markdown(), "run: regard mechanisms --markdown"
