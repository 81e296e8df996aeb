"""Runs with BPE-dropout: the same to the bit if they are stopped, and measured without it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.data.batching.feed import BatchPosition, ExampleFeed
from regard.recipes.errors import RecipeError
from regard.recipes.load import check
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.run import Run
from regard.tasks.setup import prepare
from tests.train import tiny

GIVEN = ("tokenizer={kind: bpe, size: 300, dropout: 0.3}", "train.batch={tokens: 300}", "train.valid_every=5")


def test_a_stopped_run_is_the_same_run(tmp_path: Path) -> None:
    tiny.train(tmp_path / "a" / "tiny", *GIVEN, "train.steps=14")
    tiny.train(tmp_path / "b" / "tiny", *GIVEN, "train.steps=7")
    tiny.train(tmp_path / "b" / "tiny", *GIVEN, "train.steps=14")
    one, other = (Run(tmp_path / name / "tiny").tensors() for name in "ab")
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def test_it_is_for_training_alone(tmp_path: Path) -> None:
    recipe = tiny.recipe(*GIVEN)
    setup = prepare(recipe, tmp_path)
    assert isinstance(setup.feed, ExampleFeed)
    assert set(setup.feed.dropouts) == {"source", "target"}
    feed = setup.task.measuring_feed(recipe, setup.valid, carries=False)
    assert isinstance(feed, ExampleFeed)
    assert not feed.dropouts
    one = tiny.recipe("tokenizer={kind: bpe, size: 300, dropout: 0.3, target: {kind: words}}")
    assert set(prepare(one, tmp_path).feed.dropouts) == {"source"}  # type: ignore[attr-defined]
    assert 'dropout":null' in setup.task.encoders["source"].fingerprint.replace(" ", "").replace("\n", "")


def test_epochs_differ(tmp_path: Path) -> None:
    feed = prepare(tiny.recipe(*GIVEN), tmp_path).feed
    places = [[BatchPosition(epoch, position) for position in range(4)] for epoch in (0, 1)]
    counts = [sum(map(feed.tokens, some)) for some in places]
    assert counts[0] != counts[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("tokenizer={kind: words, dropout: 0.1}",), "'dropout'"),
        (("tokenizer={kind: bpe, dropout: 1.0}",), "dropout"),
        (
            (
                "task=language_model",
                "data={format: tales}",
                "model={kind: language_model}",
                "tokenizer={kind: bpe, dropout: 0.1}",
                "train.batch={sentences: 4, window: 9}",
                "evaluate={}",
            ),
            "window",
        ),
        (
            (
                "task=spans",
                "data={format: diaries}",
                "model={kind: span_reader}",
                "tokenizer={kind: bpe, dropout: 0.1}",
                "decode={}",
                "evaluate={}",
            ),
            "dropout",
        ),
    ],
)
def test_where_it_cannot_be_is_said(given: tuple[str, ...], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        check(RecipeDocument.parse(tiny.TEXT, "tiny.yaml").overridden(list(given)))


def test_texts_have_room_where_positions_are_learned(tmp_path: Path) -> None:
    for model, longest in (("", 18), ("positions: sinusoidal, ", None)):
        learned = model or "positions: learned, "
        given = (f"model={{kind: transformer, dim: 8, num_heads: 2, num_layers: 1, {learned}max_length: 20}}",)
        feed = prepare(tiny.recipe(*GIVEN, *given), tmp_path).feed
        assert feed.dropouts["source"].longest == longest  # type: ignore[attr-defined]
