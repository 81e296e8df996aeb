"""Decomposable attention model: compares two texts by soft alignment of their words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arguments import Probability, ScoreSpec, Share, Size, checked
from regard.masks import Mask
from regard.models.attention_config import AttentionConfig
from regard.models.embeddings import WordDropout
from regard.models.encoded import AnyEncoder
from regard.models.model_output import ModelOutput
from regard.nn.attention import Attention
from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.state import AttentionState
from regard.ops.dot import dot_score
from regard.systems.classification.comparison import (
    Comparison,
    PairStates,
    compare_vectors,
    compared_width,
    feed_forward,
    states_width,
)


class DecomposableAttention(nn.Module):
    r"""Classifier of text pairs that compares aligned words: attend, compare, aggregate.

    .. math:: e_{ij} = F(a_i)^\top F(b_j), \quad \beta_i = \sum_j \mathrm{softmax}_j(e_{ij})\, b_j, \quad
              \alpha_j = \sum_i \mathrm{softmax}_i(e_{ij})\, a_i

    .. math:: v_{1,i} = G([a_i; \beta_i]), \quad v_{2,j} = G([b_j; \alpha_j]), \quad
              p(\text{label}) = \mathrm{softmax}\bigl(W H([\textstyle\sum_i v_{1,i}; \sum_j v_{2,j}]) + c\bigr)

    a_i and b_j are the states of one encoder; in the paper `kind: words`, without context. F, G and H have two layers
    with ReLU. Intra-sentence attention adds context without recurrent layers: it replaces a_i by
    [a_i; Σ_j softmax_j(F'(a_i)ᵀ F'(a_j) + d_{i-j}) a_j].

    Args:
        encoder: encoder of each text separately, by `kind` and its arguments in a recipe.
        num_classes: number of labels.
        hidden_dim: width of the layers of F, G and H.
        score: score of F(a_i) and F(b_j), by name or with its arguments.
        mapped: score F(a_i) and F(b_j), as in the paper; false to score a_i and b_j. Equal or similar words then
            attend to each other from the first update, which F does not learn from little data.
        comparison: input of G: `"joined"`, [a; β], as in the paper; `"signed"`, [a; β; a - β; a ⊙ β]; `"absolute"`,
            with |a - β|.
        intra: add intra-sentence attention within each text.
        reach: largest distance with a separate bias d, in each direction; all larger distances share one bias.
        exact_match: add two features to each state: the word occurs in the other text, exactly or in another case.
        dropout: dropout of the inputs of all layers of F, G and H.
        word_dropout: probability that a word is replaced by the unknown token in training; see `WordDropout`.

    Shapes: text [B, T], lengths [B], matches [B, T] -> logits [B, num_classes], weights [B, T, T] from the words of
    each text to those of the other. A text without words sums to zero.

    Parikh, Täckström, Das & Uszkoreit 2016, "A Decomposable Attention Model for Natural Language Inference", equations
    1 to 8, without the null token.

    >>> from regard.models import WordEncoder
    >>> model = DecomposableAttention(WordEncoder(11, embedding_dim=3, hidden_dim=5), 3, hidden_dim=7, intra=True)
    >>> predicted = model(torch.tensor([[5, 6, 3, 7, 8, 9]]))
    >>> predicted.logits.shape, predicted.attended.weights()[0].sum(1)
    (torch.Size([1, 3]), tensor([1.0000, 1.0000, 0.0000, 1.0000, 1.0000, 1.0000], grad_fn=...))
    """

    compares = True
    """The model encodes two texts separately and compares them."""

    @checked()
    def __init__(
        self,
        encoder: AnyEncoder,
        num_classes: int,
        *,
        hidden_dim: Size = 200,
        score: ScoreSpec = "dot",
        mapped: bool = True,
        comparison: Comparison = "joined",
        intra: bool = False,
        reach: Size = 10,
        exact_match: bool = False,
        dropout: Share = 0.2,
        word_dropout: Probability = 0.0,
    ) -> None:
        super().__init__()
        self.comparison = comparison
        self.word_dropout = WordDropout(word_dropout)
        self.encoder = encoder
        width = states_width(self, encoder, exact_match=exact_match)
        self.intra = IntraAttention(width, hidden_dim, reach) if intra else None
        width *= 1 + intra
        self.attend_map = feed_forward(width, hidden_dim, dropout) if mapped else nn.Identity()
        key_dim = hidden_dim if mapped else width
        self.attention = Attention(AttentionConfig(score=score).make_score(key_dim, key_dim))
        self.compare_map = feed_forward(compared_width(width, comparison), hidden_dim, dropout)
        self.aggregate_map = feed_forward(2 * hidden_dim, hidden_dim, dropout)
        self.output_map = nn.Linear(hidden_dim, num_classes)

    def forward(self, text: Tensor, lengths: Tensor | None = None, matches: Tensor | None = None) -> ModelOutput:
        """Map pairs [B, T] of true `lengths` [B], with `</s>` between the texts, to logits [B, num_classes]."""
        pair = PairStates.of(self.encoder, self.word_dropout(text), lengths, matches)
        states = pair.states if self.intra is None else self.intra(pair.states, pair.mask)  # [2B, S, C]
        attended = pair.across(self.attention, states, self.attend_map(states))
        words = self.compare_map(compare_vectors(states, attended.context, self.comparison))
        texts = words.masked_fill(pair.padding, 0.0).sum(1)  # [2B, H]
        logits: Tensor = self.output_map(self.aggregate_map(torch.cat(texts.chunk(2), dim=1)))
        return ModelOutput(logits, attended=pair.drawn(attended, text.shape[1]))


class IntraAttention(nn.Module):
    r"""Intra-sentence attention: [a_i; Σ_j softmax_j(F(a_i)ᵀ F(a_j) + d_{i-j}) a_j].

    Args:
        dim: width C of the states.
        hidden_dim: width of F, one layer with ReLU.
        reach: largest distance with a separate bias.

    Shapes: states [N, S, C] -> [N, S, 2C]. Parikh et al. 2016, equations 7 and 8.
    """

    def __init__(self, dim: int, hidden_dim: int, reach: int) -> None:
        super().__init__()
        self.map = nn.Sequential(nn.Linear(dim, hidden_dim), nn.ReLU())
        self.attention = Attention(NearDot(reach))

    def forward(self, states: Tensor, mask: Mask) -> Tensor:
        keys = self.map(states)
        return torch.cat((states, self.attention(keys, keys, states, mask).context), dim=2)


class NearDot(Score):
    """Dot-product score with a learned bias per relative distance: e_ts = q_t . k_s + d_{t-s}.

    Args:
        reach: largest distance, in each direction, with a separate bias; all larger distances share one bias.

    Parameters: `distance` d [2 reach + 3], initialized to zero.

    >>> Attention(NearDot(2))(torch.zeros(1, 7, 5)).weights().shape
    torch.Size([1, 7, 7])
    """

    def __init__(self, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.distance = nn.Parameter(torch.zeros(2 * reach + 3))

    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        queries, keys = (torch.arange(x.shape[2], device=x.device) for x in (query, memory.key))
        away = (queries.unsqueeze(1) - keys).clamp(-self.reach - 1, self.reach + 1)  # [T, S]
        return dot_score(query, memory.key) + self.distance[away + self.reach + 1]
