"""Copying and coverage: options of every encoder-decoder that attends to its source."""

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
    """State of a decoder that copies: its own, and the id by which each source position is copied.

    Attributes:
        inner: of the decoder.
        copies: ids [B, S]; None where nothing is copied.
    """

    inner: Any
    copies: Tensor | None

    def select(self, rows: Tensor) -> CopyState:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        copies = None if self.copies is None else self.copies.index_select(0, rows)
        return CopyState(self.inner.select(rows), copies)


class Copying(EncoderDecoder[CopyState]):
    r"""An encoder-decoder that can also copy source words, and knows what it has already attended to.

    .. math:: p(w) = g_t\, \mathrm{softmax}(z_t)_w + (1 - g_t) \sum_{s\,:\,x_s = w} a_{ts}, \quad
              g_t = \sigma(w_g^\top f_t + b_g)

    with the decoder's own logits z and attention a; the gate g reads the features f that the output layer reads, which
    hold state and context. Words that the target vocabulary lacks are copied too: the vocabulary of V words is extended
    by the S positions of the source. A source word has the id of its target word if there is one, and otherwise
    V + the position of its first occurrence; so ids depend on no other source of a batch. An extended id that is fed
    back is read as the unknown word. Positions whose id is padding are never copied.

    Coverage c is the attention that each position has had. It enters the attention, inside the tanh of an additive
    score and as a weighted sum beside any other (`Covered`), and the loss:

    .. math:: c_t = \sum_{t' < t} a_{t'}, \quad L = \lambda \sum_t \sum_s \min(a_{ts}, c_{ts})

    A decoder knows nothing of all this: it is wrapped. `logits` are the log-probabilities of the mixture [B, T, V + S].
    `extras["coverage"]` is the loss of each sequence, [B].

    Args:
        model: the encoder-decoder.
        copy: copy source words (pointer-generator).
        coverage: weight of the coverage loss; above 0 the attention has a coverage term too, and 0 is neither.

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
    def encoder(self) -> nn.Module:  # type: ignore[override]  # registered once, with the decoder that it belongs to
        """That of the decoder."""
        return self.model.encoder

    @property
    def size(self) -> int:
        """V, number of words of the target vocabulary."""
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
        counts = (target != PAD) & (target != EOS)  # the row behind them is of EOS
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
    """Log-probabilities of generating or copying each word of the extended vocabulary.

    Args:
        logits: [B, T, V], of generating.
        gate: [B, T, 1], the logit of generating rather than copying.
        weights: [B, T, S], attention to the source; copied are those of positions whose id is not padding.
        copies: [B, T, S], the id by which each position is copied, below V or V + the position of a first occurrence.

    Returns:
        [B, T, V + S] in float32 at least; -inf at positions that extend the vocabulary by no word.

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
    """Sum over steps and keys of min(a, c), c the weights of earlier steps, [B].

    Args:
        weights: a [B, T, S].
        counts: [B, T], steps that count.

    >>> coverage_loss(torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.2, 0.8]]]), torch.tensor([[True, True, True]]))
    tensor([1.2000])
    """
    covered = weights.cumsum(1) - weights
    return torch.minimum(weights, covered).sum(-1).masked_fill(~counts, 0.0).sum(1)


def mean_weights(attended: Weights) -> Tensor:
    """Weights [B, T, S] of a read, the mean over its heads."""
    weights = attended.weights()
    return weights if weights.dim() == 3 else weights.mean(1)


def add_coverage_term(reader: AttentionModule) -> None:
    """Give the score of a reader a coverage term: inside the tanh of an additive one, beside any other."""
    if reader.impl is not None:
        raise ValueError(f"coverage reads query after query, and impl={reader.impl!r} reads all at once; leave it out")
    if isinstance(reader.score, Additive):
        reader.score.add_term(Fertility(reach=0))
    else:
        reader.score = Covered(reader.score)


def with_copies(source: Tensor, copies: Tensor) -> Tensor:
    """Return a source of a decoder that copies: ids [B, S] or [B, S, C] with the ids of the copies behind.

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
    """Return the source of the encoder, and the ids of its copies: the inverse of `with_copies`."""
    if source.dim() != 3 or source.is_floating_point() or source.shape[2] < 2:
        raise ValueError(
            f"a model that copies reads with_copies(source, ids), [B, S, 2] for ids; got {list(source.shape)} of "
            f"{source.dtype}"
        )
    plain = source[..., 0] if source.shape[2] == 2 else source[..., :-1]
    return plain, source[..., -1]


def copies(model: object) -> bool:
    """Return whether a model, or each of an ensemble, copies source words."""
    members = getattr(model, "models", None)
    return all(map(copies, members)) if members else bool(getattr(model, "copy", False) is True)
