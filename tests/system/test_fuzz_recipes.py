"""Damaged recipes and overrides: each is read, or refused in one sentence, within seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
import yaml

from regard.recipes.errors import RecipeError
from regard.recipes.library import shipped
from regard.recipes.load import check
from regard.recipes.yaml_document import RecipeDocument
from tests.system.mutation import TOKENS, VALUES, damaged, is_sentence, json_text, reshaped, within

SECONDS = 20.0
TEXTS = [path.read_bytes() for path in shipped().values()]


def outcome(make: Callable[[], object]) -> str:
    """Return "good" or "refused", or a message that is no sentence."""
    try:
        with within(SECONDS):
            make()
    except RecipeError as problem:
        return "refused" if is_sentence(str(problem)) else f"{problem}"
    return "good"


def of_bytes(random: Random, path: Path) -> str:
    path.write_bytes(damaged(random, random.choice(TEXTS)))
    return outcome(lambda: check(RecipeDocument.read(path)))


def of_structure(random: Random, path: Path) -> str:
    content = yaml.safe_load(random.choice(TEXTS))
    for _ in range(random.choice((1, 1, 2))):
        content = reshaped(random, content)
    path.write_text(json_text(content))
    return outcome(lambda: check(RecipeDocument.read(path)))


def keys(content: object, before: str = "") -> Iterator[str]:
    for key, value in content.items() if isinstance(content, dict) else ():
        yield f"{before}{key}"
        yield from keys(value, f"{before}{key}.")


def of_overrides(random: Random, path: Path) -> str:
    path.write_bytes(random.choice(TEXTS))
    document = RecipeDocument.read(path)
    given = []
    for _ in range(random.choice((1, 1, 2))):
        key = random.choice(list(keys(document.content)))
        value = random.choice((*TOKENS, *(json_text(one) for one in VALUES)))
        given.append(random.choice((f"{key}={value}", f"{key}{value}=1", f"{key}.{value}={value}")))
    return outcome(lambda: check(document.overridden(given)))


WAYS = {"bytes": of_bytes, "structure": of_structure, "overrides": of_overrides}


@pytest.mark.parametrize("way", WAYS)
def test_a_damaged_recipe_is_read_or_refused(way: str, tmp_path: Path) -> None:
    fuzz(way, tmp_path, range(60))


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("way", WAYS)
def test_many_damaged_recipes_are_read_or_refused(way: str, part: int, tmp_path: Path) -> None:
    fuzz(way, tmp_path, range(1000 * (part + 1), 1000 * (part + 2)))


def fuzz(way: str, folder: Path, seeds: range) -> None:
    """Try a way once with each seed, which a failure names."""
    found = set()
    for seed in seeds:
        try:
            found.add(WAYS[way](Random(seed), folder / "damaged.yaml"))
        except Exception as problem:
            raise AssertionError(f"{way}, seed {seed}: {problem!r:.500}") from problem
    assert found <= {"good", "refused"}
    assert "refused" in found
