"""`regard view`: every way out, and the same bytes from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import regard
from regard.explain.panel import HeadsPanel, ParametersPanel
from tests.cli.command import asked, refused
from tests.view.pages import Page

RECIPE = """\
run: {kind}
data: {{format: table, train: pairs.tsv, valid: pairs.tsv, source: 0, target: 1}}
tokenizer: {{kind: bpe, size: 270}}
model: {model}
train: {{steps: 2, batch: {{sentences: 4}}, valid_every: 2, checkpoint_every: 2}}
decode: {{strategy: greedy, max_length: 6}}
"""
MODELS = {
    "transformer": "{kind: transformer, dim: 8, num_heads: 2, num_layers: 2, hidden_dim: 8}",
    "bahdanau": "{kind: bahdanau, embedding_dim: 6, hidden_dim: 6}",
}
TEXT = "old cats sleep"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Transformer and a recurrent model after two updates."""
    path = tmp_path_factory.mktemp("viewed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        Path("pairs.tsv").write_text("old cats sleep\tsleep cats old\ncats see old dogs\tdogs old see cats\n" * 8)
        for kind, model in MODELS.items():
            Path(f"{kind}.yaml").write_text(RECIPE.format(kind=kind, model=model))
            asked("train", f"{kind}.yaml")
    return path


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_the_terminal_shows_every_panel() -> None:
    printed = asked("view", "runs/transformer", TEXT)
    assert printed.startswith(f"{TEXT} → ")
    assert "encoder" in printed
    assert "cross-attention" in printed


@pytest.mark.parametrize("suffix", [".html", ".svg", ".npz"])
def test_command_and_python_write_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    one, other = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    assert asked("view", "runs/transformer", TEXT, "--output", one, "--style", "lines") == f"{one}\n"
    regard.load("runs/transformer").view(TEXT).styled("lines").save(other)
    assert one.read_bytes() == other.read_bytes()


def test_a_transformer_has_its_layers_heads_and_kinds() -> None:
    panels = {panel.title: panel for panel in regard.load("runs/transformer").view(TEXT).panels[1:]}
    kinds = [panel.kind for panel in panels.values() if isinstance(panel, HeadsPanel)]
    assert sorted(kinds) == ["causal", "cross", "self"]
    for panel in panels.values():
        assert isinstance(panel, HeadsPanel)
        assert panel.weights.shape[:2] == (2, 2)
        assert len(panel.rows) == panel.weights.shape[2]
        assert len(panel.columns) == panel.weights.shape[3]


def test_subwords_are_merged_to_words(tmp_path: Path) -> None:
    asked("view", "runs/bahdanau", TEXT, "--words", "--output", tmp_path / "a.html")
    asked("view", "runs/bahdanau", TEXT, "--output", tmp_path / "b.html")
    merged, pieces = (Page((tmp_path / name).read_text(encoding="utf-8")) for name in ("a.html", "b.html"))
    assert "".join(merged.panel["columns"]).startswith("oldcatssleep")
    sums = [page.exact(page.panel["maps"][0]).sum() / len(page.panel["rows"]) for page in (merged, pieces)]
    assert np.allclose(sums, 1.0, atol=1e-5)
    assert len(merged.panel["columns"]) < len(pieces.panel["columns"])


def test_states_of_recurrent_layers_and_parameters() -> None:
    printed = asked("view", "runs/bahdanau", TEXT, "--states")
    assert "layer 1: gates, mean of 6 units" in printed
    assert "layer 1, from the end: hidden state" in printed
    assert "no recurrent layer" in refused("view", "runs/transformer", TEXT, "--states")
    (panel,) = regard.load("runs/bahdanau").parameters().panels
    assert isinstance(panel, ParametersPanel)
    assert f"{int(panel.values.sum()):,} parameters" in asked("view", "runs/bahdanau", "--parameters")


def test_what_does_not_fit_is_one_sentence() -> None:
    assert "style 'line' is none of heatmap, lines" in refused("view", "runs/bahdanau", TEXT, "--style", "line")
    assert "there is no text" in refused("view", "runs/bahdanau")
    assert "--parameters" in refused("view", "runs/bahdanau", TEXT, "--parameters")
    assert "a picture's name ends in .png" in refused("view", "runs/bahdanau", TEXT, "--output", "a.bmp")
    assert "the text is empty" in refused("view", "runs/bahdanau", " ")
