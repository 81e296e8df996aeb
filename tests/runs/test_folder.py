"""A folder that is no run is one sentence, whatever it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.runs.folder import RunError, task_of
from tests.cli.command import refused


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (b"task: [classify\n", "recipe.yaml, line 2: expected ',' or ']', but got"),
        (b"task: tag\nrun: caf\xe9\n", "recipe.yaml: not UTF-8 text (byte 18); save it as UTF-8"),
        (b"- task\n", "recipe.yaml: a recipe is a mapping of keys to values, not a list"),
    ],
)
def test_a_recipe_that_cannot_be_read(written: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_bytes(written)
    for command in (("predict", tmp_path, "text"), ("evaluate", tmp_path), ("view", tmp_path, "text")):
        assert sentence in refused(*command)
    with pytest.raises(RunError, match="; mend the file, or train the run again"):
        task_of(tmp_path)
