"""Recurrent encoder, with one direction or two."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.arguments import EmbeddingScale, InRecipe, NotInRecipe, Share, Size, checked
from regard.constraints import two_directions
from regard.masks import Mask
from regard.models.characters import CharacterConfig, CharacterEncoder, LetterIds, letter_vectors
from regard.models.embeddings import WordEmbeddings, check_ids
from regard.models.encoded import AnyEncoder, Encoded
from regard.nn.cells import CellKind, Cells
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent, RecurrentState, reverse_sequences


class RecurrentEncoder(nn.Module):
    r"""Recurrent encoder of words: h_s = RNN(E x_s, h_{s-1}), in one direction or both.

    .. math:: h_s = [\overrightarrow{h}_s; \overleftarrow{h}_s]

    Args:
        size: size of the vocabulary.
        embedding_dim: width of the embeddings.
        hidden_dim: width C of the states, half of it per direction with `bidirectional`.
        cells: recurrent cells of the layers: a kind, or a mapping with all arguments.
        bidirectional: encode in both directions.
        dropout: dropout of the embeddings and of the states.
        reverse: read the source backwards (Sutskever, Vinyals & Le 2014, section 3.3).
        characters: for tagging, character encoder whose word vectors are concatenated to the embeddings; None for none.
        feature_dim: for tagging, width of a feature embedding, for example of part-of-speech tags, concatenated to the
            word embedding; None for none.
        num_features: number of values of the feature; determined by the data.
        scale: bound of the uniform initialisation of embeddings; null in a recipe for 1 with characters, and 0.1
            otherwise. With small values, rare words, which are hardly trained, add little noise.

    Shapes: source [B, S], lengths [B] -> `Encoded`.

    >>> import torch
    >>> encoded = RecurrentEncoder(11, embedding_dim=3, hidden_dim=10, bidirectional=True)(torch.ones(2, 7).long())
    >>> encoded.states.shape, encoded.summary.shape
    (torch.Size([2, 7, 10]), torch.Size([2, 10]))
    """

    @checked(two_directions)
    def __init__(
        self,
        size: int,
        *,
        embedding_dim: Size = 128,
        hidden_dim: Size = 256,
        cells: Cells | CellKind = "gru",
        bidirectional: Annotated[bool, InRecipe(True)] = False,
        dropout: Share = 0.0,
        reverse: bool = False,
        scale: EmbeddingScale = 0.1,
        characters: CharacterConfig | None = None,
        feature_dim: Size | None = None,
        num_features: Annotated[Size, NotInRecipe()] = 64,
    ) -> None:
        super().__init__()
        self.output_dim = hidden_dim
        self.reverse = reverse
        self.words = WordEmbeddings(size, embedding_dim, dropout=dropout, scale=scale)
        width = hidden_dim // 2 if bidirectional else hidden_dim
        self.characters = None if characters is None else CharacterEncoder(characters)
        self.features = None if feature_dim is None else WordEmbeddings(num_features, feature_dim, dropout=dropout)
        input_dim = embedding_dim + (0 if characters is None else characters.hidden_dim) + (feature_dim or 0)
        self.layers = Recurrent(input_dim, width, cells, bidirectional=bidirectional)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        source: Tensor,
        lengths: Tensor | None = None,
        spelling: LetterIds | None = None,
        features: Tensor | None = None,
    ) -> Encoded:
        """Encode token ids [B, S] with true `lengths` [B]; None without padding.

        Args:
            source, lengths: ids and true lengths of the words.
            spelling: letters of the words; required with `characters`.
            features: feature ids [B, S]; required with `feature_dim`.
        """
        words = self.words(self._turned(check_ids(self, source), lengths))
        if self.characters is not None:
            read = self._turned(letter_vectors(self.characters, spelling), lengths)
            words = torch.cat((words, self.dropout(read)), dim=2)  # [B, S, E + C]
        if self.features is not None:
            if features is None:
                raise ValueError("feature_dim: the model reads a feature of each word too; give it features")
            words = torch.cat((words, self.features(self._turned(features, lengths))), dim=2)
        states, end = self.layers(words, lengths)
        mask = None if lengths is None else Mask.padding(lengths)
        end = _side_by_side(end, self.layers.directions)
        return Encoded(self.dropout(states), end.top, mask, end)

    def _turned(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """Return a sequence [B, S] or [B, S, C] in reading order: reversed with `reverse`."""
        if not self.reverse:
            return x
        return x.flip(1) if lengths is None else reverse_sequences(x, lengths)


def given_or_recurrent(
    encoder: AnyEncoder | int,
    embedding_dim: int,
    hidden_dim: int,
    cells: Cells | CellKind,
    dropout: float,
    scale: float,
    *,
    bidirectional: bool = False,
    reverse: bool = False,
) -> AnyEncoder:
    """Return the given encoder, or a recurrent encoder for a source vocabulary of the given size."""
    if not isinstance(encoder, int):
        return encoder
    return RecurrentEncoder(
        encoder,
        embedding_dim=embedding_dim,
        hidden_dim=hidden_dim,
        cells=cells,
        bidirectional=bidirectional,
        dropout=dropout,
        reverse=reverse,
        scale=scale,
    )


def _side_by_side(state: RecurrentState, directions: int) -> RecurrentState:
    """Concatenate the two directions of each layer: [B, 2L, C/2] -> [B, L, C]."""
    batch, count, width = state.hidden.shape
    shape = (batch, count // directions, width * directions)
    return RecurrentState(state.hidden.reshape(shape), None if state.cell is None else state.cell.reshape(shape))
