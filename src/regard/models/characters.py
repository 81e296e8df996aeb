"""Character encoders: word vectors from recurrent layers or convolutions over the letters of each word."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor, nn

from regard.arguments import NotInRecipe, Share, Size, checked
from regard.constraints import two_directions_of_letters
from regard.models.embeddings import WordEmbeddings
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent
from regard.specials import PAD


@checked(two_directions_of_letters)
@dataclass(frozen=True)
class CharacterConfig:
    """Configuration of a character encoder.

    Attributes:
        kind: `"lstm"`, the last states of both directions (Lample et al. 2016), or `"cnn"`, max pooling of a
            convolution over the letters (Ma & Hovy 2016).
        embedding_dim: width of the letter embeddings.
        hidden_dim: width of a word vector, half of it per direction of an LSTM.
        window: number of letters covered by a filter of the CNN.
        dropout: dropout of the letter embeddings.
        size: number of letters including special symbols; determined by the data.
    """

    kind: Literal["lstm", "cnn"] = "lstm"
    embedding_dim: Size = 25
    hidden_dim: Size = 50
    window: Size = 3
    dropout: Share = 0.0
    size: Annotated[Size, NotInRecipe()] = 256


class LetterIds(NamedTuple):
    """The letters of the words of a batch.

    Attributes:
        letters: [B, W, L], padded.
        places: [B, T], True at the positions where a word starts, in the order of the words.
    """

    letters: Tensor
    places: Tensor


class CharacterEncoder(nn.Module):
    """Encoder of words from their letters alone, which covers out-of-vocabulary words.

    Args:
        characters: configuration of the encoder.

    Shapes: `LetterIds` -> [B, T, hidden_dim], zero where no word starts. Each distinct word of a batch is encoded once.

    Lample et al. 2016, "Neural Architectures for Named Entity Recognition", section 4.1; Ma & Hovy 2016, "End-to-end
    Sequence Labeling via Bi-directional LSTM-CNNs-CRF", section 2.1. Letter embeddings are initialised
    uniformly in ±√(3 / embedding_dim).

    >>> encoder = CharacterEncoder(CharacterConfig("cnn", hidden_dim=6, size=9))
    >>> letters, places = torch.tensor([[[5, 6], [7, 0]]]), torch.tensor([[True, False, True]])
    >>> encoder(LetterIds(letters, places)).abs().sum(-1) > 0
    tensor([[ True, False,  True]])
    """

    def __init__(self, characters: CharacterConfig) -> None:
        super().__init__()
        made, width = characters, characters.embedding_dim
        self.output_dim = made.hidden_dim
        self.table = WordEmbeddings(made.size, width, dropout=0.0, scale=math.sqrt(3 / width))
        self.dropout = Dropout(made.dropout)
        self.layers: Recurrent | nn.Conv1d
        if made.kind == "lstm":
            self.layers = Recurrent(width, made.hidden_dim // 2, "lstm", bidirectional=True)
        else:
            self.layers = nn.Conv1d(width, made.hidden_dim, made.window, padding="same")

    def forward(self, spelling: LetterIds) -> Tensor:
        """Encode the letters [B, W, L] of the words at `places` [B, T] -> [B, T, C]."""
        letters, places = spelling
        there = letters[(letters != PAD).any(2)]  # [B, W, L] -> all words of the batch, one per row
        found = letters.new_zeros((*places.shape, self.output_dim), dtype=self.table.table.weight.dtype)
        if not len(there):
            return found
        words, which = there.unique(dim=0, return_inverse=True)  # [N, L]
        read = self._read(words)
        return found.to(read.dtype).masked_scatter(places.unsqueeze(2), read[which])

    def _read(self, words: Tensor) -> Tensor:
        """Encode distinct words: letters [N, L] -> [N, C]."""
        vectors = self.dropout(self.table(words))
        if isinstance(self.layers, Recurrent):
            _, end = self.layers(vectors, (words != PAD).sum(1))
            both: Tensor = end.hidden.flatten(1)  # [N, 2, C / 2] -> [N, C]: both directions of the one layer
            return both
        filtered = self.layers(vectors.transpose(1, 2)).transpose(1, 2)  # [N, L, C]
        highest: Tensor = filtered.masked_fill((words == PAD).unsqueeze(2), -torch.inf).amax(1)
        return highest


def letter_vectors(encoder: CharacterEncoder, spelling: LetterIds | None) -> Tensor:
    """Return the word vectors of a character encoder; letters are required."""
    if spelling is None:
        raise ValueError("characters: the model reads words by their letters too; give it their spelling")
    found: Tensor = encoder(spelling)
    return found
