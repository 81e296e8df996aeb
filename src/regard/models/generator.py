"""Models that generate: what teacher forcing and step-by-step decoding share."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from regard.models.encoded import Encoded
from regard.models.model_output import ModelOutput, concatenate_attended, hard_attention_extras, log_softmax
from regard.nn.attention_module import AttentionModule
from regard.nn.key_value import KeyValue
from regard.ops.attended import Attended
from regard.protocol import Selectable, Step

S = TypeVar("S", bound=Selectable)

NextInput = Callable[[Tensor, Tensor], Tensor]
"""(logits [B, 1, V] of the next token, the one that was given [B, 1]) -> the one to go on with [B, 1]."""


class DecoderOutput(NamedTuple, Generic[S]):
    """Parts [B, T, F] that the output layer reads, the state after them, and the read of the source if any."""

    features: tuple[Tensor, ...]
    state: S
    attended: Attended | None = None


class Generator(nn.Module, abc.ABC, Generic[S]):
    """A model that says one token after the other, each given those before it.

    A model says how tokens become vectors (`embed`), how it goes on (`advance`) and how features become logits
    (`output`). Teacher forcing and the steps of a decoder are both made of these three, so they cannot disagree. What
    does not depend on earlier steps stands in `embed` and `output`, which take a whole target at once.
    """

    at_once: bool = False
    """True if `advance` takes many vectors; if not, it is called with one after the other."""
    words: Any
    """Embeddings of the tokens that are generated."""

    @abc.abstractmethod
    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> S:
        """The state before the first token.

        Args:
            source: whatever the encoder takes, ids [B, S] for example; None for a language model.
            lengths: [B], true lengths of the sources; None where there is no padding.
            batch: B, for a language model.
        """

    def embed(self, tokens: Tensor, state: S) -> Tensor:
        """Tokens [B, T], the first of which follows `state` -> vectors [B, T, E], by default their embeddings."""
        words: Tensor = self.words(tokens)
        return words

    @abc.abstractmethod
    def advance(self, words: Tensor, state: S) -> DecoderOutput[S]:
        """Go on by vectors [B, T, E], T = 1 unless `at_once`."""

    @abc.abstractmethod
    def output(self, *features: Tensor) -> Tensor:
        """Features [B, T, F], part by part -> logits [B, T, V]."""

    def step(self, token: Tensor, state: S) -> Step:
        """One token [B] (BOS first) -> log-probabilities [B, V] of the next one, and the state for it."""
        advanced = self.advance(self.embed(token.unsqueeze(1), state), state)
        log_probs = log_softmax(self.output(*advanced.features).squeeze(1))
        return Step(log_probs, advanced.state, advanced.attended)

    def unroll(self, tokens: Tensor, state: S, feed: NextInput | None = None) -> ModelOutput:
        """All tokens [B, T], each after those before it: teacher forcing, unless `feed` chooses other tokens.

        The first token is never changed; every later one is what `feed` makes of it, given what the model has just
        said.
        """
        check_tokens(self, tokens)
        inputs = self.embed(tokens, state) if feed is None else tokens
        steps: list[DecoderOutput[S]] = []
        said: list[Tensor] = []
        for part in [inputs] if self.at_once and feed is None else inputs.split(1, dim=1):
            words = part if feed is None else self.embed(feed(said[-1], part) if said else part, state)
            steps.append(self.advance(words, state))
            state = steps[-1].state
            if feed is not None:
                said.append(self.output(*steps[-1].features))
        logits = torch.cat(said, dim=1) if said else self.output(*_in_time(steps))
        reads = [step.attended for step in steps if step.attended is not None]
        return ModelOutput(logits, state, concatenate_attended(reads), hard_attention_extras(reads))


class EncoderDecoder(Generator[S]):
    """A generator that has a source: p(y | x) = prod_t p(y_t | y_<t, x).

    Its first argument is the encoder, any module that returns `Encoded`, or the size of a source vocabulary: then it
    builds the encoder of its paper from its own sizes. It never looks at the source itself.
    """

    encoder: nn.Module

    def encode(self, source: Any, lengths: Tensor | None = None) -> Encoded:
        """Encode a source, of whatever kind the encoder takes."""
        if source is None:
            raise ValueError(f"{type(self).__name__}: an encoder-decoder needs a source; got None")
        encoded: Encoded = self.encoder(source, lengths)
        return encoded

    def forward(
        self, source: Tensor, source_lengths: Tensor | None, target: Tensor, feed: NextInput | None = None
    ) -> ModelOutput:
        """Teacher forcing.

        Args:
            source: whatever the encoder takes, ids [B, S] for example.
            source_lengths: [B]; None where there is no padding.
            target: ids [B, T], the decoder's input: BOS first.
            feed: chooses what is fed in the place of each target token but the first; None for the token itself.

        Returns:
            Predicted with logits [B, T, V]: row t is of what follows target token t.
        """
        return self.unroll(target, self.start(source, source_lengths), feed)


class AttendingDecoder(EncoderDecoder[S]):
    """An encoder-decoder whose every step attends to the source: `DecoderOutput.attended` is never None.

    That is all that copying and coverage need (`regard.models.copying.Copying`); so recipes of each of these models
    have the keys `copy` and `coverage`.
    """

    @property
    def output_layer(self) -> nn.Linear:
        """The layer that gives logits."""
        layer = getattr(self, "output_map", None)
        assert isinstance(layer, nn.Linear)
        return layer

    @property
    def source_reader(self) -> AttentionModule | KeyValue:
        """The module that reads the source in the steps that `DecoderOutput.attended` is of."""
        reader = getattr(self, "attention", None)
        if not isinstance(reader, AttentionModule | KeyValue):
            raise TypeError(f"{type(self).__name__} has no attention; it should say which module is its source_reader")
        return reader

    @property
    def feature_dim(self) -> int:
        """Width of all features together that `output` reads."""
        return self.output_layer.in_features


def _in_time(steps: Sequence[DecoderOutput[S]]) -> list[Tensor]:
    """The features of all steps one after the other, part by part."""
    return [torch.cat(parts, dim=1) for parts in zip(*(step.features for step in steps), strict=True)]


def check_tokens(model: nn.Module, tokens: Tensor) -> None:
    """Check that there is a token to unroll.

    Raises:
        ValueError: there is none.
    """
    if tokens.dim() != 2 or tokens.shape[1] == 0:
        raise ValueError(
            f"{type(model).__name__}: tokens must be [B, T] with at least one step; got {list(tokens.shape)}"
        )


def needs_batch(model: nn.Module, source: Tensor | None, batch: int | None) -> int:
    """Return the number of sequences that a language model starts, which has no source to tell it."""
    if source is not None or batch is None:
        raise ValueError(f"{type(model).__name__} is a language model: start it with source None and batch=B")
    return batch
