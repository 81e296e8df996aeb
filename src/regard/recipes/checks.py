"""Cross-checks between the sections of any recipe; each system adds its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.recipes.metrics import check_metrics
from regard.recipes.section import parts
from regard.specials import FRAME

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def check_data(recipe: Recipe) -> None:
    """Check that the data have as many texts per example as the model takes, and the arguments of generated data."""
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
    """Check that BPE-dropout has separate examples, and that embeddings have one source of initial values."""
    parts = [recipe.tokenizer, *([] if recipe.tokenizer.target is None else [recipe.tokenizer.target])]
    if recipe.init is not None and any(part.vectors is not None for part in parts):
        raise ValueError("'vectors' are what embeddings begin with, and so is the run that init names; leave one out")
    if recipe.tokenizer.dropout and recipe.train.batch.window is not None:
        raise ValueError("dropout cuts examples anew, and train.batch.window reads all texts as one; leave one out")


def check_training(recipe: Recipe) -> None:
    """Check that a model with gradient checkpointing has Transformer layers."""
    if recipe.train.gradient_checkpointing and not any("LayerConfig" in part.beside for part in parts(recipe.model)):
        raise ValueError(
            f"gradient_checkpointing is of the layers of a Transformer or BERT; the model {recipe.model.kind} has none"
        )


def check_places(recipe: Recipe) -> None:
    """Check that tables of learned positions cover `train.batch.window` and `decode.max_length`.

    The lengths of the texts are checked when the data are read."""
    inner: Any = getattr(recipe.model, "model", recipe.model)
    encoder: Any = getattr(inner, "encoder", None)
    between = int(getattr(recipe.model, "next_sentence", False))  # an end token between the two segments of a window
    frame = FRAME + between if getattr(encoder, "kind", None) == "bert" else 0
    window = recipe.train.batch.window or 0
    if has_learned_positions(encoder):
        _check_length(encoder.max_length, "train.batch.window", window, frame)
    if has_learned_positions(inner):
        _check_length(inner.max_length, "train.batch.window", window)
        if "decode" in recipe.system.uses:
            _check_length(inner.max_length, "decode.max_length", recipe.search().max_length)


def has_learned_positions(section: Any) -> bool:
    """Return True if a model or an encoder has a table of learned positions, `max_length` long."""
    if getattr(section, "max_length", None) is None:
        return False
    return section.kind == "bert" or getattr(section, "positions", None) == "learned"


def _check_length(most: int, key: str, count: int, more: int = 0) -> None:
    if count + more > most:
        raise ValueError(
            f"'max_length' is {most}, too short for {key}, {count} tokens; raise it to {count + more} or more"
        )


def check_decoding(recipe: Recipe) -> None:
    """Check that the settings of the search are compatible."""
    recipe.search()


def check_evaluation(recipe: Recipe) -> None:
    """Check that the metrics apply to the outputs, and that `evaluate.rows` is set only with windows."""
    check_metrics(recipe)
    if recipe.evaluate.rows > 1 and recipe.train.batch.window is None:
        raise ValueError("rows are those of a text that is read in windows; train.batch has no window")


def copies(recipe: Recipe) -> bool:
    """Return True if the model of a recipe copies source words."""
    return bool(getattr(recipe.model, "copy", False) is True)


def check_copying(recipe: Recipe) -> None:
    """Check that a copying model has tokens that source and target share, and a deterministic tokenizer."""
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
