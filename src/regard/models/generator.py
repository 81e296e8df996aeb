"""Base classes of generating models, shared by teacher forcing and step-by-step decoding."""

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
    """Input features [B, T, F] of the output layer, the next state, and the attention to the source if any."""

    features: tuple[Tensor, ...]
    state: S
    attended: Attended | None = None


class Generator(nn.Module, abc.ABC, Generic[S]):
    """Autoregressive model: predicts each token from those before it.

    A subclass defines how to embed tokens (`embed`), update the state (`advance`) and compute logits (`output`).
    Teacher forcing and decoding both use these three methods, so they cannot disagree. Computation that does not depend
    on earlier steps belongs in `embed` and `output`, which process all target positions in parallel.
    """

    at_once: bool = False
    """True if `advance` takes many vectors; if not, it is called with one after the other."""
    words: Any
    """Embeddings of the tokens that are generated."""

    @abc.abstractmethod
    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> S:
        """Return the state before the first token.

        Args:
            source: input of the encoder, for example ids [B, S]; None for a language model.
            lengths: [B], true lengths of the sources; None without padding.
            batch: B, for a language model.
        """

    def embed(self, tokens: Tensor, state: S) -> Tensor:
        """Embed tokens [B, T], the first of which follows `state` -> [B, T, E]."""
        words: Tensor = self.words(tokens)
        return words

    @abc.abstractmethod
    def advance(self, words: Tensor, state: S) -> DecoderOutput[S]:
        """Update the state with vectors [B, T, E]; T = 1 unless `at_once`."""

    @abc.abstractmethod
    def output(self, *features: Tensor) -> Tensor:
        """Compute logits [B, T, V] from the features [B, T, F] of `DecoderOutput`."""

    def step(self, token: Tensor, state: S) -> Step:
        """Decode one token [B] (BOS first): return log-probabilities [B, V] of the next token, and the next state."""
        advanced = self.advance(self.embed(token.unsqueeze(1), state), state)
        log_probs = log_softmax(self.output(*advanced.features).squeeze(1))
        return Step(log_probs, advanced.state, advanced.attended)

    def unroll(self, tokens: Tensor, state: S, feed: NextInput | None = None) -> ModelOutput:
        """Process all tokens [B, T] with teacher forcing, or with the inputs that `feed` chooses.

        `feed` replaces every token except the first, given the model's prediction for that position.
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
    """A generator conditioned on a source: p(y | x) = prod_t p(y_t | y_<t, x).

    The first constructor argument is the encoder, any module that returns `Encoded`, or the size of a source
    vocabulary: then the model builds the encoder of its paper with its own sizes. Only the encoder accesses the source.
    """

    encoder: nn.Module

    def encode(self, source: Any, lengths: Tensor | None = None) -> Encoded:
        """Encode a source of the encoder's input type."""
        if source is None:
            raise ValueError(f"{type(self).__name__}: an encoder-decoder needs a source; got None")
        encoded: Encoded = self.encoder(source, lengths)
        return encoded

    def forward(
        self, source: Tensor, source_lengths: Tensor | None, target: Tensor, feed: NextInput | None = None
    ) -> ModelOutput:
        """Compute logits with teacher forcing.

        Args:
            source: input of the encoder, for example ids [B, S].
            source_lengths: [B]; None without padding.
            target: ids [B, T], the decoder's input: BOS first.
            feed: chooses the input for each target token except the first; None for the token itself.

        Returns:
            ModelOutput with logits [B, T, V]: row t predicts the token after target token t.
        """
        return self.unroll(target, self.start(source, source_lengths), feed)


class AttendingDecoder(EncoderDecoder[S]):
    """An encoder-decoder with attention to the source at every step: `DecoderOutput.attended` is never None.

    This enables copying and coverage (`regard.models.copying.Copying`): recipes of these models have the keys `copy`
    and `coverage`.
    """

    @property
    def output_layer(self) -> nn.Linear:
        """Linear layer that computes the logits."""
        layer = getattr(self, "output_map", None)
        assert isinstance(layer, nn.Linear)
        return layer

    @property
    def source_reader(self) -> AttentionModule | KeyValue:
        """Attention module whose reads are in `DecoderOutput.attended`."""
        reader = getattr(self, "attention", None)
        if not isinstance(reader, AttentionModule | KeyValue):
            raise TypeError(f"{type(self).__name__} has no attention; it should say which module is its source_reader")
        return reader

    @property
    def feature_dim(self) -> int:
        """Total width of the input features of `output`."""
        return self.output_layer.in_features


def _in_time(steps: Sequence[DecoderOutput[S]]) -> list[Tensor]:
    """Concatenate each feature over the steps."""
    return [torch.cat(parts, dim=1) for parts in zip(*(step.features for step in steps), strict=True)]


def check_tokens(model: nn.Module, tokens: Tensor) -> None:
    """Check that there is at least one token to unroll.

    Raises:
        ValueError: there is no token.
    """
    if tokens.dim() != 2 or tokens.shape[1] == 0:
        raise ValueError(
            f"{type(model).__name__}: tokens must be [B, T] with at least one step; got {list(tokens.shape)}"
        )


def needs_batch(model: nn.Module, source: Tensor | None, batch: int | None) -> int:
    """Return the batch size of a language model's first state, which no source determines."""
    if source is not None or batch is None:
        raise ValueError(f"{type(model).__name__} is a language model: start it with source None and batch=B")
    return batch
