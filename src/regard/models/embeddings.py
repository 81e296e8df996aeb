"""Word embeddings, dropout of words and channels, and output layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.constraints import embeddings_tie
from regard.nn.dropout import Dropout
from regard.specials import BOS, EOS, PAD, UNK


class WordEmbeddings(nn.Module):
    """Embeddings with dropout; the padding vector is zero and is not trained.

    Args:
        size: V, size of the vocabulary.
        dim: width of a vector.
        dropout: probability of dropping a channel.
        scale: bound of the uniform initialisation.

    Parameters: `table.weight` E [V, dim], initialised uniformly in [-scale, scale]. The default is as small as in
    papers on recurrent models: a word with one or two occurrences roughly keeps its initial vector, and a small one
    adds little noise.

    >>> WordEmbeddings(11, 3)(torch.tensor([[5, 0]]))[0, 1]
    tensor([0., 0., 0.], grad_fn=...)
    """

    def __init__(self, size: int, dim: int, *, dropout: float = 0.0, scale: float = 0.1) -> None:
        super().__init__()
        if size < 1 or dim < 1:
            raise ValueError(f"embeddings need at least one word and one channel; got {size} words of width {dim}")
        if scale <= 0:
            raise ValueError(f"embeddings need a scale above 0; got {scale}")
        self.table = nn.Embedding(size, dim, padding_idx=PAD)
        nn.init.uniform_(self.table.weight, -scale, scale)
        with torch.no_grad():
            self.table.weight[PAD].zero_()
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor) -> Tensor:
        """Embed ids [B, T] -> [B, T, dim]."""
        vectors: Tensor = self.dropout(self.table(ids))
        return vectors


def check_ids(encoder: nn.Module, source: Tensor) -> Tensor:
    """Return the source of an encoder after checking that it is ids, [B, S].

    >>> check_ids(nn.Identity(), torch.zeros(2, 3, 5))
    Traceback (most recent call last):
    ValueError: Identity: the source must be ids [B, S]; got [2, 3, 5]
    """
    if source.dim() != 2:
        raise ValueError(f"{type(encoder).__name__}: the source must be ids [B, S]; got {list(source.shape)}")
    return source


class WordDropout(nn.Module):
    """Word dropout: in training, replace each word by the unknown word with probability p.

    Iyyer et al. 2015, "Deep Unordered Composition Rivals Syntactic Methods for Text Classification", section 3.1, where
    words are deleted. Here they are replaced, so that positions do not change.

    Args:
        p: probability of replacing a word; 0 disables it.

    Shapes: ids [B, T] -> [B, T]; padding and the `</s>` between two texts are never replaced.

    >>> WordDropout(1.0)(torch.tensor([[7, 8, 0]]))
    tensor([[1, 1, 0]])
    >>> WordDropout(1.0).eval()(torch.tensor([[7, 8, 0]]))
    tensor([[7, 8, 0]])
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"word_dropout is a probability, 0 to 1; got {p}")
        self.p = p

    def forward(self, ids: Tensor) -> Tensor:
        return drop_words(ids, self.p, keep=(PAD, EOS)) if self.training and self.p else ids

    def extra_repr(self) -> str:
        return f"p={self.p}"


def drop_words(ids: Tensor, probability: float, *, keep: tuple[int, ...] = (PAD,)) -> Tensor:
    """Replace each id by the unknown word with a probability; ids in `keep` are never replaced.

    >>> drop_words(torch.tensor([[2, 7, 8]]), 1.0, keep=(0, 2))
    tensor([[2, 1, 1]])
    """
    hit = torch.rand(ids.shape, device=ids.device) < probability
    return ids.masked_fill(hit & ~is_among(ids, keep), UNK)


def is_among(ids: Tensor, some: tuple[int, ...]) -> Tensor:
    """Return a mask [B, T] of the ids contained in `some`."""
    found = torch.zeros_like(ids, dtype=torch.bool)
    for number in some:
        found |= ids == number
    return found


class LockedDropout(nn.Module):
    """Variational dropout: the same channels at all steps of a sequence, x [B, T, C] -> [B, T, C]."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return x
        return x * F.dropout(torch.ones_like(x[:, :1]), self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class EmbeddingDropout(nn.Module):
    """Embedding dropout: a dropped word is zero at all its occurrences in a batch, other words are scaled up.

    This is dropout of rows of the embedding matrix (Gal & Ghahramani 2016, section 4.2; Merity, Keskar & Socher 2018,
    section 4.3).

    Args:
        size: V, size of the vocabulary.
        p: probability of dropping a word.

    Shapes: vectors [B, T, C] of ids [B, T] -> [B, T, C].

    >>> _ = torch.manual_seed(0)
    >>> EmbeddingDropout(7, 0.5)(torch.ones(1, 4, 1), torch.tensor([[5, 6, 5, 6]])).flatten()
    tensor([0., 2., 0., 2.])
    """

    def __init__(self, size: int, p: float) -> None:
        super().__init__()
        self.size = size
        self.p = p

    def forward(self, vectors: Tensor, ids: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return vectors
        kept = F.dropout(vectors.new_ones(self.size, 1), self.p)
        return vectors * F.embedding(ids, kept)  # [B, T, C] * [B, T, 1]

    def extra_repr(self) -> str:
        return f"p={self.p}"


def output_layer(dim: int, words: WordEmbeddings, *, tied: bool) -> nn.Linear:
    """Return the map from features [..., dim] to logits [..., V], with the embedding as its weight if `tied`.

    Press & Wolf 2017; Inan et al. 2017.
    """
    size, width = words.table.weight.shape
    layer = nn.Linear(dim, size)
    if tied:
        embeddings_tie(dim, width)
        layer.weight = words.table.weight
    return layer


def is_word(ids: Tensor) -> Tensor:
    """Return a mask [B, T] of the ids that are words: not BOS, EOS or padding."""
    return (ids != PAD) & (ids != BOS) & (ids != EOS)


def word_counts(ids: Tensor) -> Tensor:
    """Count the words of each row of ids [B, T], [B].

    >>> word_counts(torch.tensor([[2, 7, 8, 9], [2, 7, 3, 0], [0, 0, 0, 0]]))
    tensor([3, 1, 0])
    """
    return is_word(ids).sum(1)
