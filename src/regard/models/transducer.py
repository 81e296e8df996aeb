"""n to n: every word of a text gets a label."""

from __future__ import annotations

from torch import Tensor, nn

from regard.models.encoder import Encoded
from regard.models.predicted import Predicted
from regard.models.reading import ReadingEncoder
from regard.models.words import WordDropout
from regard.nn.dropout import Dropout


class Transducer(nn.Module):
    """A label for each word from its state: p(label_t) = softmax(W h_t + b).

    Args:
        encoder: `Encoder` or `TransformerEncoder`; one that reads both directions knows what follows a word.
        num_tags: how many labels.
        dropout: on the states.
        word_dropout: how often a word (or piece) becomes unknown in training; see `WordDropout`.

    >>> import torch
    >>> from regard.models import Encoder
    >>> model = Transducer(Encoder(11, embedding_dim=3, hidden_dim=10, bidirectional=True), 4)
    >>> model(torch.ones(2, 7).long(), torch.tensor([7, 4])).logits.shape
    torch.Size([2, 7, 4])
    """

    def __init__(
        self,
        encoder: ReadingEncoder,
        num_tags: int,
        *,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.word_dropout = WordDropout(word_dropout)
        self.encoder = encoder
        self.dropout = Dropout(dropout)
        self.output_map = nn.Linear(encoder.output_dim, num_tags)

    def forward(self, text: Tensor, lengths: Tensor | None = None) -> Predicted:
        """Words [B, T] of true `lengths` [B] -> logits [B, T, tags]; those of padding mean nothing."""
        encoded: Encoded = self.encoder(self.word_dropout(text), lengths)
        return Predicted(self.output_map(self.dropout(encoded.states)))
