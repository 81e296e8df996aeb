"""n to 1: a text gets one label."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.models.encoder import Encoded
from regard.models.predicted import Predicted
from regard.models.reading import ReadingEncoder
from regard.models.words import WordDropout
from regard.nn.dropout import Dropout
from regard.nn.structured import StructuredSelfAttention
from regard.ops.attended import Attended

POOLINGS = ("last", "mean", "max", "attention")


class Acceptor(nn.Module):
    r"""A text as one vector, and a label from it.

    .. math:: p = \mathrm{pool}(h_1 \dots h_T), \quad p(\text{label}) = \mathrm{softmax}(W p + b)

    Args:
        encoder: `Encoder` or `TransformerEncoder`.
        num_classes: how many labels.
        pooling: `"last"` (the encoder's summary), `"mean"` or `"max"` over the words, or `"attention"`: a weighted mean
            with weights softmax(vᵀ tanh(W h_t)).
        dropout: on the pooled vector.
        word_dropout: how often a word becomes unknown in training; see `WordDropout`.

    Attention as in Lin et al. 2017, equation 5 (one hop). An empty text has the vector zero.

    >>> from regard.models import Encoder
    >>> model = Acceptor(Encoder(11, embedding_dim=3, hidden_dim=5), 4)
    >>> predicted = model(torch.ones(2, 7).long(), torch.tensor([7, 4]))
    >>> predicted.logits.shape, predicted.attended.weights().shape
    (torch.Size([2, 4]), torch.Size([2, 1, 7]))
    """

    def __init__(
        self,
        encoder: ReadingEncoder,
        num_classes: int,
        *,
        pooling: str = "attention",
        dropout: float = 0.0,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if pooling not in POOLINGS:
            raise ValueError(f"Acceptor: pooling is {', '.join(POOLINGS)}; got {pooling!r}")
        self.word_dropout = WordDropout(word_dropout)
        self.encoder = encoder
        self.pooling = pooling
        width = encoder.output_dim
        self.attention = StructuredSelfAttention(width, width, 1) if pooling == "attention" else None
        self.dropout = Dropout(dropout)
        self.output_map = nn.Linear(width, num_classes)

    def forward(self, text: Tensor, lengths: Tensor | None = None) -> Predicted:
        """Words [B, T] of true `lengths` [B] -> logits [B, classes]."""
        encoded: Encoded = self.encoder(self.word_dropout(text), lengths)
        attended: Attended | None = None
        if self.attention is not None:
            attended = self.attention(encoded.states, encoded.mask)
            pooled = attended.context.squeeze(1)
        else:
            pooled = _pooled(encoded, self.pooling)
        return Predicted(self.output_map(self.dropout(pooled)), attended=attended)


def _pooled(encoded: Encoded, pooling: str) -> Tensor:
    """[B, C] by a rule without parameters."""
    if pooling == "last":
        return encoded.summary
    inside = _inside(encoded)
    if pooling == "mean":
        total = encoded.states.masked_fill(~inside, 0.0).sum(1)
        return total / inside.sum(1).clamp(min=1)
    if encoded.states.shape[1] == 0:
        return encoded.summary
    highest = encoded.states.masked_fill(~inside, -torch.inf).amax(1)
    return highest.masked_fill(~inside.any(1), 0.0)


def _inside(encoded: Encoded) -> Tensor:
    """[B, T, 1], True at words."""
    batch, size, _ = encoded.states.shape
    mask = Mask.of(torch.ones(1, dtype=torch.bool)) if encoded.mask is None else encoded.mask
    allowed = mask.allowed((batch, 1, 1, size), device=encoded.states.device)
    return allowed.expand(batch, 1, 1, size).reshape(batch, size, 1)
