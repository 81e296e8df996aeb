"""Check of a memory's size against the stories that fill it."""

from __future__ import annotations

import numpy as np
from torch import nn

from regard.data import EOS, Corpus


def forgotten_stories(model: nn.Module, corpus: Corpus) -> str | None:
    """Return a warning about stories longer than the memory, whose first sentences are never read; None without one.

    Args:
        model: one with a `memory_size` has such a memory.
        corpus: the stories, in its fields of sentences.
    """
    size = getattr(model, "memory_size", None)
    if size is None:
        return None
    for field, kind in corpus.kinds.items():
        if kind != "sentences":
            continue
        ends = np.concatenate(([0], np.cumsum(corpus.ids(field) == EOS)))
        sentences = np.diff(ends[corpus.offsets(field)])
        longer = int((sentences > size).sum())
        if longer:
            return (
                f"{longer:,} of {len(corpus):,} stories are longer than the memory (model.memory_size is {size}, the "
                f"longest has {int(sentences.max())} sentences): only their last {size} sentences are read"
            )
    return None
