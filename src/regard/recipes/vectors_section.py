"""Section of pretrained word vectors."""

from __future__ import annotations

from regard.recipes.section import Section


class VectorsSection(Section):
    """Pretrained word vectors: a file by its name alone, or a mapping."""

    file: str
    """GloVe's or word2vec's text format: a word and its numbers per line, with or without a first line of two counts;
    .gz is decompressed. Read once, when a run begins; the run keeps the vectors."""
    tuned: bool = True
    """Train the vectors. Words without a vector then begin as the model initialises them. Vectors that are not tuned
    stay as they are, and words without one, special tokens among them, are the zero vector."""
    unseen: bool = False
    """Also give ids to words of the file that the training texts do not have, within `tokenizer.size`."""
