"""Convolutional encoder with filters of several widths (TextCNN)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import EmbeddingScale, Share, Size, checked
from regard.constraints import windows_have_filters
from regard.masks import Mask
from regard.models.embeddings import WordEmbeddings, check_ids
from regard.models.encoded import Encoded
from regard.nn.rnn import token_mask


class TextCNN(nn.Module):
    r"""Convolutions of several widths: the states are features of the n-grams around each word.

    .. math:: h_s = [\mathrm{relu}(W^w [x_{s-l}; \dots; x_{s-l+w-1}] + b^w)]_{w \in \text{windows}}, \quad
              l = \lfloor w / 2 \rfloor

    with zero padding outside the text. With an acceptor, `pooling: max` and `dropout: 0.5` it is Kim's classifier: max
    pooling of each filter over the text and a linear layer.

    Args:
        size: size of the vocabulary.
        embedding_dim: width of the embeddings.
        hidden_dim: width C of the states, the total number of filters; it is split evenly among the windows, and the
            first windows have one more filter if there is a remainder.
        windows: filter widths in words.
        dropout: dropout of the embeddings.
        scale: bound of the uniform initialisation of embeddings; null in a recipe for 1 with characters, and 0.1
            otherwise. With small values, rare words, which are hardly trained, add little noise.

    Shapes: source [B, S], lengths [B] -> `Encoded`; its summary is the maximum of the states over the words, zero of an
    empty text.

    Parameters: `words.table` E; `layers` W and b, one per window.

    Kim 2014, "Convolutional Neural Networks for Sentence Classification", section 2. Filters in the paper also start
    before the text and end after it; here each n-gram is centred on a word of the text.

    >>> model = TextCNN(11, embedding_dim=3, hidden_dim=6, windows=(2, 3))
    >>> encoded = model(torch.ones(2, 7).long(), torch.tensor([7, 4]))
    >>> encoded.states.shape, encoded.summary.shape, encoded.states[1, 4:].abs().sum().item()
    (torch.Size([2, 7, 6]), torch.Size([2, 6]), 0.0)
    """

    @checked(windows_have_filters)
    def __init__(
        self,
        size: int,
        *,
        embedding_dim: Size = 100,
        hidden_dim: Size = 300,
        windows: Sequence[Size] = (3, 4, 5),
        dropout: Share = 0.0,
        scale: EmbeddingScale = 0.1,
    ) -> None:
        super().__init__()
        self.output_dim = hidden_dim
        self.windows = tuple(windows)
        self.words = WordEmbeddings(size, embedding_dim, dropout=dropout, scale=scale)
        share, rest = divmod(hidden_dim, len(self.windows))
        self.layers = nn.ModuleList(
            nn.Conv1d(embedding_dim, share + (place < rest), window) for place, window in enumerate(self.windows)
        )

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> Encoded:
        """Encode token ids [B, S] with true `lengths` [B]; None without padding."""
        words: Tensor = self.words(check_ids(self, source))
        batch, size, _ = words.shape
        present = None if lengths is None else token_mask(lengths.to(words.device), size).unsqueeze(2)  # [B, S, 1]
        if not size:  # PyTorch's convolution rejects an empty sequence
            nothing = words.new_zeros(batch, 0, self.output_dim)
            return Encoded(nothing, nothing.sum(1), None)
        along = (words if present is None else words.masked_fill(~present, 0.0)).mT  # [B, E, S]
        grams = [
            layer(F.pad(along, (window // 2, window - 1 - window // 2)))  # [B, C / windows, S]
            for layer, window in zip(self.layers, self.windows, strict=True)
        ]
        states = torch.relu(torch.cat(grams, dim=1)).mT  # [B, S, C]
        states = states if present is None else states.masked_fill(~present, 0.0)
        # States are non-negative after the ReLU, so zeros at padding do not change the maximum.
        return Encoded(states, states.amax(1), None if lengths is None else Mask.padding(lengths))
