"""The recurrent encoder."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.arguments import EmbeddingScale, InRecipe, Share, Size, checked
from regard.constraints import two_directions
from regard.masks import Mask
from regard.models.characters import CharacterConfig, CharacterEncoder, LetterIds, letter_vectors
from regard.models.embeddings import WordEmbeddings, check_ids
from regard.models.encoded import Encoded
from regard.nn.cells import CellKind, Cells
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent, RecurrentState, reverse_sequences


class RecurrentEncoder(nn.Module):
    r"""Words in, states out: h_s = RNN(E x_s, h_{s-1}), in one direction or both.

    .. math:: h_s = [\overrightarrow{h}_s; \overleftarrow{h}_s]

    Args:
        size: number of words.
        embedding_dim: width of the embeddings.
        hidden_dim: width C of the states; with two directions each has half of it.
        cells: recurrent cells of the layers, by kind or with all their arguments.
        bidirectional: encode in both directions.
        dropout: dropout of the embeddings and of the states.
        reverse: encode the source from its end (Sutskever, Vinyals & Le 2014, section 3.3).
        characters: for tagging, encode each word by its letters too, beside its embedding; None for none.
        scale: largest entry of an embedding at initialisation; null in a recipe for 1 with characters, and 0.1
            otherwise. Small ones make rare words little noise.

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
    ) -> None:
        super().__init__()
        self.output_dim = hidden_dim
        self.reverse = reverse
        self.words = WordEmbeddings(size, embedding_dim, dropout=dropout, scale=scale)
        width = hidden_dim // 2 if bidirectional else hidden_dim
        self.characters = None if characters is None else CharacterEncoder(characters)
        input_dim = embedding_dim + (0 if characters is None else characters.hidden_dim)
        self.layers = Recurrent(input_dim, width, cells, bidirectional=bidirectional)
        self.dropout = Dropout(dropout)

    def forward(self, source: Tensor, lengths: Tensor | None = None, spelling: LetterIds | None = None) -> Encoded:
        """Encode source ids [B, S] of true `lengths` [B]; None where there is no padding."""
        words = self.words(self._turned(check_ids(self, source), lengths))
        if self.characters is not None:
            read = self._turned(letter_vectors(self.characters, spelling), lengths)
            words = torch.cat((words, self.dropout(read)), dim=2)  # [B, S, E + C]
        states, end = self.layers(words, lengths)
        mask = None if lengths is None else Mask.padding(lengths)
        end = _side_by_side(end, self.layers.directions)
        return Encoded(self.dropout(states), end.top, mask, end)

    def _turned(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """A sequence [B, S] or [B, S, C] in the order in which it is read."""
        if not self.reverse:
            return x
        return x.flip(1) if lengths is None else reverse_sequences(x, lengths)


def _side_by_side(state: RecurrentState, directions: int) -> RecurrentState:
    """[B, 2L, C/2] -> [B, L, C]: the two directions of a layer in one vector."""
    batch, count, width = state.hidden.shape
    shape = (batch, count // directions, width * directions)
    return RecurrentState(state.hidden.reshape(shape), None if state.cell is None else state.cell.reshape(shape))
