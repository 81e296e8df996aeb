"""LSTMN encoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arguments import EmbeddingScale, Share, Size, checked
from regard.masks import Mask
from regard.models.characters import CharacterConfig, CharacterEncoder, LetterIds, letter_vectors
from regard.models.embeddings import WordEmbeddings, check_ids
from regard.models.encoded import Encoded, last_states
from regard.nn.deep_lstmn import DeepLSTMN, DeepLSTMNStep
from regard.nn.dropout import Dropout


class LSTMNEncoder(nn.Module):
    """Encoder with LSTMN layers: h_s = LSTMN(E x_s, tapes), from the first word to the last.

    Args:
        size: size of the vocabulary.
        embedding_dim: width of the embeddings.
        hidden_dim: width C of the layers and of the states.
        num_layers: number of layers.
        distances: number of distances with a learned energy bias, see `LSTMNCell`; None for none, as in the paper.
        dropout: dropout of the embeddings, between layers and of the states.
        characters: for tagging, character encoder whose word vectors are concatenated to the embeddings; None for none.
        scale: bound of the uniform initialisation of embeddings; null in a recipe for 1 with characters, and 0.1
            otherwise. With 1, the score learns to find words by content sooner, at the cost of noise from rare words.

    Shapes: source [B, S], lengths [B] -> `Encoded`, its `state` the tapes of all layers.

    Cheng, Dong & Lapata 2016, sections 3 and 5.2. With an acceptor and `pooling: mean` it is the paper's classifier.

    >>> encoded = LSTMNEncoder(11, embedding_dim=3, hidden_dim=5)(torch.ones(2, 7).long(), torch.tensor([7, 4]))
    >>> encoded.states.shape, encoded.summary.shape
    (torch.Size([2, 7, 5]), torch.Size([2, 5]))
    """

    @checked()
    def __init__(
        self,
        size: int,
        *,
        embedding_dim: Size = 128,
        hidden_dim: Size = 256,
        num_layers: Size = 1,
        distances: Size | None = None,
        dropout: Share = 0.0,
        scale: EmbeddingScale = 0.1,
        characters: CharacterConfig | None = None,
    ) -> None:
        super().__init__()
        self.output_dim = hidden_dim
        self.words = WordEmbeddings(size, embedding_dim, dropout=dropout, scale=scale)
        self.characters = None if characters is None else CharacterEncoder(characters)
        input_dim = embedding_dim + (0 if characters is None else characters.hidden_dim)
        self.layers = DeepLSTMN(input_dim, hidden_dim, num_layers=num_layers, dropout=dropout, distances=distances)
        self.dropout = Dropout(dropout)

    def forward(self, source: Tensor, lengths: Tensor | None = None, spelling: LetterIds | None = None) -> Encoded:
        """Encode token ids [B, S] with true `lengths` [B]; None without padding."""
        mask = None if lengths is None else Mask.padding(lengths)
        words = self.words(check_ids(self, source))
        if self.characters is not None:
            words = torch.cat((words, self.dropout(letter_vectors(self.characters, spelling))), dim=2)
        step: DeepLSTMNStep = self.layers(words, mask)
        return Encoded(self.dropout(step.output), last_states(step.output, lengths), mask, step.state)
