"""Models that generate: what teacher forcing and step-by-step decoding share."""

from __future__ import annotations

import abc
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from regard.models.predicted import Predicted, drawn, joined, log_softmax
from regard.ops.attended import Attended
from regard.protocol import Selectable, Step

S = TypeVar("S", bound=Selectable)


class Advanced(NamedTuple, Generic[S]):
    """Features [B, T, F] that the output layer reads, the state after them, and the read of the source if any."""

    features: Tensor
    state: S
    attended: Attended | None = None


class Generator(nn.Module, abc.ABC, Generic[S]):
    """A model that says one token after the other, each given those before it.

    A model says how it goes on (`advance`) and how features become logits (`output`). Teacher forcing and the steps
    of a decoder are both made of these two, so they cannot disagree.
    """

    at_once: bool = False
    """Whether `advance` takes many tokens; if not, it is called with one after the other."""

    @abc.abstractmethod
    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> S:
        """The state before the first token.

        Args:
            source: ids [B, S]; None for a language model.
            lengths: [B], true lengths of the sources; None where there is no padding.
            batch: B, for a language model.
        """

    @abc.abstractmethod
    def advance(self, tokens: Tensor, state: S) -> Advanced[S]:
        """Go on by tokens [B, T], T = 1 unless `at_once`."""

    @abc.abstractmethod
    def output(self, features: Tensor) -> Tensor:
        """Features [B, T, F] -> logits [B, T, V]."""

    def step(self, token: Tensor, state: S) -> Step:
        """One token [B] (BOS first) -> log-probabilities [B, V] of the next one, and the state for it."""
        advanced = self.advance(token.unsqueeze(1), state)
        log_probs = log_softmax(self.output(advanced.features).squeeze(1))
        return Step(log_probs, advanced.state, advanced.attended)

    def unroll(self, tokens: Tensor, state: S) -> Predicted:
        """All tokens [B, T] at once, each after those before it: teacher forcing."""
        if tokens.dim() != 2 or tokens.shape[1] == 0:
            raise ValueError(
                f"{type(self).__name__}: tokens must be [B, T] with at least one step; got {list(tokens.shape)}"
            )
        features, reads = [], []
        for part in [tokens] if self.at_once else tokens.split(1, dim=1):
            advanced = self.advance(part, state)
            state = advanced.state
            features.append(advanced.features)
            reads += [] if advanced.attended is None else [advanced.attended]
        logits = self.output(torch.cat(features, dim=1))
        return Predicted(logits, state, joined(reads), drawn(reads))


class EncoderDecoder(Generator[S]):
    """A generator that has a source: p(y | x) = prod_t p(y_t | y_<t, x)."""

    def forward(self, source: Tensor, source_lengths: Tensor | None, target: Tensor) -> Predicted:
        """Teacher forcing.

        Args:
            source: ids [B, S].
            source_lengths: [B]; None where there is no padding.
            target: ids [B, T], the decoder's input: BOS first.

        Returns:
            Predicted with logits [B, T, V]: row t is of what follows target token t.
        """
        return self.unroll(target, self.start(source, source_lengths))


def needs_source(model: nn.Module, source: Tensor | None) -> Tensor:
    """The source of an encoder-decoder, which cannot do without."""
    if source is None or source.dim() != 2:
        got = None if source is None else list(source.shape)
        raise ValueError(f"{type(model).__name__}: the source must be ids [B, S]; got {got}")
    return source


def needs_batch(model: nn.Module, source: Tensor | None, batch: int | None) -> int:
    """How many sequences a language model starts, which has no source to tell it."""
    if source is not None or batch is None:
        raise ValueError(f"{type(model).__name__} is a language model: start it with source None and batch=B")
    return batch
