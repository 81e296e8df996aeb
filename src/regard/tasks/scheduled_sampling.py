"""Remedies for exposure bias: a decoder that is trained on its own mistakes, or on none of its words for granted.

Teacher forcing feeds the right previous word at every step, so the model never sees what its own mistakes look like.
Three remedies of the notes: feed its own predictions more and more often (scheduled sampling), leave out some of the
words it is fed (word dropout), or replace some by others (corruption).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from regard.models.embeddings import drop_words, is_among
from regard.models.model_output import ModelOutput, log_softmax
from regard.specials import BOS, EOS, PAD

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe

Decay = Literal["exponential", "inverse_sigmoid", "linear"]


@dataclass(frozen=True)
class ScheduledSampling:
    """With probability ε the right word is fed, else the model's own; ε falls with the *updates* i.

        exponential      ε = k^i                  k < 1
        inverse_sigmoid  ε = k / (k + exp(i / k))  k >= 1
        linear           ε = max(floor, c - k i)

    Counted in epochs, the inverse sigmoid hardly moves: that is a frequent mistake.

    Bengio et al. 2015, "Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks", section 2.4.

    >>> ScheduledSampling("linear", k=0.001, c=1.0, floor=0.25).teacher(500)
    0.5
    >>> round(ScheduledSampling("inverse_sigmoid", k=100).teacher(0), 3)
    0.99
    """

    decay: Decay = "inverse_sigmoid"
    k: float = 1000.0
    c: float = 1.0
    floor: float = 0.0

    def teacher(self, update: int) -> float:
        """Return the probability of feeding the right word."""
        if self.decay == "exponential":
            return max(self.floor, self.k**update)
        if self.decay == "linear":
            return max(self.floor, self.c - self.k * update)
        exponent = min(update / self.k, 700.0)  # exp overflows beyond
        return max(self.floor, self.k / (self.k + math.exp(exponent)))


def corrupt_words(tokens: Tensor, probability: float, *, vocabulary: int, first: int, keep: tuple[int, ...]) -> Tensor:
    """Replace each decoder input with this probability by a random word, `first` to `vocabulary` - 1.

    >>> corrupt_words(torch.tensor([[2, 7, 8]]), 1.0, vocabulary=5, first=4, keep=(0, 2))
    tensor([[2, 4, 4]])
    """
    hit = torch.rand(tokens.shape, device=tokens.device) < probability
    other = torch.randint(first, vocabulary, tokens.shape, device=tokens.device)
    return torch.where(hit & ~is_among(tokens, keep), other, tokens)


@dataclass(frozen=True)
class Exposure:
    """Replacements for the right words as decoder inputs in training.

    Attributes:
        sampling: scheduled sampling; None for pure teacher forcing.
        word_dropout: how often a word becomes unknown.
        corruption: how often a word becomes a random one.
    """

    sampling: ScheduledSampling | None = None
    word_dropout: float = 0.0
    corruption: float = 0.0

    @classmethod
    def of(cls, recipe: Recipe) -> Exposure:
        """Return the remedies of a recipe."""
        given = recipe.train.exposure
        sampling = None if given.sampling is None else ScheduledSampling(**given.sampling.model_dump())
        return cls(sampling, given.word_dropout, given.corruption)

    def teacher(self, update: int) -> float:
        """Return the probability of feeding the right word."""
        return 1.0 if self.sampling is None else self.sampling.teacher(update)

    def disturbed(self, given: Tensor, *, vocabulary: int) -> Tensor:
        """Return the decoder's input with word dropout and corruption."""
        if self.word_dropout:
            given = drop_words(given, self.word_dropout, keep=(PAD, BOS))
        if self.corruption:
            given = corrupt_words(given, self.corruption, vocabulary=vocabulary, first=EOS + 1, keep=(PAD, BOS))
        return given

    def sampled(
        self, model: nn.Module, source: Tensor, lengths: Tensor | None, given: Tensor, teacher: float
    ) -> ModelOutput:
        """Teacher forcing with a coin for every token: with probability 1 - `teacher` the model's own word is fed.

        The word is drawn from the model's distribution, without gradient through the draw. All else is the model's
        forward pass: what it attends to, and what it adds to the loss.
        """

        def feed(logits: Tensor, right: Tensor) -> Tensor:
            said = log_softmax(logits.detach()).squeeze(1).exp()
            own = torch.multinomial(said.nan_to_num(1.0), 1)  # of what is no number any more the loss will tell
            keep = (torch.rand(own.shape, device=own.device) < teacher) | (right == PAD)
            return torch.where(keep, right, own)

        predicted: ModelOutput = model(source, lengths, given, feed)
        return predicted
