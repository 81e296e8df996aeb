"""Cross-checks of the sections of any recipe; those of a system stand with it."""

from __future__ import annotations

from typing import Any

from regard.recipes.metrics import check_metrics
from regard.recipes.section import parts
from regard.recipes.sections import Recipe
from regard.specials import FRAME


def check_data(recipe: Recipe) -> None:
    """As many texts are read as the model takes, and what generates data can generate them."""
    learned = getattr(recipe.data, "train", None)
    if isinstance(learned, tuple) and recipe.train.batch.window and any(part.weight != 1 for part in learned):
        raise ValueError(
            "'weight' is of examples, and train.batch.window reads all texts as one; leave one of them out"
        )
    source, two = getattr(recipe.data, "source", None), recipe.system.two_texts
    if two is not None:
        if source is not None and not (isinstance(source, list) and len(source) == 2):
            raise ValueError(f"source has two columns, {two}; got {source!r}")
    elif isinstance(source, list) and (len(source) != 2 or not recipe.reads_pairs or recipe.spells):
        raise ValueError(
            "source has one column, or two for labels by a model that reads two texts: with pair_dim, or with encoder "
            "{kind: bert}"
        )
    recipe.data.check()


def check_tokenizer(recipe: Recipe) -> None:
    """Examples are cut anew, and letters read, where there are examples and words."""
    if recipe.tokenizer.dropout and recipe.train.batch.window is not None:
        raise ValueError("dropout cuts examples anew, and train.batch.window reads all texts as one; leave one out")


def check_training(recipe: Recipe) -> None:
    """Activations are recomputed in the layers of Transformers."""
    if recipe.train.gradient_checkpointing and not any("Blocks" in part.beside for part in parts(recipe.model)):
        raise ValueError(
            f"gradient_checkpointing is of the layers of a Transformer or BERT; the model {recipe.model.kind} has none"
        )


def check_places(recipe: Recipe) -> None:
    """Learned positions reach as far as what the recipe itself says is read and written; texts are looked at later."""
    inner = getattr(recipe.model, "model", recipe.model)
    part: Any = getattr(inner, "encoder", inner)
    between = int(getattr(recipe.model, "next_sentence", False))  # an end between the two parts of a window
    kind = getattr(part, "kind", None)
    frame = FRAME + between if kind == "bert" else 0
    if kind != "bert" and getattr(part, "positions", None) != "learned":
        return
    window, longest = recipe.train.batch.window, recipe.search().max_length
    read = [("train.batch.window", window or 0, frame)]
    if "decode" in recipe.system.uses:
        read.append(("decode.max_length", longest, 0))
    for key, count, more in read:
        if count + more > part.max_length:
            short = f"'max_length' is {part.max_length}, too short for {key}, {count} tokens"
            raise ValueError(f"{short}; raise it to {count + more} or more")


def check_decoding(recipe: Recipe) -> None:
    """The settings of the search fit together."""
    recipe.search()


def check_evaluation(recipe: Recipe) -> None:
    """Metrics can measure the answers; rows are those of windows."""
    check_metrics(recipe)
    if recipe.evaluate.rows > 1 and recipe.train.batch.window is None:
        raise ValueError("rows are those of a text that is read in windows; train.batch has no window")
