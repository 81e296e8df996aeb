"""ESIM: enhanced sequential inference model for pairs of texts."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arguments import Probability, ScoreSpec, Share, Size, checked
from regard.constraints import directions_halve
from regard.models.attention_config import AttentionConfig
from regard.models.embeddings import WordDropout
from regard.models.encoded import AnyEncoder
from regard.models.model_output import ModelOutput
from regard.nn.attention import Attention
from regard.nn.cells import CellKind, Cells
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent
from regard.systems.classification.comparison import (
    Comparison,
    PairStates,
    compare_vectors,
    compared_width,
    states_width,
)


class ESIM(nn.Module):
    r"""Classifier of text pairs: aligns and compares word states, then composes them with a second recurrent layer.

    .. math:: \beta_i = \sum_j \mathrm{softmax}_j(a_i^\top b_j)\, b_j, \quad
              \alpha_j = \sum_i \mathrm{softmax}_i(a_i^\top b_j)\, a_i

    .. math:: m_i = \mathrm{relu}(F [a_i; \beta_i; a_i - \beta_i; a_i \odot \beta_i]), \quad
              v_1 = \mathrm{RNN}(m), \quad
              p(\text{label}) = \mathrm{softmax}(W \tanh(U [\bar v_1; \hat v_1; \bar v_2; \hat v_2]))

    a_i and b_j are the states of one encoder, recurrent in the paper. v_2 is computed from b_j and α_j in the same way.
    v̄ is the mean over the words, v̂ the maximum.

    Args:
        encoder: encoder of each text separately, by `kind` and its arguments in a recipe.
        num_classes: number of labels.
        hidden_dim: width of m_i, of the states of the second recurrent layer, half of it in each direction, and of the
            hidden layer before the labels.
        cells: recurrent cells of the second layer, by kind or with all their arguments.
        score: score of a_i and b_j, by name or with its arguments.
        comparison: input of F: `"signed"`, as in the paper; `"absolute"`, with |a - β|; `"joined"`, [a; β].
        exact_match: add two features to each state: the word occurs in the other text, exactly or in another case.
        dropout: dropout of the inputs of F and of U, and of the hidden layer.
        word_dropout: probability that a word is replaced by the unknown token in training; see `WordDropout`.

    Shapes: text [B, T], lengths [B], matches [B, T] -> logits [B, num_classes], weights [B, T, T] from the words of
    each text to those of the other. A text without words has zeros for v̄ and v̂.

    Chen, Zhu, Ling, Wei, Jiang & Inkpen 2017, "Enhanced LSTM for Natural Language Inference", equations 11 to 20, the
    sequential model without syntax.

    >>> from regard.models import RecurrentEncoder
    >>> model = ESIM(RecurrentEncoder(11, embedding_dim=3, hidden_dim=6), 3, hidden_dim=8)
    >>> predicted = model(torch.tensor([[5, 6, 3, 7, 8, 9]]))
    >>> predicted.logits.shape, predicted.attended.weights()[0].sum(1)
    (torch.Size([1, 3]), tensor([1.0000, 1.0000, 0.0000, 1.0000, 1.0000, 1.0000], grad_fn=...))
    """

    compares = True
    """The model encodes two texts separately and compares them."""

    @checked(directions_halve)
    def __init__(
        self,
        encoder: AnyEncoder,
        num_classes: int,
        *,
        hidden_dim: Size = 300,
        cells: Cells | CellKind = "lstm",
        score: ScoreSpec = "dot",
        comparison: Comparison = "signed",
        exact_match: bool = False,
        dropout: Share = 0.5,
        word_dropout: Probability = 0.0,
    ) -> None:
        super().__init__()
        self.comparison = comparison
        self.word_dropout = WordDropout(word_dropout)
        self.encoder = encoder
        width = states_width(self, encoder, exact_match=exact_match)
        self.attention = Attention(AttentionConfig(score=score).make_score(width, width))
        self.dropout = Dropout(dropout)
        self.compare_map = nn.Linear(compared_width(width, comparison), hidden_dim)
        self.layers = Recurrent(hidden_dim, hidden_dim // 2, cells, bidirectional=True)
        self.hidden_map = nn.Linear(4 * hidden_dim, hidden_dim)
        self.output_map = nn.Linear(hidden_dim, num_classes)

    def forward(self, text: Tensor, lengths: Tensor | None = None, matches: Tensor | None = None) -> ModelOutput:
        """Map pairs [B, T] of true `lengths` [B], with `</s>` between the texts, to logits [B, num_classes]."""
        pair = PairStates.of(self.encoder, self.word_dropout(text), lengths, matches)
        attended = pair.across(self.attention, pair.states)
        words = self.dropout(compare_vectors(pair.states, attended.context, self.comparison))  # [2B, S, 4C]
        read, _ = self.layers(torch.relu(self.compare_map(words)), pair.parts.lengths)  # [2B, S, H]
        seen = self.dropout(torch.cat(pair.mean_and_max(read).chunk(2), dim=1))  # [B, 4H]
        logits: Tensor = self.output_map(self.dropout(torch.tanh(self.hidden_map(seen))))
        return ModelOutput(logits, attended=pair.drawn(attended, text.shape[1]))
