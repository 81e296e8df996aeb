"""Hierarchical attention network: pools words to sentences and sentences to a document for classification."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import EmbeddingScale, Probability, Share, Size, checked
from regard.constraints import directions_halve
from regard.masks import Mask
from regard.models.embeddings import WordDropout, WordEmbeddings
from regard.models.model_output import ModelOutput
from regard.nn.cells import CellKind, Cells
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent
from regard.nn.structured import StructuredSelfAttention
from regard.ops.weights import Weights
from regard.specials import EOS

Pooling = Literal["attention", "mean", "max"]
CPU_ROWS = 128
"""Sentences per call of a recurrent layer on a CPU, where the backward pass over rows of mixed lengths is slow."""


class SentenceRows(NamedTuple):
    """Sentences of a batch of documents, one per row.

    Attributes:
        ids: [N, J], words of all N sentences without end tokens; padded.
        lengths: [N], words per sentence.
        counts: [B], sentences per document.
        sentence: [B, T], row in `ids` of the sentence that contains each position.
        place: [B, T], index of each position within its sentence.
        words: [B, T], True at words.
        ends: [B, T], True at end tokens of sentences.
    """

    ids: Tensor
    lengths: Tensor
    counts: Tensor
    sentence: Tensor
    place: Tensor
    words: Tensor
    ends: Tensor

    @classmethod
    def of(cls, text: Tensor, lengths: Tensor | None = None) -> Self:
        """Split ids [B, T] of true `lengths` [B] after each `</s>`; words after the last one form a sentence, too.

        >>> rows = SentenceRows.of(torch.tensor([[5, 6, 3, 7, 3], [8, 3, 9, 9, 9]]), torch.tensor([5, 2]))
        >>> rows.ids.tolist(), rows.lengths.tolist(), rows.counts.tolist()
        ([[5, 6], [7, 0], [8, 0]], [2, 1, 1], [2, 1])
        """
        time = torch.arange(text.shape[1], device=text.device)
        true = text.new_full((len(text),), text.shape[1]) if lengths is None else lengths.to(text.device)
        inside = time < true.unsqueeze(1)
        ends = (text == EOS) & inside
        words = inside & ~ends
        number = ends.cumsum(1) - ends.long()  # an end belongs to the sentence that it closes
        ended = ends.sum(1)
        counts = ended + (words & (number == ended.unsqueeze(1))).any(1)
        following = torch.where(ends, time + 1, 0).cummax(1).values  # [B, T], start of the sentence after the last end
        place = time - F.pad(following[:, :-1], (1, 0))
        sentence = number + _first(counts)
        # At least one row, because recurrent layers do not accept a batch without rows.
        sizes = torch.bincount(sentence[words], minlength=max(int(counts.sum()), 1))
        ids = text.new_zeros(len(sizes), max(int(sizes.max()), 1))
        ids[sentence[words], place[words]] = text[words]
        return cls(ids, sizes, counts, sentence, place, words, ends)

    def together(self, vectors: Tensor) -> Tensor:
        """Group sentence vectors [N, C] by document, [B, S, C]; zero at padding."""
        time = torch.arange(max(int(self.counts.max()), 1), device=vectors.device)
        there = time < self.counts.unsqueeze(1)
        return vectors.new_zeros(*there.shape, vectors.shape[1]).masked_scatter(there.unsqueeze(2), vectors)

    def spread(self, word_weights: Tensor, sentence_weights: Tensor) -> Tensor:
        """Map word weights [N, J] and sentence weights [B, S] to the positions of the text, [B, 2, T].

        The first row contains α_i α_it at each word and sums to one over a document. The second row contains α_i at
        the end token of each sentence.
        """
        number = self.sentence - _first(self.counts)
        outer = sentence_weights.gather(1, number.clamp(max=sentence_weights.shape[1] - 1))  # [B, T]
        # Indices at padding run past the last word; clamping keeps them valid, and their weights are masked below.
        rows, places = self.sentence.clamp(max=len(word_weights) - 1), self.place.clamp(max=word_weights.shape[1] - 1)
        inner = word_weights[rows, places]  # [B, T]
        return torch.stack(((outer * inner).masked_fill(~self.words, 0.0), outer.masked_fill(~self.ends, 0.0)), dim=1)


def _first(counts: Tensor) -> Tensor:
    """Return the row of the first sentence of each document, [B, 1]."""
    return (counts.cumsum(0) - counts).unsqueeze(1)


class HierarchyLevel(nn.Module):
    """One level of the hierarchy: bidirectional recurrent layers over a sequence, pooled to one vector.

    Args:
        input_dim: width of the inputs.
        hidden_dim: width C of the states; each direction has half of it.
        cells: recurrent cells.
        pooling: `"attention"`, `"mean"` or `"max"`.
        attention_dim: width of the hidden layer of the attention.
        dropout: dropout of the states.

    Shapes: [N, J, input_dim], lengths [N] -> vectors [N, C] and weights [N, J], None without attention.
    """

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        cells: Cells | CellKind,
        *,
        pooling: Pooling,
        attention_dim: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.pooling = pooling
        self.layers = Recurrent(input_dim, hidden_dim // 2, cells, bidirectional=True)
        self.dropout = Dropout(dropout)
        self.attention: StructuredSelfAttention | None = None
        if pooling == "attention":
            self.attention = StructuredSelfAttention(hidden_dim, attention_dim, 1, bias=True)

    def forward(self, sequence: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor | None]:
        """Encode and pool sequences [N, J, input_dim] of true `lengths` [N]; an empty one gives zeros."""
        states, _ = self.layers(sequence, lengths)
        states = self.dropout(states)
        if self.attention is not None:
            attended = self.attention(states, Mask.padding(lengths))
            return attended.context.squeeze(1), attended.weights().squeeze(1)
        outside = torch.arange(states.shape[1], device=states.device) >= lengths.unsqueeze(1)
        if self.pooling == "mean":
            total = states.masked_fill(outside.unsqueeze(2), 0.0).sum(1)
            return total / lengths.clamp(min=1).unsqueeze(1), None
        highest = states.masked_fill(outside.unsqueeze(2), -torch.inf).amax(1)
        return highest.masked_fill((lengths == 0).unsqueeze(1), 0.0), None


class HierarchicalAttention(nn.Module):
    r"""Document classifier with two levels, words and sentences, each with recurrent layers and attention.

    .. math:: u_{it} = \tanh(W_w h_{it} + b_w), \quad \alpha_{it} = \mathrm{softmax}_t(u_{it}^\top u_w), \quad
              s_i = \sum_t \alpha_{it} h_{it}

    .. math:: u_i = \tanh(W_s h_i + b_s), \quad \alpha_i = \mathrm{softmax}_i(u_i^\top u_s), \quad
              v = \sum_i \alpha_i h_i, \quad p(\text{label}) = \mathrm{softmax}(W_c v + b_c)

    h_it are the states of a bidirectional recurrent layer over the words t of sentence i, h_i those of another over the
    sentence vectors s_i.

    Args:
        size: vocabulary size.
        num_classes: number of labels.
        embedding_dim: width of the embeddings.
        hidden_dim: width C of the states of both levels; each direction has half of it.
        cells: recurrent cells of both levels, by kind or with all their arguments.
        pooling: pooling of both levels: `"attention"`, `"mean"` or `"max"`.
        attention_dim: width of u_it and u_i; null in a recipe for that of the states.
        dropout: dropout of the embeddings, of the states of both levels and of v.
        word_dropout: probability that a word is replaced by the unknown token in training; see `WordDropout`.
        scale: largest entry of an embedding at initialisation; null in a recipe for 0.1.

    Shapes: text [B, T], with `</s>` after each sentence, lengths [B] -> logits [B, num_classes]. With attention,
    weights [B, 2, T]: α_i α_it at word t of sentence i, and α_i at the end token of sentence i.

    Yang, Yang, Dyer, He, Smola & Hovy 2016, "Hierarchical Attention Networks for Document Classification", section 2,
    equations 1 to 11. `pooling` selects the HN-ATT, HN-AVE and HN-MAX of the paper, which has no dropout.

    >>> model = HierarchicalAttention(11, 2, embedding_dim=3, hidden_dim=4)
    >>> predicted = model(torch.tensor([[5, 6, 3, 7, 3], [8, 3, 0, 0, 0]]), torch.tensor([5, 2]))
    >>> predicted.logits.shape, predicted.attended.weights().sum(2)
    (torch.Size([2, 2]), tensor([[1., 1.],
            [1., 1.]], grad_fn=...))
    """

    @checked(directions_halve)
    def __init__(
        self,
        size: int,
        num_classes: int,
        *,
        embedding_dim: Size = 200,
        hidden_dim: Size = 100,
        cells: Cells | CellKind = "gru",
        pooling: Pooling = "attention",
        attention_dim: Size | None = None,
        dropout: Share = 0.0,
        word_dropout: Probability = 0.0,
        scale: EmbeddingScale = 0.1,
    ) -> None:
        super().__init__()
        self.word_dropout = WordDropout(word_dropout)
        self.words = WordEmbeddings(size, embedding_dim, dropout=dropout, scale=scale)
        attention_dim = attention_dim or hidden_dim
        self.word_level, self.sentence_level = (
            HierarchyLevel(width, hidden_dim, cells, pooling=pooling, attention_dim=attention_dim, dropout=dropout)
            for width in (embedding_dim, hidden_dim)
        )
        self.dropout = Dropout(dropout)
        self.output_map = nn.Linear(hidden_dim, num_classes)

    def forward(self, text: Tensor, lengths: Tensor | None = None) -> ModelOutput:
        """Map documents [B, T] of true `lengths` [B] to logits [B, num_classes]."""
        rows = SentenceRows.of(self.word_dropout(text), lengths)
        sentences, word_weights = self._sentences(rows.ids, rows.lengths)  # [N, C], [N, J]
        document, sentence_weights = self.sentence_level(rows.together(sentences), rows.counts)  # [B, C], [B, S]
        logits: Tensor = self.output_map(self.dropout(document))
        if word_weights is None or sentence_weights is None:
            return ModelOutput(logits)
        weights = rows.spread(word_weights, sentence_weights)
        return ModelOutput(logits, attended=Weights.of(weights.unsqueeze(1), has_heads=False))

    def _sentences(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor | None]:
        """Encode sentences [N, J] as vectors [N, C] with word weights [N, J]; on a CPU in chunks sorted by length."""
        if len(ids) <= CPU_ROWS or not ids.is_cpu:
            found: tuple[Tensor, Tensor | None] = self.word_level(self.words(ids), lengths)
            return found
        order = lengths.argsort(stable=True)
        vectors, weights = [], []
        for part in order.split(CPU_ROWS):
            longest = max(int(lengths[part[-1]]), 1)
            vector, weight = self.word_level(self.words(ids[part, :longest]), lengths[part])
            vectors.append(vector)
            weights += [] if weight is None else [F.pad(weight, (0, ids.shape[1] - longest))]
        back = order.argsort()  # inverse permutation, to restore the original order
        return torch.cat(vectors)[back], torch.cat(weights)[back] if weights else None
