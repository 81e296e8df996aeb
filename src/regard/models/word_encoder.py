"""Context-free encoder: each state depends on one word only."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from regard.arguments import EmbeddingScale, Share, Size, checked
from regard.masks import Mask
from regard.models.embeddings import WordEmbeddings, check_ids
from regard.models.encoded import Encoded
from regard.nn.rnn import token_mask


class WordEncoder(nn.Module):
    r"""Mapped word embeddings: h_s = f(W E x_s). A state depends neither on its neighbours nor on its position.

    With an acceptor and `pooling: mean` it is a continuous bag of words; decomposable attention uses such states. With
    `activation: tanh` it is the "Average" encoder of Jain & Wallace 2019 without bias, their baseline to measure the
    effect of recurrent context on attention.

    Args:
        size: size of the vocabulary.
        embedding_dim: width of the embeddings.
        hidden_dim: width C of the states.
        activation: function f, `"none"` or `"tanh"`.
        dropout: dropout of the embeddings.
        scale: bound of the uniform initialisation of embeddings; null in a recipe for 1 with characters, and 0.1
            otherwise. With small values, rare words, which are hardly trained, add little noise.

    Shapes: source [B, S], lengths [B] -> `Encoded`; its summary is the mean of the states, zero of an empty text.

    Parameters: `words.table` E; `output_map` W, without bias.

    >>> import torch
    >>> encoded = WordEncoder(11, embedding_dim=3, hidden_dim=5)(torch.ones(2, 7).long(), torch.tensor([7, 4]))
    >>> encoded.states.shape, encoded.summary.shape, encoded.states[1, 4:].abs().sum().item()
    (torch.Size([2, 7, 5]), torch.Size([2, 5]), 0.0)
    """

    @checked()
    def __init__(
        self,
        size: int,
        *,
        embedding_dim: Size = 100,
        hidden_dim: Size = 200,
        activation: Literal["none", "tanh"] = "none",
        dropout: Share = 0.0,
        scale: EmbeddingScale = 0.1,
    ) -> None:
        super().__init__()
        self.output_dim = hidden_dim
        self.words = WordEmbeddings(size, embedding_dim, dropout=dropout, scale=scale)
        self.activation = activation
        self.output_map = nn.Linear(embedding_dim, hidden_dim, bias=False)

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> Encoded:
        """Encode token ids [B, S] with true `lengths` [B]; None without padding."""
        states: Tensor = self.output_map(self.words(check_ids(self, source)))
        if self.activation == "tanh":
            states = states.tanh()
        if lengths is None:
            return Encoded(states, states.sum(1) / max(1, states.shape[1]), None)
        counts = lengths.to(states.device)
        states = states.masked_fill(~token_mask(counts, states.shape[1]).unsqueeze(2), 0.0)
        return Encoded(states, states.sum(1) / counts.clamp(min=1).unsqueeze(1), Mask.padding(lengths))
