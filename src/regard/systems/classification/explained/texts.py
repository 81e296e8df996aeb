"""Explanation adapters of classifiers of one text, by attention pooling or by the layers of a Transformer."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from regard.data.fields.tokenizer import Tokenizer
from regard.explain.embeddings import embeddings_of
from regard.explain.layer_stack import LayerStack, layer_measures, layers_of
from regard.explain.subject import Extra, StagedSubject, SubjectBatch
from regard.models.bert import BertEncoder
from regard.models.encoded import Encoded
from regard.specials import EOS, FRAME
from regard.systems.classification.acceptor import Acceptor
from regard.systems.classification.explained.labels import LabelSubject, cropped


class _AcceptorSubject(LabelSubject):
    """Base class of acceptors of one text, or of two texts that a BERT reads as one sequence."""

    separator = EOS

    def __init__(self, model: Acceptor, tokenizer: Tokenizer, names: tuple[str, ...]) -> None:
        super().__init__(model, tokenizer, names)
        self.model, self.embeddings = model, (embeddings_of(model.encoder),)
        self.framed = isinstance(model.encoder, BertEncoder)

    def fold(self, texts: SubjectBatch, values: Tensor) -> Tensor:
        """Convert values of embeddings to values of words; BERT also embeds `<s>` and `</s>`."""
        return cropped(values, texts)

    def extras(self) -> Mapping[str, Extra]:
        """Return the measures of a Transformer encoder."""
        return layer_measures(self.layers, cropped) if layers_of(self.model.encoder) else {}

    def layers(self, texts: SubjectBatch) -> tuple[LayerStack, Tensor]:
        """Return the attention of the layers and the pooling weights of the last states, [B, P]."""
        found: list[Encoded] = []
        encoder = self.model.encoder
        stack = LayerStack.of(layers_of(encoder), lambda: found.append(encoder(texts.ids, texts.lengths)))
        with torch.no_grad():
            return stack, self._reads(texts, found[0])

    def _reads(self, texts: SubjectBatch, encoded: Encoded) -> Tensor:
        """Return the pooling weights of the states of the last layer, [B, P]."""
        size = texts.ids.shape[1] + FRAME * self.framed
        if self.model.pooling == "last":
            place = torch.zeros_like(texts.lengths) if self.framed else texts.lengths - 1
            return torch.nn.functional.one_hot(place, size).to(encoded.states)
        if self.model.attention is None:
            inner = (texts.present / texts.lengths.unsqueeze(1)).to(encoded.states)
        else:
            inner = self.model.attention(encoded.states, encoded.mask).weights().mean(1)
        return torch.nn.functional.pad(inner, (1, 1)) if self.framed else inner


class AttendingSubject(_AcceptorSubject, StagedSubject):
    """Acceptor that pools words by attention.

    Args:
        model: acceptor in evaluation mode.
        tokenizer: tokenizer of its texts.
        names: names of its labels.
    """

    def encode(self, texts: SubjectBatch) -> Encoded:
        """Encode the words."""
        encoded: Encoded = self.model.encoder(texts.ids, texts.lengths)
        return encoded

    def attend(self, encoded: Encoded) -> Tensor:
        """Return the attention weights of each hop, [B, r, T]."""
        assert self.model.attention is not None
        weights: Tensor = self.model.attention(encoded.states, encoded.mask).weights()
        return weights

    def answer(self, encoded: Encoded, weights: Tensor) -> Tensor:
        """Return the probabilities of the labels."""
        return self.model.decide(weights @ encoded.states).softmax(-1)

    def answers(self, encoded: Encoded, weights: Tensor) -> Tensor:
        """Return the probabilities of the labels under M alternative weights, in one matrix product."""
        count, batch, hops, _ = weights.shape
        side_by_side = weights.transpose(0, 1).flatten(1, 2)  # [B, M * r, T]
        matrices = (side_by_side @ encoded.states).unflatten(1, (count, hops))  # [B, M, r, C]
        found = self.model.decide(matrices.flatten(0, 1)).softmax(-1)  # [B * M, K]
        return found.view(batch, count, -1).transpose(0, 1)

    def support(self, texts: SubjectBatch) -> Tensor:
        """Return the mask of the pooled positions: the whole text, including the `</s>` between two texts."""
        return texts.present.unsqueeze(1)


class LayeredSubject(_AcceptorSubject):
    """Acceptor that pools the states of a Transformer without attention.

    Its weights are those of the last layer: the mean over the heads, weighted by the pooling of the states.

    Args:
        model: acceptor in evaluation mode.
        tokenizer: tokenizer of its texts.
        names: names of its labels.
    """

    def probabilities(self, texts: SubjectBatch, *, detach: bool = False) -> Tensor:
        """Return the probabilities of the labels."""
        return self.model(texts.ids, texts.lengths).logits.softmax(-1)  # type: ignore[no-any-return]

    def weights(self, texts: SubjectBatch) -> Tensor:
        """Return the attention of the pooled state in the last layer, [B, T]."""
        stack, reads = self.layers(texts)
        return cropped((reads.unsqueeze(1) @ stack.weights[:, -1].mean(1)).squeeze(1), texts)
