"""constraints.txt: what the tests run with, for every dependency, within what pyproject.toml allows."""

from __future__ import annotations

import importlib.metadata
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from regard.cli.doctor_checks import pinned_versions

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = [Requirement(one) for one in PROJECT["dependencies"]]
ALL = NEEDED + [Requirement(one) for extra in PROJECT["optional-dependencies"].values() for one in extra]


@pytest.mark.parametrize("requirement", NEEDED, ids=lambda requirement: requirement.name)
def test_every_dependency_is_pinned_to_a_version_that_is_allowed(requirement: Requirement) -> None:
    assert pinned_versions()[requirement.name] in requirement.specifier


def test_no_dependency_refuses_a_version_for_being_new() -> None:
    assert [str(one) for one in ALL if any(bound.operator != ">=" for bound in one.specifier)] == []


def test_nothing_else_is_pinned() -> None:
    assert set(pinned_versions()) <= {one.name.lower() for one in ALL}


def test_the_versions_are_those_of_an_environment_that_was_made_with_them() -> None:
    """Other environments, such as one with a GPU, run the tests too; one with the same PyTorch has the same others."""
    installed = {canonicalize_name(one.metadata["Name"]): one.version for one in importlib.metadata.distributions()}
    pinned = {canonicalize_name(name): version for name, version in pinned_versions().items()}
    if installed["torch"].partition("+")[0] == pinned["torch"]:
        assert {name: installed[name] for name in pinned if name in installed} == {
            name: installed["torch"] if name == "torch" else version
            for name, version in pinned.items()
            if name in installed
        }
