"""Attentive reader: the story is encoded as one text, and the question attends to its words."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.arguments import Share, Size, checked
from regard.masks import Mask
from regard.models.encoded import AnyEncoder, Encoded, width_of
from regard.models.model_output import ModelOutput
from regard.nn.attention import Attention
from regard.nn.dropout import Dropout
from regard.nn.scores.additive import Additive
from regard.ops.attended import Attended
from regard.ops.weights import Weights
from regard.specials import PAD


class StoryWords(NamedTuple):
    """Words of each story as one sequence, without sentence padding.

    Attributes:
        ids: [B, T], padded.
        lengths: [B], number of words of each story.
        sentence: [B, T], index of the sentence that contains each word.
    """

    ids: Tensor
    lengths: Tensor
    sentence: Tensor

    @classmethod
    def of(cls, story: Tensor) -> StoryWords:
        """Flatten stories [B, N, J] to words [B, T], without the padding inside each story.

        >>> StoryWords.of(torch.tensor([[[5, 6], [7, 0]], [[8, 0], [0, 0]]])).ids
        tensor([[5, 6, 7],
                [8, 0, 0]])
        """
        batch, count, size = story.shape
        flat = story.flatten(1)  # [B, N * J]
        there = flat != PAD
        lengths = there.sum(1)
        longest = max(int(lengths.max()) if batch else 0, 1)
        if not flat.shape[1]:  # no story has a sentence
            return cls(story.new_zeros(batch, 1), lengths, story.new_zeros(batch, 1))
        # A stable sort by "is padding" moves the words to the front and keeps their order.
        order = (~there).long().sort(dim=1, stable=True).indices[:, :longest]  # [B, T]
        sentence = torch.arange(count, device=story.device).repeat_interleave(size).expand(batch, -1)
        return cls(flat.gather(1, order), lengths, sentence.gather(1, order))  # each [B, T]


class ReadStory(NamedTuple):
    """Encoder states of story words [B, T, C], question summaries [B, C] and the mask of the words."""

    states: Tensor
    question: Tensor
    mask: Mask | None


class AttentiveReader(nn.Module):
    r"""Reader that answers a question with one word, by attention from the question to the words of the story.

    .. math:: h = \mathrm{encoder}(\text{story}), \quad u = \mathrm{encoder}(\text{question}), \quad
              a = \mathrm{softmax}_t\bigl(w^\top \tanh(W_h h_t + W_u u)\bigr), \quad r = \sum_t a_t h_t

    .. math:: p(\text{answer}) = \mathrm{softmax}\bigl(W \tanh(W_r r + W_q u)\bigr)

    Args:
        encoder: encoder of the story (as one text) and of the question, by `kind` and its arguments in a recipe.
        num_answers: number V of candidate answer words.
        hidden_dim: width of the attention and of the layer before the output; None for the width of the states.
        dropout: dropout of the encoder states and of the layer before the output.

    Shapes: story [B, N, J], question [B, J'], sentences [B] -> logits [B, V]. `attended` contains one weight per
    sentence, the sum over its words, [B, 1, N].

    Hermann et al. 2015, "Teaching Machines to Read and Comprehend", section 3.2. Jain & Wallace 2019 study its
    attention on bAbI.

    >>> from regard.models import RecurrentEncoder
    >>> model = AttentiveReader(RecurrentEncoder(11, embedding_dim=3, hidden_dim=6, bidirectional=True), 11).eval()
    >>> predicted = model(torch.ones(2, 3, 7).long(), torch.ones(2, 4).long(), torch.tensor([3, 1]))
    >>> predicted.logits.shape, predicted.attended.weights().shape
    (torch.Size([2, 11]), torch.Size([2, 1, 3]))
    """

    @checked()
    def __init__(
        self, encoder: AnyEncoder, num_answers: int, *, hidden_dim: Size | None = None, dropout: Share = 0.0
    ) -> None:
        super().__init__()
        self.encoder = encoder
        width = width_of(self, encoder)
        hidden = width if hidden_dim is None else hidden_dim
        self.attention = Attention(Additive(query_dim=width, key_dim=width, hidden_dim=hidden))
        self.hidden_map = nn.Linear(2 * width, hidden)
        self.dropout = Dropout(dropout)
        self.output_map = nn.Linear(hidden, num_answers)

    def forward(self, story: Tensor, question: Tensor, sentences: Tensor | None = None) -> ModelOutput:
        """Map words of stories [B, N, J] and of questions [B, J'] to logits [B, V]."""
        words = StoryWords.of(story)
        read = self.read(words.ids, words.lengths, question)
        attended = self.attend(read)
        by_sentence = attended.weights()[:, 0]  # [B, T]
        batch, count, _ = story.shape
        # One column even without sentences: `words.sentence` is all zeros then, and scatter_add needs an index 0.
        found = by_sentence.new_zeros(batch, max(count, 1)).scatter_add(1, words.sentence, by_sentence)[:, :count]
        logits = self.answer(read, attended.context)
        return ModelOutput(logits, attended=Weights.of(found[:, None, None], has_heads=False))

    def read(self, words: Tensor, lengths: Tensor, question: Tensor) -> ReadStory:
        """Encode stories [B, T] of true `lengths` [B] and questions [B, J']."""
        read: Encoded = self.encoder(words, lengths)
        asked: Encoded = self.encoder(question, (question != PAD).sum(1))
        return ReadStory(self.dropout(read.states), self.dropout(asked.summary), read.mask)

    def attend(self, read: ReadStory) -> Attended:
        """Compute the attention of each question over the words of its story."""
        attended: Attended = self.attention(read.question.unsqueeze(1), read.states, mask=read.mask)
        return attended

    def answer(self, read: ReadStory, context: Tensor) -> Tensor:
        """Return logits [B, V] from the attention context [B, 1, C]."""
        hidden = torch.tanh(self.hidden_map(torch.cat((context.squeeze(1), read.question), dim=1)))  # [B, H]
        logits: Tensor = self.output_map(self.dropout(hidden))
        return logits
