"""Explanation adapters of classifiers of two texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.data.batching.batch import padded
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import TextError, shortened
from regard.explain.changed_weights import changed_weights, same_weights
from regard.explain.embeddings import embeddings_of
from regard.explain.subject import StagedSubject, SubjectBatch
from regard.masks import Mask
from regard.models.model_output import ModelOutput
from regard.specials import EOS
from regard.systems.classification.acceptor import Acceptor
from regard.systems.classification.comparison import with_matches
from regard.systems.classification.decomposable import DecomposableAttention
from regard.systems.classification.esim import ESIM
from regard.systems.classification.explained.labels import LabelSubject
from regard.systems.classification.pair_field import exact_matches
from regard.systems.classification.split_pair import SplitPair


class _Pairs(LabelSubject, StagedSubject):
    """Base class of classifiers of two texts; exact-match features are those of the unperturbed texts.

    Args:
        model: model in evaluation mode.
        tokenizer: tokenizer of the texts.
        names: names of the labels.
        matches: True if the model reads exact-match features.
    """

    separator = EOS

    def __init__(
        self,
        model: Acceptor | DecomposableAttention | ESIM,
        tokenizer: Tokenizer,
        names: tuple[str, ...],
        *,
        matches: bool,
    ) -> None:
        super().__init__(model, tokenizer, names)
        self.embeddings, self.matches = (embeddings_of(model.encoder),), matches

    def read(self, inputs: Sequence[str]) -> SubjectBatch:
        """Encode pairs, separated by a tab, as ids with `</s>` between; with exact matches [B, T, 2]."""
        if (alone := next((text for text in inputs if "\t" not in text), None)) is not None:
            raise TextError(f"the label is of two texts with a tab between; this is one: {shortened(alone)!r}")
        texts = super().read(inputs)
        if not self.matches:
            return texts
        found = padded([exact_matches(self.tokenizer, text) for text in inputs], 0).to(self.device)
        return texts._replace(ids=torch.stack((texts.ids, found), 2))  # [B, T, 2]

    def fold(self, texts: SubjectBatch, values: Tensor) -> Tensor:
        """Convert values of the words of both texts, [2B, S], to values of the pairs, [B, T]."""
        ids, _ = _parts(texts)
        return SplitPair.of(ids, texts.lengths).together(values.unsqueeze(1), ids.shape[1]).weights().squeeze(1)


class _Encoded(NamedTuple):
    """Split pairs with the states [2B, S, C] of their words."""

    parts: SplitPair
    states: Tensor
    size: int


class PairSubject(_Pairs):
    """Acceptor that pools each text of a pair by attention: r hops over the first text, then r over the second."""

    def __init__(self, model: Acceptor, tokenizer: Tokenizer, names: tuple[str, ...], *, matches: bool) -> None:
        super().__init__(model, tokenizer, names, matches=matches)
        self.model = model

    def encode(self, texts: SubjectBatch) -> _Encoded:
        """Encode the words of both texts."""
        ids, matches = _parts(texts)
        parts = SplitPair.of(ids, texts.lengths)
        states = with_matches(self.model.encoder(*parts).states, parts, matches)
        return _Encoded(parts, states, ids.shape[1])

    def attend(self, encoded: _Encoded) -> Tensor:
        """Return the attention weights of the hops over both texts, [B, 2r, T]."""
        assert self.model.attention is not None
        weights: Tensor = self.model.attention(encoded.states, Mask.padding(encoded.parts.lengths)).weights()
        first, second = weights.chunk(2)
        none = torch.zeros_like(first)
        rows = torch.cat((torch.cat((first, none), 1), torch.cat((none, second), 1)))  # [2B, 2r, S]
        return encoded.parts.together(rows, encoded.size).weights()

    def answer(self, encoded: _Encoded, weights: Tensor) -> Tensor:
        """Return the probabilities of the labels."""
        first, second = weights.chunk(2, dim=1)  # [B, r, T]
        joint = first + second  # [B, r, T]; each is 0 on the other text
        parted = torch.stack([encoded.parts.part(hop) for hop in joint.unbind(1)], 1)  # [2B, r, S]
        matrices = (parted @ encoded.states).chunk(2)
        return self.model.decide(self.model.relate(*matrices)).softmax(-1)

    def support(self, texts: SubjectBatch) -> Tensor:
        """Return the mask of the words that each hop pools: those of its text."""
        first, second = _sides(texts)
        assert self.model.attention is not None
        hops = self.model.attention.outer_map.out_features
        return torch.stack([first] * hops + [second] * hops, 1)


class AcrossSubject(_Pairs):
    """Model with attention between the words of two texts: one row of weights per word, [B, T, T].

    An answer under other weights costs a full forward pass, so no alternative weights are searched.
    """

    searched = False

    def __init__(
        self, model: DecomposableAttention | ESIM, tokenizer: Tokenizer, names: tuple[str, ...], *, matches: bool
    ) -> None:
        super().__init__(model, tokenizer, names, matches=matches)
        self.model = model

    def encode(self, texts: SubjectBatch) -> SubjectBatch:
        """Return the pairs unchanged."""
        return texts

    def attend(self, encoded: SubjectBatch) -> Tensor:
        """Return the attention weights from the words of each text to those of the other, [B, T, T]."""
        with torch.no_grad():
            predicted = self._predicted(encoded)
        assert predicted.attended is not None
        return predicted.attended.weights()

    def weights(self, texts: SubjectBatch) -> Tensor:
        """Return the mean weights over the attention rows of all words, [B, T]; zeros for a pair with an empty text."""
        return self.attend(texts).sum(1) / texts.sizes.clamp(min=1).unsqueeze(1)

    def answer(self, encoded: SubjectBatch, weights: Tensor) -> Tensor:
        """Return the probabilities of the labels."""
        parts = SplitPair.of(_parts(encoded)[0], encoded.lengths)
        given = crossing(parts, weights).unsqueeze(1)  # [2B, 1, S, S]
        with changed_weights(self.model.attention, lambda _own: given):
            return self._predicted(encoded).logits.softmax(-1)

    def probabilities(self, texts: SubjectBatch, *, detach: bool = False) -> Tensor:
        """Return the probabilities of the labels from one forward pass."""
        with changed_weights(self.model.attention, Tensor.detach if detach else same_weights):
            return self._predicted(texts).logits.softmax(-1)

    def support(self, texts: SubjectBatch) -> Tensor:
        """Return the mask of the words that each word can attend to: those of the other text."""
        first, second = _sides(texts)
        return (first.unsqueeze(2) & second.unsqueeze(1)) | (second.unsqueeze(2) & first.unsqueeze(1))

    def _predicted(self, texts: SubjectBatch) -> ModelOutput:
        ids, matches = _parts(texts)
        predicted: ModelOutput = self.model(ids, texts.lengths, matches)
        return predicted


def crossing(parts: SplitPair, weights: Tensor) -> Tensor:
    """Convert weights between two texts on the pair rows, [B, T, T], to weights on the split texts, [2B, S, S].

    The inverse of `SplitPair.crossed`.
    """
    columns = torch.stack([parts.part(row) for row in weights.unbind(1)], 1)  # [2B, T, S]: rows still of the pair
    half, size = len(weights), parts.ids.shape[1]
    first, second = columns.chunk(2)  # on the words of the first texts, and of the second ones
    mine = torch.stack([parts.part(column)[:half] for column in second.unbind(2)], 2)  # first texts on second ones
    yours = torch.stack([parts.part(column)[half:] for column in first.unbind(2)], 2)
    found = torch.cat((mine, yours))  # [2B, S, S]
    return found[:, :size, :size]


def _parts(texts: SubjectBatch) -> tuple[Tensor, Tensor | None]:
    """Return ids [B, T] and exact matches [B, T], or None without them."""
    return (texts.ids, None) if texts.ids.dim() == 2 else (texts.ids[..., 0], texts.ids[..., 1])


def _sides(texts: SubjectBatch) -> tuple[Tensor, Tensor]:
    """Return the masks of the words of the first and of the second text, [B, T] each."""
    behind = (_parts(texts)[0] == EOS).cumsum(1) > 0
    return texts.inside & ~behind, texts.inside & behind
