"""Remedies for exposure bias: scheduled sampling, word dropout and corruption of decoder inputs.

Teacher forcing feeds the gold previous token at every step, so the model never trains on inputs that follow its own
errors. Three remedies: feed its own predictions with rising probability (scheduled sampling), replace some inputs by
the unknown token (word dropout), or replace some by random tokens (corruption).
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
    """Schedule of the probability ε of feeding the gold token instead of a prediction; ε decays with the *updates* i.

        exponential      ε = k^i                  k < 1
        inverse_sigmoid  ε = k / (k + exp(i / k))  k >= 1
        linear           ε = max(floor, c - k i)

    Counting i in epochs, a frequent mistake, leaves the inverse sigmoid nearly constant.

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
    """Replace each decoder input with the given probability by a random token id from `first` to `vocabulary` - 1.

    >>> corrupt_words(torch.tensor([[2, 7, 8]]), 1.0, vocabulary=5, first=4, keep=(0, 2))
    tensor([[2, 4, 4]])
    """
    hit = torch.rand(tokens.shape, device=tokens.device) < probability
    other = torch.randint(first, vocabulary, tokens.shape, device=tokens.device)
    return torch.where(hit & ~is_among(tokens, keep), other, tokens)


@dataclass(frozen=True)
class Exposure:
    """Perturbations of the decoder inputs in training.

    Attributes:
        sampling: scheduled sampling; None for pure teacher forcing.
        word_dropout: probability of replacing an input by the unknown token.
        corruption: probability of replacing an input by a random token.
    """

    sampling: ScheduledSampling | None = None
    word_dropout: float = 0.0
    corruption: float = 0.0

    @classmethod
    def of(cls, recipe: Recipe) -> Exposure:
        """Return the perturbations that a recipe configures."""
        given = recipe.train.exposure
        sampling = None if given.sampling is None else ScheduledSampling(**given.sampling.model_dump())
        return cls(sampling, given.word_dropout, given.corruption)

    def teacher(self, update: int) -> float:
        """Return the probability of feeding the right word."""
        return 1.0 if self.sampling is None else self.sampling.teacher(update)

    def disturbed(self, given: Tensor, *, vocabulary: int) -> Tensor:
        """Return decoder inputs with word dropout and corruption applied."""
        if self.word_dropout:
            given = drop_words(given, self.word_dropout, keep=(PAD, BOS))
        if self.corruption:
            given = corrupt_words(given, self.corruption, vocabulary=vocabulary, first=EOS + 1, keep=(PAD, BOS))
        return given

    def sampled(
        self, model: nn.Module, source: Tensor, lengths: Tensor | None, given: Tensor, teacher: float
    ) -> ModelOutput:
        """Run the decoder with scheduled sampling: each token is a prediction with probability 1 - `teacher`.

        Predictions are sampled from the model's distribution, without gradient through the sample. Attention and
        auxiliary losses are those of the usual forward pass.
        """

        def feed(logits: Tensor, right: Tensor) -> Tensor:
            said = log_softmax(logits.detach()).squeeze(1).exp()
            own = torch.multinomial(said.nan_to_num(1.0), 1)  # multinomial rejects NaN; the loss reports it
            keep = (torch.rand(own.shape, device=own.device) < teacher) | (right == PAD)
            return torch.where(keep, right, own)

        predicted: ModelOutput = model(source, lengths, given, feed)
        return predicted
