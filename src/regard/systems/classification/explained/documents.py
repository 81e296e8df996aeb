"""Explanation adapter of document classifiers, with attention over sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from regard.data.fields.padding import nested
from regard.data.fields.tokenizer import Tokenizer
from regard.explain.subject import StagedSubject, SubjectBatch
from regard.masks import Mask
from regard.nn.structured import StructuredSelfAttention
from regard.specials import PAD
from regard.systems.classification.documents import encoded_documents
from regard.systems.classification.explained.labels import LabelSubject
from regard.systems.classification.hierarchical import HierarchicalAttention


class _Document(NamedTuple):
    """States of sentences [B, S, C] and their number per document [B]."""

    states: Tensor
    lengths: Tensor


class DocumentSubject(LabelSubject, StagedSubject):
    """Hierarchical attention network, explained by the weights of its sentences.

    Args:
        model: model in evaluation mode.
        tokenizer: tokenizer of the documents.
        names: names of the labels.

    Raises:
        ValueError: the model pools without attention.
    """

    unit: ClassVar[str] = "sentence"

    def __init__(self, model: HierarchicalAttention, tokenizer: Tokenizer, names: tuple[str, ...]) -> None:
        super().__init__(model, tokenizer, names)
        if model.sentence_level.attention is None:
            raise ValueError("the model pools without attention; train it with model.pooling=attention")
        self.model, self.embeddings = model, (model.words.table,)
        self.attention: StructuredSelfAttention = model.sentence_level.attention

    def read(self, inputs: Sequence[str]) -> SubjectBatch:
        """Encode documents as sentences, [B, S, J]."""
        ids, lengths = map(torch.from_numpy, nested(encoded_documents(inputs, self.tokenizer.encode_all)))
        return SubjectBatch(ids.to(self.device), lengths.to(self.device), PAD)

    def words(self, given: str) -> list[str]:
        """Return a label per sentence: its number and its first words."""
        rows = self.read([given]).ids[0]  # [S, J]
        tokens = [self.tokenizer.tokens(row[row != PAD].tolist()) for row in rows]
        return [f"{number} {' '.join(one[:4])}{' …' if len(one) > 4 else ''}" for number, one in enumerate(tokens, 1)]

    def encode(self, texts: SubjectBatch) -> _Document:
        """Encode the sentences."""
        vectors, _ = self.model.word_level(*self._words(texts))
        size = texts.inside.shape
        sentences = vectors.new_zeros(*size, vectors.shape[1]).masked_scatter(texts.inside.unsqueeze(2), vectors)
        states, _ = self.model.sentence_level.layers(sentences, texts.lengths)
        return _Document(states, texts.lengths)

    def _words(self, texts: SubjectBatch) -> tuple[Tensor, Tensor]:
        """Return the embedded words [N, J, C] of all N sentences, and their lengths [N]."""
        vectors = self.model.words(texts.ids)  # [B, S, J, C]
        return vectors[texts.inside], (texts.ids != PAD).sum(2)[texts.inside]

    def attend(self, encoded: _Document) -> Tensor:
        """Return the attention weights of the sentences, [B, 1, S]."""
        weights: Tensor = self.attention(encoded.states, Mask.padding(encoded.lengths)).weights()
        return weights

    def answer(self, encoded: _Document, weights: Tensor) -> Tensor:
        """Return the probabilities of the labels under the given weights."""
        return self.model.output_map((weights @ encoded.states).squeeze(1)).softmax(-1)  # type: ignore[no-any-return]
