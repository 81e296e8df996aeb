"""Span reader: extractive question answering over a concatenated question and passage, as in BERT."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from regard.arguments import Share, checked
from regard.models.bert import BertEncoder, init_bert_weights
from regard.models.encoded import AnyEncoder, Encoded, width_of
from regard.models.model_output import ModelOutput
from regard.nn.dropout import Dropout
from regard.specials import EOS, PAD


class SpanReader(nn.Module):
    r"""Scores each passage word as the start and the end of the answer; question and passage are one input.

    .. math:: h = \mathrm{encoder}([\text{question}; \text{</s>}; \text{passage}]), \quad
              p(\text{begin} = i) = \mathrm{softmax}_i(w_b^\top h_i), \quad
              p(\text{end} = j) = \mathrm{softmax}_j(w_e^\top h_j)

    over the words i, j of the passage. The task trains any reader with the same signature of `forward`.

    Args:
        encoder: encoder of question and passage, by `kind` and its arguments in a recipe.
        dropout: dropout of the inputs of the output layer.

    Shapes: question [B, Q], its lengths [B], passage [B, S], its lengths [B] -> logits [B, S, 2], -inf at padding.

    Devlin et al. 2019, section 4.2.

    >>> from regard.nn import LayerConfig
    >>> model = SpanReader(BertEncoder(11, LayerConfig(dim=6, num_heads=2, norm="post"), num_layers=1)).eval()
    >>> passage, lengths = torch.randint(4, 11, (2, 7)), torch.tensor([7, 5])
    >>> logits = model(torch.randint(4, 11, (2, 3)), torch.tensor([3, 2]), passage, lengths).logits
    >>> logits.shape, logits[1, 5:].tolist()
    (torch.Size([2, 7, 2]), [[-inf, -inf], [-inf, -inf]])
    """

    reads_as_one: ClassVar[bool] = True

    @checked()
    def __init__(self, encoder: AnyEncoder, *, dropout: Share = 0.1) -> None:
        super().__init__()
        self.encoder = encoder
        width = width_of(self, encoder)
        self.output_map = nn.Linear(width, 2)
        if isinstance(encoder, BertEncoder):
            init_bert_weights(self.output_map, width)
        self.dropout = Dropout(dropout)

    def forward(
        self, question: Tensor, question_lengths: Tensor, passage: Tensor, passage_lengths: Tensor
    ) -> ModelOutput:
        """Score each word of a passage as the start and as the end of the answer."""
        ids, lengths, places = join_texts(question, question_lengths, passage, passage_lengths)
        encoded: Encoded = self.encoder(ids, lengths)
        states = encoded.states.gather(1, places.unsqueeze(2).expand(-1, -1, encoded.states.shape[2]))
        logits: Tensor = self.output_map(self.dropout(states))
        outside = torch.arange(passage.shape[1], device=passage.device) >= passage_lengths.to(passage.device).unsqueeze(
            1
        )
        return ModelOutput(logits.masked_fill(outside.unsqueeze(2), -torch.inf))


def join_texts(
    question: Tensor, question_lengths: Tensor, passage: Tensor, passage_lengths: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Join two texts by `</s>`: ids [B, Q + 1 + S], lengths [B], and the positions of the second text's words [B, S].

    >>> ids, lengths, places = join_texts(*map(torch.tensor, ([[5, 6], [7, 0]], [2, 1], [[8, 9], [4, 0]], [2, 1])))
    >>> ids.tolist(), lengths.tolist(), places.tolist()
    ([[5, 6, 3, 8, 9], [7, 3, 4, 0, 0]], [5, 3], [[3, 4], [2, 3]])
    """
    behind = question_lengths.to(question.device).unsqueeze(1)
    places = behind + 1 + torch.arange(passage.shape[1], device=passage.device)
    ids = question.new_full((len(question), question.shape[1] + 1 + passage.shape[1]), PAD)
    ids[:, : question.shape[1]] = question
    ids.scatter_(1, behind, EOS)
    ids.scatter_(1, places, passage)
    return ids, question_lengths + 1 + passage_lengths, places
