"""Acceptor: classification of a text by its pooled encoder states."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.arguments import Factor, Probability, Share, Size, checked
from regard.constraints import matches_are_pooled, one_comparison, one_hidden_layer
from regard.masks import Mask
from regard.models.embeddings import WordDropout
from regard.models.encoded import AnyEncoder, Encoded
from regard.models.model_output import NOTHING, ModelOutput
from regard.nn.dropout import Dropout
from regard.nn.structured import PairFactors, RowColumnLayer, StructuredSelfAttention
from regard.ops.attended import Attended
from regard.ops.structured import frobenius_penalty
from regard.systems.classification.comparison import (
    Comparison,
    compare_vectors,
    compared_width,
    states_width,
    with_matches,
)
from regard.systems.classification.split_pair import SplitPair

Pooling = Literal["last", "mean", "max", "attention"]


class Acceptor(nn.Module):
    r"""Text classifier that pools encoder states to one vector, or to r vectors, and predicts a label from them.

    .. math:: M = \mathrm{pool}(h_1 \dots h_T), \quad p(\text{label}) = \mathrm{softmax}(W f(M) + b)

    Args:
        encoder: encoder of the text, by `kind` and its arguments in a recipe.
        num_classes: number of labels.
        pooling: `"last"` (the encoder's summary), `"mean"` or `"max"` over the words, or `"attention"`: r weighted
            means with weights softmax(W₂ tanh(W₁ Hᵀ)). All others give a single row.
        num_hops: number r of weighted means, for attention.
        attention_dim: width of W₁, for attention; None for that of the encoder.
        penalty: weight of ‖A Aᵀ - I‖² in the loss, for attention; discourages hops from attending to the same words.
            Returned in `extras["penalty"]` [B]; for a pair, the sum over both texts.
        pair_dim: number of factors per row that compare two texts, each encoded alone by the same encoder (see
            `PairFactors`); None for one text, or for `comparison`.
        comparison: compare two texts instead by features of each row, `"joined"`, [m; m'], `"signed"`,
            [m; m'; m - m'; m ⊙ m'], or `"absolute"`, with |m - m'|; None for one text, or for `pair_dim`.
        exact_match: for two texts, add two features to each state: the word occurs in the other text, exactly or in
            another case. The attention also scores them; not for the pooling `"last"`.
        hidden_dim: number of units of a hidden layer, f(M) = relu(U M + c) over all rows; None for f(M) = M.
        pruned: alternative hidden layer with (p, q) units per row and per column of M (see `RowColumnLayer`).
        dropout: dropout of the pooled or compared vectors, and of the hidden layer.
        word_dropout: probability that a word is replaced by the unknown token in training; see `WordDropout`.

    An empty text has rows of zeros.

    Lin et al. 2017, "A Structured Self-attentive Sentence Embedding": attention of one hop is equation 5, of several
    equation 6, the penalty equation 8.

    >>> from regard.models import RecurrentEncoder
    >>> model = Acceptor(RecurrentEncoder(11, embedding_dim=3, hidden_dim=5), 4, num_hops=2, penalty=1.0)
    >>> predicted = model(torch.ones(2, 7).long(), torch.tensor([7, 4]))
    >>> predicted.logits.shape, predicted.attended.weights().shape, predicted.extras["penalty"].shape
    (torch.Size([2, 4]), torch.Size([2, 2, 7]), torch.Size([2]))
    """

    @checked(one_hidden_layer, one_comparison, matches_are_pooled)
    def __init__(
        self,
        encoder: AnyEncoder,
        num_classes: int,
        *,
        pooling: Pooling = "attention",
        num_hops: Size = 1,
        attention_dim: Size | None = None,
        penalty: Factor = 0.0,
        pair_dim: Size | None = None,
        comparison: Comparison | None = None,
        exact_match: bool = False,
        hidden_dim: Size | None = None,
        pruned: tuple[Size, Size] | None = None,
        dropout: Share = 0.0,
        word_dropout: Probability = 0.0,
    ) -> None:
        super().__init__()
        self.word_dropout = WordDropout(word_dropout)
        self.encoder = encoder
        self.pooling, self.penalty = pooling, penalty
        width = states_width(self, encoder, exact_match=exact_match)
        rows = num_hops if pooling == "attention" else 1
        self.attention = (
            StructuredSelfAttention(width, attention_dim or width, rows) if pooling == "attention" else None
        )
        self.pair = None if pair_dim is None else PairFactors(rows, width, factors=pair_dim)
        self.comparison = comparison
        columns = pair_dim or (width if comparison is None else compared_width(width, comparison))
        self.dropout = Dropout(dropout)
        self.hidden, seen = _hidden(rows, columns, hidden_dim, pruned)
        self.output_map = nn.Linear(seen, num_classes)

    @property
    def compares(self) -> bool:
        """True if the model encodes two texts separately and compares them."""
        return self.pair is not None or self.comparison is not None

    def forward(self, text: Tensor, lengths: Tensor | None = None, matches: Tensor | None = None) -> ModelOutput:
        """Map words [B, T] of true `lengths` [B] to logits [B, classes].

        The two texts of a pair are separated by `</s>`; for `matches` [B, T] see `PairStates.of`.
        """
        words = self.word_dropout(text)
        if not self.compares:
            matrix, attended = self._pooled(self.encoder(words, lengths))
            extras = {} if attended is None else self._extras(attended)
            return ModelOutput(self.decide(matrix), attended=attended, extras=extras or NOTHING)
        parts = SplitPair.of(words, lengths)
        encoded: Encoded = self.encoder(*parts)
        matrix, attended = self._pooled(encoded._replace(states=with_matches(encoded.states, parts, matches)))
        logits = self.decide(self.relate(*matrix.chunk(2)))  # [2B, r, C] -> two of [B, r, C]
        if attended is None:
            return ModelOutput(logits)
        extras = {name: torch.stack(cost.chunk(2)).sum(0) for name, cost in self._extras(attended).items()}
        return ModelOutput(logits, attended=parts.together(attended.weights(), text.shape[1]), extras=extras)

    def _pooled(self, encoded: Encoded) -> tuple[Tensor, Attended | None]:
        """Return M [B, r, C] and the attention."""
        if self.attention is None:
            return _by_rule(encoded, self.pooling).unsqueeze(1), None
        attended: Attended = self.attention(encoded.states, encoded.mask)
        return attended.context, attended

    def relate(self, first: Tensor, second: Tensor) -> Tensor:
        """Return features of two matrices [B, r, C], row by row."""
        if self.comparison is not None:
            return compare_vectors(first, second, self.comparison)
        assert self.pair is not None
        related: Tensor = self.pair(first, second)
        return related

    def decide(self, matrix: Tensor) -> Tensor:
        """Return the logits [B, classes] of pooled texts [B, r, C]."""
        seen = self.dropout(matrix)
        if self.hidden is not None:
            seen = self.dropout(torch.relu(self.hidden(seen)))
        logits: Tensor = self.output_map(seen.flatten(1))
        return logits

    def _extras(self, attended: Attended) -> dict[str, Tensor]:
        return {"penalty": self.penalty * frobenius_penalty(attended.weights())} if self.penalty else {}


def _hidden(
    rows: int, columns: int, units: int | None, pruned: list[int] | tuple[int, int] | None
) -> tuple[nn.Module | None, int]:
    """Build the layer between the matrix M and the output, and return it with its output width."""
    if units is not None and pruned is not None:
        raise ValueError("Acceptor: hidden_dim and pruned are two ways to make one hidden layer; give one of them")
    if units is not None:
        return nn.Sequential(nn.Flatten(), nn.Linear(rows * columns, units)), units
    if pruned is None:
        return None, rows * columns
    if not isinstance(pruned, list | tuple) or [type(one) for one in pruned] != [int, int]:
        raise ValueError(f"Acceptor: pruned is two whole numbers, units for a row and for a column; got {pruned!r}")
    layer = RowColumnLayer(rows, columns, row_units=pruned[0], column_units=pruned[1])
    return layer, layer.output_dim


def _by_rule(encoded: Encoded, pooling: str) -> Tensor:
    """Pool states to [B, C] without parameters."""
    if pooling == "last":
        return encoded.summary
    inside = _inside(encoded)
    if pooling == "mean":
        total = encoded.states.masked_fill(~inside, 0.0).sum(1)
        return total / inside.sum(1).clamp(min=1)
    if encoded.states.shape[1] == 0:
        return encoded.summary
    # The maximum of an empty text is -inf; replace it by zero.
    highest = encoded.states.masked_fill(~inside, -torch.inf).amax(1)
    return highest.masked_fill(~inside.any(1), 0.0)


def _inside(encoded: Encoded) -> Tensor:
    """Return the mask [B, T, 1]: True at words, False at padding."""
    batch, size, _ = encoded.states.shape
    mask = Mask.of(torch.ones(1, dtype=torch.bool)) if encoded.mask is None else encoded.mask
    allowed = mask.allowed((batch, 1, 1, size), device=encoded.states.device)
    return allowed.expand(batch, 1, 1, size).reshape(batch, size, 1)
