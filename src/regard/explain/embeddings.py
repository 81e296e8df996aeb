"""Lookup of the embedding module of an encoder."""

from __future__ import annotations

from torch import nn


def embeddings_of(encoder: nn.Module) -> nn.Module:
    """Return the module that embeds the ids of words in their order.

    Raises:
        ValueError: the encoder has no such module.

    >>> from regard.models import WordEncoder
    >>> embeddings_of(WordEncoder(11, embedding_dim=3, hidden_dim=5))
    Embedding(11, 3, padding_idx=0)
    """
    if getattr(encoder, "reverse", False):
        raise ValueError("the encoder reads backwards (model.encoder.reverse); its embeddings stand in another order")
    words = getattr(encoder, "words", None)
    table = getattr(words, "table", words)
    if not isinstance(table, nn.Module):
        raise ValueError("the encoder has no word embeddings")
    return table
