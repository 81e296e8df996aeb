"""Labels, texts and folders that look like markup or hold escape sequences, from training to the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import asked

LABELS = ("[/]", "\x1b[31mred", ":heart:", "[link=x]y[/link]")
RECIPE = """
run: hostile
task: classify
data: {{format: labelled, train: "{file}", valid: "{file}", separator: "\\t", label: first}}
tokenizer: {{kind: words}}
model: {{kind: acceptor, encoder: {{kind: rnn, embedding_dim: 8, hidden_dim: 8}}}}
train: {{steps: 2, batch: {{sentences: 4}}, optimizer: {{rate: 0.01}}, valid_every: 1}}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A recipe whose labels and texts are hostile."""
    lines = [f"{label}\t{label} text\x1b]0;t\x07 {number}" for number in range(4) for label in LABELS]
    (tmp_path / "data.tsv").write_text("\n".join(lines) + "\n")
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE.format(file=tmp_path / "data.tsv"))
    return path


def test_a_run_with_hostile_labels_is_whole(recipe: Path, tmp_path: Path) -> None:
    runs = tmp_path / "[/]"
    shown = asked("train", recipe, "--runs", runs, "--dry-run") + asked("train", recipe, "--runs", runs)
    assert str(runs) in shown
    report = (runs / "hostile" / "report.md").read_text()
    assert "\x1b" not in report
    assert "␛" in report
    assert asked("evaluate", runs / "hostile", "--split", "valid")
    answer = asked("predict", runs / "hostile", "a \x1b[31m text [/]")
    assert answer.strip() in LABELS
    page = tmp_path / "view.html"
    asked("view", runs / "hostile", "a \x1b[31m text [/]", "--output", page)
    assert "\x1b" not in page.read_text()
    assert "␛[31m" in page.read_text()
