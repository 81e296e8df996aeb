"""A classifier as explanations see it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.data.batching.batch import padded
from regard.data.fields.tokenizer import Tokenizer
from regard.explain.subject import Subject, SubjectBatch
from regard.models.encoded import Encoded
from regard.specials import PAD, UNK
from regard.systems.classification.acceptor import Acceptor
from regard.systems.classification.targets.label import LabelTarget


def subject_of(model: object, tokenizer: Tokenizer, target: object) -> Subject:
    """Return a classifier of single texts by attention as a subject.

    Raises:
        ValueError: a model without weights over words, or answers that are no labels.
    """
    if not isinstance(model, Acceptor):
        raise ValueError("only the model 'acceptor' is explained, which reads one text by one level of attention")
    if model.attention is None:
        raise ValueError("the model pools words without attention; train it with model.pooling=attention")
    if model.compares or not isinstance(target, LabelTarget):
        raise ValueError("only classifiers of one text with one label are explained")
    if getattr(model.encoder, "reverse", False):
        raise ValueError("the encoder reads backwards (model.encoder.reverse); its embeddings stand in another order")
    words_of = getattr(model.encoder, "words", None)
    if not isinstance(words_of, nn.Module):
        raise ValueError("the encoder has no word embeddings")
    attention, device = model.attention, next(model.parameters()).device

    def encode(texts: SubjectBatch) -> Encoded:
        found: Encoded = model.encoder(texts.ids, texts.lengths)
        return found

    def attend(encoded: Encoded) -> Tensor:
        weights: Tensor = attention(encoded.states, encoded.mask).weights()
        return weights

    def answer(encoded: Encoded, weights: Tensor) -> Tensor:
        return model.decide(weights @ encoded.states).softmax(-1)

    def repeat(encoded: Encoded, rows: Tensor) -> Encoded:
        mask = None if encoded.mask is None else encoded.mask.select(rows)
        return Encoded(encoded.states[rows], encoded.summary[rows], mask)

    def read(inputs: Sequence[str]) -> SubjectBatch:
        ids = [found or [UNK] for found in tokenizer.encode_all(list(inputs))]
        lengths = torch.tensor([len(found) for found in ids], device=device)
        return SubjectBatch(padded(ids, PAD).to(device), lengths, PAD)

    def words(given: str) -> list[str]:
        return tokenizer.tokens(tokenizer.encode_all([given])[0] or [UNK])

    names = tuple(target.labels.decode(list(range(target.labels.size))))
    return Subject(words_of, encode, attend, answer, repeat, read, words, names)
