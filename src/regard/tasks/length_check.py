"""Length check of inputs against the learned positional embeddings of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from regard.data.problems import TextError, shortened
from regard.models.bert import BertEncoder
from regard.nn.positions import LearnedPositions
from regard.specials import FRAME


def max_text_length(model: Any) -> int | None:
    """Return the maximum number of token ids, without BERT's `<s>` and `</s>`; None without learned positions.

    >>> max_text_length(BertEncoder(11, num_layers=1, max_length=32)), max_text_length(nn.Linear(2, 2))
    (30, None)
    """
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    tables = [len(module.table) for module in modules if isinstance(module, LearnedPositions)]
    framed = any(isinstance(module, BertEncoder) for module in modules)
    return min(tables) - FRAME * framed if tables else None


def check_text_lengths(model: Any, texts: Sequence[str], lengths: Sequence[int]) -> None:
    """Check that no text exceeds the learned positional embeddings of a model.

    Args:
        model: the model that encodes the texts.
        texts: the original texts, for the message.
        lengths: number of token ids per text.

    Raises:
        TextError: the first text that is too long, with its length and the maximum.
    """
    most = max_text_length(model)
    for text, length in zip(texts, lengths, strict=True):
        if most is not None and length > most:
            raise TextError(
                f"{shortened(text)!r} has {length} tokens and the model has room for {most} "
                "(model.encoder.max_length); give it shorter texts"
            )
