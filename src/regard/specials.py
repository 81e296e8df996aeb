"""Special ids: the first ids of every vocabulary, and the mask token of masked language models."""

from __future__ import annotations

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")

FRAME = 2
"""Number of ids that BERT adds to a text: `<s>` before it, `</s>` after it."""

MASK = len(SPECIALS)
"""Id of the mask token, in vocabularies with one (`Tokenizer.train(masked=True)`)."""
MASKED = (*SPECIALS, "<mask>")

IGNORE = -100
"""Padding of tags and labels, whose ids begin at 0; the `ignore_index` of PyTorch's losses."""
