"""An encoder in the recipe of an encoder-decoder."""

from __future__ import annotations

import pytest

from regard.recipes.errors import RecipeError
from regard.recipes.load import load

KINDS = ("bahdanau", "luong", "lstmn", "seq2seq", "simple_attention", "transformer")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoder", ["rnn", "lstmn", "transformer", "bert", "conv"])
def test_a_recipe_with_all_its_keys_is_read_again(kind: str, encoder: str) -> None:
    """As the folder of a run has it."""
    section = load("dates", [f"model={{kind: {kind}, encoder: {{kind: {encoder}}}}}"]).recipe.model
    again = type(section).model_validate(section.model_dump(mode="json"))
    assert again == section
    assert section.arguments()["encoder"]["kind"] == encoder


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("{kind: bahdanau, bidirectional: false, encoder: {kind: conv}}", "bidirectional"),
        ("{kind: luong, bidirectional: true, encoder: {kind: conv}}", "bidirectional"),
        ("{kind: seq2seq, reverse: true, encoder: {kind: conv}}", "reverse"),
        ("{kind: transformer, tied: all, encoder: {kind: conv}}", "tied 'all'"),
        ("{kind: luong, encoder: {kind: conv, window: 4}}", "window"),
        ("{kind: luong, encoder: {kind: rnn, characters: lstm}}", "characters"),
        ("{kind: luong, attention: dot, encoder: {kind: conv, hidden_dim: 7}}", "512 and 7"),
    ],
)
def test_what_has_no_effect_or_does_not_fit_is_refused(model: str, key: str) -> None:
    with pytest.raises(RecipeError, match=key):
        load("dates", [f"model={model}"])
