"""Convolutions of several widths side by side over a text."""

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
    r"""Words in, features of the n-grams around each word out.

    .. math:: h_s = [\mathrm{relu}(W^w [x_{s-l}; \dots; x_{s-l+w-1}] + b^w)]_{w \in \text{windows}}, \quad
              l = \lfloor w / 2 \rfloor

    with zeros outside the text. With `pooling: max` an acceptor is the classifier of Kim: the largest value of each
    filter anywhere in the text, `dropout: 0.5`, and a linear layer.

    Args:
        size: size of the vocabulary.
        embedding_dim: width of the embeddings.
        hidden_dim: width C of the states: number of filters, divided among the windows; the first ones
            have one more where that leaves a rest.
        windows: numbers of words that filters cover.
        dropout: dropout of the embeddings.
        scale: bound of the uniform initialisation of embeddings; null in a recipe for 1 with characters, and 0.1
            otherwise. With small values, rare words, which are hardly trained, add little noise.

    Shapes: source [B, S], lengths [B] -> `Encoded`; its summary is the maximum of the states over the words, zero of an
    empty text.

    Parameters: `words.table` E; `layers` W and b, one per window.

    Kim 2014, "Convolutional Neural Networks for Sentence Classification", section 2; the paper's filters also begin
    before the text and end behind it, here each n-gram stands around a word of the text.

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
        if not size:  # a convolution refuses a sequence without words
            nothing = words.new_zeros(batch, 0, self.output_dim)
            return Encoded(nothing, nothing.sum(1), None)
        along = (words if present is None else words.masked_fill(~present, 0.0)).mT  # [B, E, S]
        grams = [
            layer(F.pad(along, (window // 2, window - 1 - window // 2)))  # [B, C / windows, S]
            for layer, window in zip(self.layers, self.windows, strict=True)
        ]
        states = torch.relu(torch.cat(grams, dim=1)).mT  # [B, S, C]
        states = states if present is None else states.masked_fill(~present, 0.0)
        # Rectified states are at least zero, so padding never wins.
        return Encoded(states, states.amax(1), None if lengths is None else Mask.padding(lengths))
