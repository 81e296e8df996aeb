"""Special ids that every vocabulary begins with, and the mask of some."""

from __future__ import annotations

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")

FRAME = 2
"""Ids that BERT has around a text: `<s>` before it, `</s>` behind."""

MASK = len(SPECIALS)
"""The id of a word that is hidden, in vocabularies that have one (`Tokenizer.train(masked=True)`)."""
MASKED = (*SPECIALS, "<mask>")

IGNORE = -100
"""What pads tags and labels, whose own ids begin at 0; the `ignore_index` of PyTorch's losses."""
