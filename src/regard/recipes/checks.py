"""Cross-checks of the sections of any recipe; those of a system stand with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.recipes.metrics import check_metrics
from regard.recipes.section import parts
from regard.specials import FRAME

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def check_data(recipe: Recipe) -> None:
    """As many texts are read as the model takes, and what generates data can generate them."""
    learned = getattr(recipe.data, "train", None)
    if isinstance(learned, tuple) and recipe.train.batch.window and any(part.weight != 1 for part in learned):
        raise ValueError(
            "'weight' is of examples, and train.batch.window reads all texts as one; leave one of them out"
        )
    source, two = getattr(recipe.data, "source", None), recipe.system.two_columns(recipe)
    if two is not None:
        if source is not None and not (isinstance(source, list) and len(source) == 2):
            raise ValueError(f"source has two columns, {two}; got {source!r}")
    elif isinstance(source, list) and (len(source) != 2 or not recipe.system.reads_pairs(recipe)):
        raise ValueError(
            "source has one column, or two for labels by a model that reads two texts: kind esim or "
            "decomposable_attention, an acceptor with pair_dim or comparison, or encoder {kind: bert}; or two for tags "
            "by an encoder with feature_dim"
        )
    recipe.data.check()


def check_tokenizer(recipe: Recipe) -> None:
    """Examples are cut anew, and letters read, where there are examples and words; embeddings begin in one way."""
    parts = [recipe.tokenizer, *([] if recipe.tokenizer.target is None else [recipe.tokenizer.target])]
    if recipe.init is not None and any(part.vectors is not None for part in parts):
        raise ValueError("'vectors' are what embeddings begin with, and so is the run that init names; leave one out")
    if recipe.tokenizer.dropout and recipe.train.batch.window is not None:
        raise ValueError("dropout cuts examples anew, and train.batch.window reads all texts as one; leave one out")


def check_training(recipe: Recipe) -> None:
    """Activations are recomputed in the layers of Transformers."""
    if recipe.train.gradient_checkpointing and not any("LayerConfig" in part.beside for part in parts(recipe.model)):
        raise ValueError(
            f"gradient_checkpointing is of the layers of a Transformer or BERT; the model {recipe.model.kind} has none"
        )


def check_places(recipe: Recipe) -> None:
    """Learned positions reach as far as what the recipe itself says is read and written; texts are looked at later."""
    inner: Any = getattr(recipe.model, "model", recipe.model)
    encoder: Any = getattr(inner, "encoder", None)
    between = int(getattr(recipe.model, "next_sentence", False))  # an end between the two parts of a window
    frame = FRAME + between if getattr(encoder, "kind", None) == "bert" else 0
    window = recipe.train.batch.window or 0
    if has_learned_positions(encoder):
        _check_length(encoder.max_length, "train.batch.window", window, frame)
    if has_learned_positions(inner):
        _check_length(inner.max_length, "train.batch.window", window)
        if "decode" in recipe.system.uses:
            _check_length(inner.max_length, "decode.max_length", recipe.search().max_length)


def has_learned_positions(section: Any) -> bool:
    """Return whether a model or an encoder has a table of positions, which ends at its `max_length`."""
    if getattr(section, "max_length", None) is None:
        return False
    return section.kind == "bert" or getattr(section, "positions", None) == "learned"


def _check_length(most: int, key: str, count: int, more: int = 0) -> None:
    if count + more > most:
        raise ValueError(
            f"'max_length' is {most}, too short for {key}, {count} tokens; raise it to {count + more} or more"
        )


def check_decoding(recipe: Recipe) -> None:
    """The settings of the search fit together."""
    recipe.search()


def check_evaluation(recipe: Recipe) -> None:
    """Metrics can measure the answers; rows are those of windows."""
    check_metrics(recipe)
    if recipe.evaluate.rows > 1 and recipe.train.batch.window is None:
        raise ValueError("rows are those of a text that is read in windows; train.batch has no window")


def copies(recipe: Recipe) -> bool:
    """Return whether the model of a recipe copies source words."""
    return bool(getattr(recipe.model, "copy", False) is True)


def check_copying(recipe: Recipe) -> None:
    """Tokens that are copied are those that source and target share, cut alike in every epoch."""
    if not copies(recipe):
        return
    section = recipe.tokenizer
    kinds = {part.kind for part in (section, section.target) if part is not None} - {"file"}
    if not section.joint and kinds - {"words"} and recipe.init is None:
        raise ValueError(
            f"copy is of tokens that source and target share; set the tokenizer's kind to words, or joint to true "
            f"(the kind is {' and '.join(sorted(kinds))})"
        )
    if section.dropout or (section.target is not None and section.target.dropout):
        raise ValueError("copy is of tokens that are the same in every epoch; leave the tokenizer's dropout out")
