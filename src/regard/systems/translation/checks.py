"""Cross-checks of recipes that translate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.recipes.section import own_keys
from regard.systems.translation.sections import Decoding

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe

_BLIND = "seq2seq"  # the one encoder-decoder without attention


def check_tokenizer(recipe: Recipe) -> None:
    """Embeddings that source and target share are of one vocabulary."""
    inner = getattr(recipe.model, "model", recipe.model)
    if getattr(inner, "tied", None) == "all" and not recipe.tokenizer.joint and recipe.init is None:
        raise ValueError("the model's tied 'all' is of one vocabulary for source and target; set 'joint' to true")


def check_decoding(recipe: Recipe) -> None:
    """A word can be copied, and coverage counted, where there is a source of words that is attended to."""
    decode = own_keys(recipe.decode, Decoding)
    if recipe.search().coverage and recipe.model.kind == _BLIND:
        raise ValueError(f"coverage is of a model that attends to its source; {_BLIND} does not")
    if decode.unknown == "keep":
        if decode.dictionary is not None:
            raise ValueError("a dictionary is for unknown words that are copied; set unknown to copy")
        return
    if recipe.model.kind == _BLIND:
        raise ValueError(f"unknown 'copy' takes the word that was attended to; {_BLIND} attends to nothing")
    parts = [recipe.tokenizer, *([] if recipe.tokenizer.target is None else [recipe.tokenizer.target])]
    other = next((part.kind for part in parts if part.kind != "words"), None)
    if other is not None and recipe.init is None:  # the tokenizers of another run are checked when they are read
        raise ValueError(f"unknown 'copy' is for tokenizers of kind words; there is one of kind {other}")
