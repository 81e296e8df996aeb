"""Copying and coverage for encoder-decoders with attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import Factor, checked
from regard.models.encoded import Encoded
from regard.models.generator import AttendingDecoder, DecoderOutput, EncoderDecoder, NextInput
from regard.models.model_output import ModelOutput
from regard.nn.aligners import Hard
from regard.nn.attention_module import AttentionModule
from regard.nn.key_value import KeyValue
from regard.nn.scores.additive import Additive
from regard.nn.scores.covered import Covered
from regard.nn.terms import Fertility
from regard.ops.softmax import statistics_dtype
from regard.ops.weights import Weights
from regard.specials import EOS, PAD, UNK


@dataclass(frozen=True)
class CopyState:
    """State of a decoder with copying.

    Attributes:
        inner: state of the wrapped decoder.
        copies: extended ids [B, S] of the source positions; None without copying.
    """

    inner: Any
    copies: Tensor | None

    def select(self, rows: Tensor) -> CopyState:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        copies = None if self.copies is None else self.copies.index_select(0, rows)
        return CopyState(self.inner.select(rows), copies)


class Copying(EncoderDecoder[CopyState]):
    r"""Wrapper that adds copying of source words and a coverage mechanism to an encoder-decoder.

    .. math:: p(w) = g_t\, \mathrm{softmax}(z_t)_w + (1 - g_t) \sum_{s\,:\,x_s = w} a_{ts}, \quad
              g_t = \sigma(w_g^\top f_t + b_g)

    with the logits z and the attention a of the decoder. The gate g is computed from the features f of the output
    layer, which contain state and context. Out-of-vocabulary words can be copied: the S source positions extend the
    vocabulary of V words. A source word has the id of the same target word if there is one, otherwise V + the position
    of its first occurrence, so ids do not depend on other sources of a batch. An extended id is embedded as the unknown
    word when it is fed back. Positions with the padding id are never copied.

    Coverage c is the accumulated attention to each position. It is a term inside the tanh of an additive score, or is
    added to any other score with a weight (`Covered`), and it defines a loss:

    .. math:: c_t = \sum_{t' < t} a_{t'}, \quad L = \lambda \sum_t \sum_s \min(a_{ts}, c_{ts})

    The wrapped decoder itself is unchanged. `logits` are the log-probabilities of the mixture [B, T, V + S].
    `extras["coverage"]` is the coverage loss per sequence, [B].

    Args:
        model: the encoder-decoder.
        copy: copy source words (pointer-generator).
        coverage: weight λ of the coverage loss; above 0 the attention has a coverage term too, 0 disables both.

    With `copy` the source is `with_copies(source, ids)`. See, Liu & Manning 2017, equations 8 to 13.

    >>> from regard.models import Luong
    >>> model = Copying(Luong(11, 13, embedding_dim=3, hidden_dim=5), copy=True, coverage=1.0)
    >>> source, copies = torch.tensor([[5, 1, 7]]), torch.tensor([[6, 13 + 1, 9]])
    >>> predicted = model(with_copies(source, copies), torch.tensor([3]), torch.tensor([[2, 14]]))
    >>> predicted.logits.exp()[..., 13:].gt(0)                          # of three positions, one has an unknown word
    tensor([[[False,  True, False],
             [False,  True, False]]])
    """

    @checked()
    def __init__(self, model: AttendingDecoder[Any], *, copy: bool = False, coverage: Factor = 0.0) -> None:
        super().__init__()
        self.model = model
        self.copy = copy
        self.coverage = coverage
        self.at_once = model.at_once
        reader = model.source_reader
        inner = reader.attention if isinstance(reader, KeyValue) else reader
        if isinstance(inner.align, Hard):
            raise ValueError("copy and coverage read soft attention, and align is 'hard'; take another aligner")
        if getattr(model, "fertility", None) is not None:
            raise ValueError("fertility and copy or coverage cannot be combined; leave one of them out")
        if coverage:
            add_coverage_term(inner)
        self.gate = nn.Linear(model.feature_dim, 1) if copy else None

    @property
    def encoder(self) -> nn.Module:  # type: ignore[override]  # a property: the wrapped decoder has registered it
        """Encoder of the wrapped decoder."""
        return self.model.encoder

    @property
    def size(self) -> int:
        """V, size of the target vocabulary without extension."""
        return self.model.output_layer.out_features

    def encode(self, source: Any, lengths: Tensor | None = None) -> Encoded:
        return self.model.encode(without_copies(source)[0] if self.copy else source, lengths)

    def start(self, source: Tensor | None, lengths: Tensor | None = None, *, batch: int | None = None) -> CopyState:
        if not self.copy or source is None:
            return CopyState(self.model.start(source, lengths, batch=batch), None)
        plain, copies = without_copies(source)
        return CopyState(self.model.start(plain, lengths, batch=batch), copies)

    def forward(
        self, source: Tensor, source_lengths: Tensor | None, target: Tensor, feed: NextInput | None = None
    ) -> ModelOutput:
        predicted = super().forward(source, source_lengths, target, feed)
        if not self.coverage or predicted.attended is None:
            return predicted
        counts = (target != PAD) & (target != EOS)  # inputs whose prediction counts
        loss = self.coverage * coverage_loss(mean_weights(predicted.attended), counts)
        return predicted._replace(extras={**predicted.extras, "coverage": loss})

    def embed(self, tokens: Tensor, state: CopyState) -> Tensor:
        return self.model.embed(tokens.masked_fill(tokens >= self.size, UNK), state.inner)

    def advance(self, words: Tensor, state: CopyState) -> DecoderOutput[CopyState]:
        advanced = self.model.advance(words, state.inner)
        after, features = CopyState(advanced.state, state.copies), advanced.features
        if state.copies is not None:
            assert advanced.attended is not None, "a decoder that copies attends to its source"
            weights = mean_weights(advanced.attended)  # [B, T, S]
            features = (*features, weights, state.copies.unsqueeze(1).expand_as(weights))
        return DecoderOutput(features, after, advanced.attended)

    def output(self, *features: Tensor) -> Tensor:
        if self.gate is None:
            return self.model.output(*features)
        *own, weights, copies = features
        return mixture(self.model.output(*own), self.gate(torch.cat(own, dim=-1)), weights, copies)


def mixture(logits: Tensor, gate: Tensor, weights: Tensor, copies: Tensor) -> Tensor:
    """Return log-probabilities of the mixture of generating and copying over the extended vocabulary.

    Args:
        logits: [B, T, V], logits of generating.
        gate: [B, T, 1], logit of the probability of generating rather than copying.
        weights: [B, T, S], attention to the source; positions with the padding id are not copied.
        copies: [B, T, S], extended id of each position: below V, or V + the position of a first occurrence.

    Returns:
        [B, T, V + S] in at least float32; -inf at extended ids that no word has.

    >>> mixture(torch.zeros(1, 1, 4), torch.zeros(1, 1, 1), torch.ones(1, 1, 2) / 2, torch.tensor([[[3, 4 + 1]]])).exp()
    tensor([[[0.1250, 0.1250, 0.1250, 0.3750, 0.0000, 0.2500]]])
    """
    kind = statistics_dtype(logits.dtype)
    size, tiny = logits.shape[-1], torch.finfo(kind).tiny
    copied = weights.to(kind).masked_fill(copies == PAD, 0.0)
    total = copied.sum(-1, keepdim=True)
    copied = copied / total.clamp(min=tiny)
    every = copied.new_zeros(*copied.shape[:2], size + copied.shape[2]).scatter_add(2, copies, copied)
    pointed = F.logsigmoid(-gate.to(kind)) + every.clamp(min=tiny).log()  # [B, T, V + S]
    some = total > 0
    generated = torch.where(some, F.logsigmoid(gate.to(kind)), 0.0) + logits.to(kind).log_softmax(-1)
    inside = torch.where(some, torch.logaddexp(generated, pointed[..., :size]), generated)
    place = size + torch.arange(copied.shape[2], device=copies.device)
    extended = pointed[..., size:].masked_fill(~((copies == place) & some), -torch.inf)
    return torch.cat((inside, extended), dim=-1)


def coverage_loss(weights: Tensor, counts: Tensor) -> Tensor:
    """Return the sum over steps and keys of min(a, c), with c the sum of weights of earlier steps, [B].

    Args:
        weights: a [B, T, S].
        counts: [B, T], True for steps that are included.

    >>> coverage_loss(torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.2, 0.8]]]), torch.tensor([[True, True, True]]))
    tensor([1.2000])
    """
    covered = weights.cumsum(1) - weights
    return torch.minimum(weights, covered).sum(-1).masked_fill(~counts, 0.0).sum(1)


def mean_weights(attended: Weights) -> Tensor:
    """Return weights [B, T, S], averaged over heads."""
    weights = attended.weights()
    return weights if weights.dim() == 3 else weights.mean(1)


def add_coverage_term(reader: AttentionModule) -> None:
    """Add a coverage term to the score of an attention: inside the tanh if it is additive, else beside it."""
    if reader.impl is not None:
        raise ValueError(f"coverage reads query after query, and impl={reader.impl!r} reads all at once; leave it out")
    if isinstance(reader.score, Additive):
        reader.score.add_term(Fertility(reach=0))
    else:
        reader.score = Covered(reader.score)


def with_copies(source: Tensor, copies: Tensor) -> Tensor:
    """Append the extended ids of copies to a source [B, S] or [B, S, C] as its last channel.

    >>> with_copies(torch.tensor([[5, 1]]), torch.tensor([[6, 14]]))
    tensor([[[ 5,  6],
             [ 1, 14]]])
    """
    if source.is_floating_point() or source.dim() not in (2, 3) or source.shape[:2] != copies.shape:
        raise ValueError(
            f"copies are of ids [B, S] or [B, S, C], with a copy for each of [B, S]; got a source "
            f"{list(source.shape)} of {source.dtype} and copies {list(copies.shape)}"
        )
    return torch.cat((source if source.dim() == 3 else source.unsqueeze(2), copies.unsqueeze(2)), dim=2)


def without_copies(source: Tensor) -> tuple[Tensor, Tensor]:
    """Split a source into the encoder's source and the ids of copies: the inverse of `with_copies`."""
    if source.dim() != 3 or source.is_floating_point() or source.shape[2] < 2:
        raise ValueError(
            f"a model that copies reads with_copies(source, ids), [B, S, 2] for ids; got {list(source.shape)} of "
            f"{source.dtype}"
        )
    plain = source[..., 0] if source.shape[2] == 2 else source[..., :-1]
    return plain, source[..., -1]


def copies(model: object) -> bool:
    """Return whether a model, or each member of an ensemble, copies source words."""
    members = getattr(model, "models", None)
    return all(map(copies, members)) if members else bool(getattr(model, "copy", False) is True)
