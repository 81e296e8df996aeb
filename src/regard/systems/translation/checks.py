"""Cross-checks of translation recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.recipes.section import own_keys
from regard.systems.translation.sections import TranslationDecoding, TranslationTraining

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe

_BLIND = "seq2seq"  # the one encoder-decoder without attention


def check_tokenizer(recipe: Recipe) -> None:
    """Check that tied source and target embeddings have a joint vocabulary."""
    inner = getattr(recipe.model, "model", recipe.model)
    if getattr(inner, "tied", None) == "all" and not recipe.tokenizer.joint and recipe.init is None:
        raise ValueError("the model's tied 'all' is of one vocabulary for source and target; set 'joint' to true")


def check_decoding(recipe: Recipe) -> None:
    """Check that copying and coverage are used with attention to a source of words only."""
    decode = own_keys(recipe.decode, TranslationDecoding)
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


def check_guided(recipe: Recipe) -> None:
    """Check guided alignment: it needs soft attention, one direction, and deterministic tokenisation."""
    guided = own_keys(recipe.train, TranslationTraining).guided
    if guided is None:
        return
    kind = recipe.model.kind
    if kind in (_BLIND, "bidirectional"):
        why = "it attends to nothing" if kind == _BLIND else "it has two attentions; guide a run of each direction"
        raise ValueError(f"guided is not supported in {kind!r}: {why}")
    align = getattr(getattr(recipe.model, "attention", None), "align", None)
    if align == "hard" or getattr(align, "name", None) == "hard":
        raise ValueError("guided is of soft attention, and align is 'hard'; leave one of them out")
    if guided.layer is not None and kind != "transformer":
        raise ValueError(f"guided.layer is of the layers of a transformer; the model is of kind {kind!r}; leave it out")
    if recipe.train.exposure.sampling is not None:
        raise ValueError("guided and exposure.sampling cannot be combined; leave one of them out")
    if any(part is not None and part.dropout for part in (recipe.tokenizer, recipe.tokenizer.target)):
        raise ValueError("guided links tokens that are the same in every epoch; leave the tokenizer's dropout out")
