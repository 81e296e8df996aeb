"""The dynamic coattention network, and readers with other interactions and decoders."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from regard.arguments import Share, Size, checked
from regard.models.encoded import AnyEncoder, Encoded, width_of
from regard.models.model_output import ModelOutput
from regard.nn.dropout import Dropout
from regard.nn.rnn import Recurrent
from regard.systems.spans.interactions import INTERACTIONS, InteractionKind, InteractionOutput
from regard.systems.spans.pointers import Pointer, PointerKind


class CoattentionReader(nn.Module):
    r"""Dynamic coattention network: a shared encoder, coattention of passage and question, and an iterative pointer.

    .. math:: D = \mathrm{encoder}(\text{passage}), \quad Q' = \mathrm{encoder}(\text{question}), \quad
              C^D = \mathrm{interaction}(D, Q'), \quad U = \mathrm{BiLSTM}([D; C^D]), \quad
              (s, e) = \mathrm{decoder}(U)

    The paper uses a unidirectional LSTM as encoder, width 200 everywhere, maxout pool 16 and up to 4 iterations. With
    `interaction="none", decoder="bilinear"` this is a plain reader that compares words with a question vector.

    Args:
        encoder: encoder of question and passage, by `kind` and its arguments in a recipe.
        hidden_dim: width l of each direction of the LSTM over [D; C^D], and of the decoder.
        interaction: context of each passage word from the question: `coattention`, `attention` in one direction,
            `summary`, the question as one vector, or `none`.
        decoder: span decoder (pointer), by kind or with all its arguments.
        dropout: dropout of the inputs and outputs of the LSTM over [D; C^D].

    Shapes: question [B, Q], its lengths [B], passage [B, S], its lengths [B] -> logits [B, S, 2], -inf at padding.
    Extras: those of the decoder; `passage_weights` A^D [B, S, Q + 1] and `question_weights` A^Q [B, Q, S + 1] if the
    interaction computes them, with the sentinel last.

    Xiong, Zhong & Socher 2017, "Dynamic Coattention Networks for Question Answering".

    >>> from regard.models import RecurrentEncoder
    >>> encoder = RecurrentEncoder(11, embedding_dim=3, hidden_dim=5, cells="lstm")
    >>> model = CoattentionReader(encoder, hidden_dim=5).eval()
    >>> passage, lengths = torch.randint(4, 11, (2, 7)), torch.tensor([7, 4])
    >>> predicted = model(torch.randint(4, 11, (2, 3)), torch.tensor([3, 2]), passage, lengths)
    >>> predicted.logits.shape, predicted.extras["passage_weights"].shape, predicted.extras["question_weights"].shape
    (torch.Size([2, 7, 2]), torch.Size([2, 7, 4]), torch.Size([2, 3, 8]))
    """

    reads_as_one: ClassVar[bool] = False  # each text is encoded separately, so the position limit applies to each

    @checked()
    def __init__(
        self,
        encoder: AnyEncoder,
        *,
        hidden_dim: Size = 200,
        interaction: InteractionKind = "coattention",
        decoder: Pointer | PointerKind = "dynamic",
        dropout: Share = 0.0,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        width = width_of(self, encoder)
        self.interaction = INTERACTIONS[interaction](width)
        self.fusion = Recurrent(width + self.interaction.output_dim, hidden_dim, "lstm", bidirectional=True)
        pointer = Pointer(kind=decoder) if isinstance(decoder, str) else decoder
        self.decoder = pointer.build(self.fusion.output_dim, hidden_dim, width)
        self.dropout = Dropout(dropout)

    def forward(
        self, question: Tensor, question_lengths: Tensor, passage: Tensor, passage_lengths: Tensor
    ) -> ModelOutput:
        """Score each word of a passage as the start and as the end of the answer."""
        asked: Encoded = self.encoder(question, question_lengths)
        read: Encoded = self.encoder(passage, passage_lengths)
        met: InteractionOutput = self.interaction(read, asked)
        told = torch.cat((read.states, met.context), dim=2)  # [D; C^D], [B, S, l + C]
        states, _ = self.fusion(self.dropout(told), passage_lengths)
        predicted: ModelOutput = self.decoder(self.dropout(states), passage_lengths.to(states.device), asked.summary)
        reads = {"passage_weights": met.passage, "question_weights": met.question}
        seen = {name: one.weights() for name, one in reads.items() if one is not None}
        return predicted._replace(extras={**predicted.extras, **seen})
