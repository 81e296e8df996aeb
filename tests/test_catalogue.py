"""A mechanism is complete or it does not pass: card, reference, module, test, page, row."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard import nn, ops
from regard.cli import app
from regard.ops.card import CatalogueEntry, catalogue
from tests.cases import CASES

ROOT = Path(__file__).parents[1]
ENTRIES = catalogue()

# Modules of `ops` that define no mechanism: what mechanisms are made of.
PARTS = {
    "attended", "attending_gru", "card", "checks", "cross_entropy", "dropout", "inner_product", "kernels",
    "limits", "unit_vectors", "weights",
}  # fmt: skip

# Mechanisms that read no keys under a mask of their own: they are tested in their own files only.
NOT_A_READ = {
    "ctc", "ntm_memory",
    "position_term", "markov_term", "fertility_term", "history_term", "location_term",
    "multi_head", "key_value", "sinusoidal", "learned_positions",
    "coattention", "attention_over_attention", "pointer_sum", "graph",
    "global_fertility", "symmetry", "doubly_stochastic", "linear_chain", "glimpse",
}  # fmt: skip


def test_every_module_of_ops_has_a_card_or_is_a_part() -> None:
    modules = {module.name for module in pkgutil.iter_modules(ops.__path__)}
    with_card = {name for name in modules if hasattr(importlib.import_module(f"regard.ops.{name}"), "CARD")}
    assert modules - with_card == PARTS
    assert len(ENTRIES) == len(with_card) == len({entry.card.name for entry in ENTRIES})


def by_name(entry: CatalogueEntry) -> str:
    return entry.card.name


@pytest.mark.parametrize("entry", ENTRIES, ids=by_name)
def test_it_has_a_definition_and_a_module_with_documentation(entry: CatalogueEntry) -> None:
    card, source = entry
    assert (ROOT / "src" / "regard" / source).exists()
    if source.endswith("/"):
        assert (ROOT / "src" / "regard" / source / "reference.py").exists()
    assert "reference" in card.implementations
    for floor, name in ((ops, card.op), (nn, card.module)):
        documentation = inspect.getdoc(getattr(floor, name))
        assert name in floor.__all__, f"export {name} from {floor.__name__}"
        assert documentation
    assert ">>>" in (inspect.getdoc(getattr(ops, card.op)) or "")


@pytest.mark.parametrize("entry", ENTRIES, ids=by_name)
def test_it_has_the_five_tests(entry: CatalogueEntry) -> None:
    path = ROOT / "tests" / "ops" / f"test_{entry.card.name}.py"
    assert path.exists(), f"write {path.relative_to(ROOT)}"
    text = path.read_text()
    assert text.count("\ndef test_") >= 5
    assert "check_gradients(" in text, "no float64 gradcheck"


@pytest.mark.parametrize("entry", ENTRIES, ids=by_name)
def test_it_has_a_page_with_an_example_that_runs(entry: CatalogueEntry) -> None:
    page = ROOT / "docs" / "mechanisms" / f"{entry.card.name}.md"
    assert page.exists(), f"write {page.relative_to(ROOT)}"
    text = page.read_text()
    assert ">>>" in text


def test_no_page_speaks_of_a_mechanism_that_is_not_there() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "mechanisms").glob("*.md")}
    assert pages == {entry.card.name for entry in ENTRIES} | {"README"}


@pytest.mark.parametrize("entry", ENTRIES, ids=by_name)
def test_it_goes_through_the_property_tests(entry: CatalogueEntry) -> None:
    covered = {impl for case in CASES if case.mechanism == entry.card.name for impl in case.implementations}
    if entry.card.name in NOT_A_READ:
        assert not covered, "has a case: take it off the list"
    else:
        assert covered == set(entry.card.implementations), "add a Case in tests/cases, or name it in NOT_A_READ"


def test_the_command_has_a_row_for_each() -> None:
    result = CliRunner(env={"COLUMNS": "400"}).invoke(app, ["mechanisms"])
    assert result.exit_code == 0
    for card, _ in ENTRIES:
        row = next(line for line in result.output.splitlines() if f" {card.name} " in line)
        assert card.equation in row
        assert card.paper in row
        assert card.cost in row
        assert card.ways() in row
