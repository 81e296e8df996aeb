"""What would fail late fails when a run is prepared, and names the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data import DataError
from regard.recipes import sections
from regard.recipes.errors import RecipeError
from regard.recipes.load import check
from regard.recipes.yaml_document import RecipeDocument
from regard.tasks.setup import prepare
from regard.train.dry_run import plan
from tests.train.tiny import TEXT, recipe, train

LEARNED = "kind: transformer, dim: 16, num_heads: 2, num_layers: 1, positions: learned, max_length: "
WINDOWS = """\
task: language_model
data: {format: text, train: book.txt, split: {by: order, valid: 0.1}}
tokenizer: {kind: words}
model: {kind: language_model, embedding_dim: 4, hidden_dim: 4}
train: {steps: 1, batch: {sentences: 2, window: 5}}
decode: {max_length: 9}
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Twenty lines of four words; with their ends, ten tokens to validate on."""
    (tmp_path / "book.txt").write_text("it was the lark\n" * 20)
    return tmp_path


def windows(book: Path, *overrides: str) -> sections.Recipe:
    return check(RecipeDocument.parse(WINDOWS, "book.yaml").overridden([f"data.root={book}", *overrides])).recipe


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (
            [f"model={{{LEARNED}5}}"],
            "model: 'max_length' is 5, too short for decode.max_length, 6 tokens; raise it to 6",
        ),
        (
            [f"model={{{LEARNED}4}}", "decode.max_length=4"],
            "model.max_length is 4, too short for the longest target of the split train, 4 tokens; raise it to 5",
        ),
        (
            [f"model={{kind: bidirectional, model: {{{LEARNED}5}}}}"],
            "model: 'max_length' is 5, too short for decode.max_length, 6 tokens; raise it to 6",
        ),
        (
            ["model={kind: simple_attention, attention: {align: hard}}"],
            "align 'hard' is not for 'simple_attention': the read before its first word has no reward",
        ),
    ],
)
def test_a_plan_and_a_training_fail_at_once(overrides: list[str], sentence: str, tmp_path: Path) -> None:
    for attempt in (lambda: list(plan(recipe(*overrides))), lambda: train(tmp_path / "run", *overrides)):
        with pytest.raises(ValueError, match=sentence):
            attempt()
    assert not (tmp_path / "run").exists()


def test_a_table_that_is_just_long_enough_is_trained_and_measured(tmp_path: Path) -> None:
    """The longest rows have 4 digits: read with a beginning they are 5."""
    outcome = train(tmp_path / "run", f"model={{{LEARNED}5}}", "decode.max_length=5", "train.steps=1")
    assert outcome.test is not None


def test_both_directions_begin(tmp_path: Path) -> None:
    both = f"model={{kind: bidirectional, model: {{{LEARNED}4}}}}"
    with pytest.raises(RecipeError, match="the longest source of the split train, 4 tokens; raise it to 5"):
        prepare(recipe(both, "decode.max_length=4"), tmp_path)


def test_what_no_batch_has_room_for_needs_no_place(tmp_path: Path) -> None:
    """No row of 6 digits fits into 12 cells: none is learned from, but some are validated on."""
    text = TEXT.replace("sentences: 16", "tokens: 12").replace("longest: 4", "longest: 6")
    document = RecipeDocument.parse(text, "tiny.yaml").overridden([f"model={{{LEARNED}6}}"])
    with pytest.raises(RecipeError, match="the longest target of the split valid, 6 tokens; raise it to 7"):
        prepare(check(document).recipe, tmp_path)


def test_language_models_need_room_for_what_samples_go_on_from(book: Path, tmp_path: Path) -> None:
    model = "model={kind: transformer_lm, dim: 4, num_heads: 2, num_layers: 1, positions: learned, max_length: %d}"
    with pytest.raises(RecipeError, match=r"decode\.max_length, 9 tokens behind the 8 of an example; raise it to 17"):
        prepare(windows(book, model % 16), tmp_path)
    prepare(windows(book, model % 17), tmp_path)
    with pytest.raises(RecipeError, match=r"train\.batch\.window, 30 tokens; raise it to 30"):
        prepare(windows(book, model % 17, "train.batch.window=30"), tmp_path)


def test_more_rows_than_the_text_has_tokens_for(book: Path, tmp_path: Path) -> None:
    prepare(windows(book, "evaluate.rows=5"), tmp_path)
    with pytest.raises(
        DataError, match=r"evaluate\.rows is 6, and a text of 10 tokens is measured, which needs two a row"
    ):
        prepare(windows(book, "evaluate.rows=6"), tmp_path)
