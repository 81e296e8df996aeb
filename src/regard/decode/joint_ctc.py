"""Joint CTC-attention decoding: next tokens of an attention model rescored by CTC prefix probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.protocol import Generates, Selectable, Step
from regard.specials import EOS, PAD

# The logarithm of zero for an emission. Finite, so that sums over frames have no differences of infinities, and small
# enough that its exponential is exactly 0 beside any real probability.
_LOG_ZERO = -1e4

Emissions = Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor | None]]
"""Source and lengths -> log p(symbol | frame), [B, T, V], and the true number of frames, [B] or None for T."""


@dataclass(frozen=True)
class PrefixScores:
    """Forward variables of N prefixes over the frames of their rows.

    Attributes:
        emission: [B, T, V], log-probabilities in float64; padded frames emit a blank with probability 1.
        probs: [B, T, V], their exponentials.
        row: [N], row of `emission` of each prefix.
        last: [N], last symbol of each prefix; -1 for the empty one.
        in_blank, in_symbol: [N, T + 1], log of the total probability of all paths over the first t frames that collapse
            to the prefix and end in a blank, or in its last symbol.
        total: [N], log ψ, the probability of all outputs that start with the prefix.
    """

    emission: Tensor
    probs: Tensor
    row: Tensor
    last: Tensor
    in_blank: Tensor
    in_symbol: Tensor
    total: Tensor

    @classmethod
    def empty(cls, log_probs: Tensor, frames: Tensor | None, blank: int) -> PrefixScores:
        """Return an empty prefix per row."""
        batch, longest, symbols = log_probs.shape
        emission = log_probs.double().clamp(min=_LOG_ZERO)
        if frames is not None:
            padded = torch.arange(longest, device=emission.device) >= frames.to(emission.device).unsqueeze(1)
            certain = emission.new_full((symbols,), _LOG_ZERO).index_fill(
                0, torch.tensor([blank], device=emission.device), 0.0
            )
            emission = torch.where(padded.unsqueeze(2), certain, emission)
        silent = torch.cat((emission.new_zeros(batch, 1), emission[:, :, blank].cumsum(1)), 1)  # [B, T + 1]
        return PrefixScores(
            emission,
            emission.exp(),
            torch.arange(batch, device=emission.device),
            torch.full((batch,), -1, device=emission.device),
            silent,
            torch.full_like(silent, -torch.inf),
            emission.new_zeros(batch),
        )

    def select(self, rows: Tensor) -> PrefixScores:
        """Keep, repeat or reorder the prefixes; the emissions are shared, not copied."""
        kept = (part.index_select(0, rows) for part in (self.row, self.last, self.in_blank, self.in_symbol, self.total))
        return PrefixScores(self.emission, self.probs, *kept)

    def following(self, blank: int) -> Tensor:
        """Return log ψ of each prefix extended by each symbol, [N, V]; at EOS, log p of the prefix as output."""
        before = torch.logaddexp(self.in_blank, self.in_symbol)  # [N, T + 1]
        # ψ of the prefix lies between its largest forward variable and T + 1 times that. Relative to it, the product of
        # probabilities in float64 loses nothing but symbols below e^-700, which no search would take.
        level = before.amax(1, keepdim=True).clamp(min=torch.finfo(before.dtype).min)
        weights = (before[:, :-1] - level).exp()  # [N, T]
        rows, counts = self.row.unique_consecutive(return_counts=True)
        parts = zip(rows.tolist(), weights.split(counts.tolist()), strict=True)
        found = torch.cat([part @ self.probs[row] for row, part in parts]).log() + level  # [N, V]
        if bool((self.last >= 0).any()):  # the last symbol again needs a blank between
            symbol = self.last.clamp(min=0).unsqueeze(1)
            again = (self.in_blank[:, :-1] + self._emitted(symbol[:, 0])).logsumexp(1, keepdim=True)
            found = found.scatter(1, symbol, torch.where(self.last.unsqueeze(1) >= 0, again, found.gather(1, symbol)))
        found[:, blank] = -torch.inf
        found[:, EOS] = before[:, -1]
        return found

    def extend(self, symbol: Tensor, blank: int) -> PrefixScores:
        """Append one symbol to each prefix, [N]."""
        emitted, silent = self._emitted(symbol), self._emitted(torch.full_like(symbol, blank))  # [N, T]
        repeats = (symbol == self.last).unsqueeze(1)
        before = torch.where(repeats, self.in_blank, torch.logaddexp(self.in_blank, self.in_symbol))[:, :-1]
        in_symbol = _accumulate(before, emitted)
        in_blank = _accumulate(in_symbol[:, :-1], silent)
        total = (before + emitted).logsumexp(1)
        return replace(self, last=symbol, in_blank=in_blank, in_symbol=in_symbol, total=total)

    def _emitted(self, symbol: Tensor) -> Tensor:
        """Return log p of one symbol per prefix in each frame, [N, T]."""
        return self.emission[self.row, :, symbol]


@dataclass(frozen=True)
class JointCTCState:
    """State of a model and CTC scores of its output so far; `begun` is True after BOS."""

    inner: Selectable
    prefixes: PrefixScores
    begun: bool

    def select(self, rows: Tensor) -> JointCTCState:
        """Keep, repeat or reorder the rows of both; `rows`: [B'] indices."""
        return JointCTCState(self.inner.select(rows), self.prefixes.select(rows), self.begun)


class JointCTC:
    r"""Attention model and CTC model of one vocabulary, combined; follows the protocol of generating models.

    .. math:: \log p(c \mid h) = (1 - \lambda) \log p_{att}(c \mid h)
              + \lambda \big(\log \psi(h \cdot c) - \log \psi(h)\big)

    with :math:`\psi(h)` the CTC probability of all outputs that start with h, and at EOS that of h as the output.
    The scores of a finished hypothesis sum to
    :math:`(1 - \lambda) \log p_{att}(y \mid x) + \lambda \log p_{ctc}(y \mid x)`.

    Args:
        model: the attention model.
        emissions: source and lengths -> CTC log-probabilities [B, T, V] over the ids of the model, and true numbers of
            frames [B], None for T. Ids that the CTC model lacks have -inf.
        weight: λ between 0 and 1.
        blank: id of the CTC blank; by default PAD, which is never an output.

    Any search and any ensemble can use it. An output without a path, because it is too long for the frames, has
    log-probability -inf. Time and memory of a step are linear in T and V.

    Watanabe, Hori, Kim, Hershey & Hayashi 2017, "Hybrid CTC/Attention Architecture for End-to-End Speech Recognition",
    section III-B and algorithm 2; Hori, Watanabe & Hershey 2017, "Joint CTC/attention decoding". They add scores of
    whole prefixes; the sum of the differences per step is equal.

    >>> from regard.decode import Search, generate
    >>> class Uniform:
    ...     def start(self, source, lengths, *, batch=None): return self
    ...     def select(self, rows): return self
    ...     def step(self, token, state): return Step(torch.full((len(token), 6), 1 / 6).log(), self)
    >>> heard = torch.tensor([[[0.2, 0, 0, 0, 0.7, 0.1], [0.6, 0, 0, 0, 0.3, 0.1], [0.3, 0, 0, 0, 0.1, 0.6]]]).log()
    >>> joint = JointCTC(Uniform(), lambda source, lengths: (heard, lengths), weight=0.9)
    >>> generate(joint, torch.zeros(1, 3, 1), search=Search(length_penalty="none"))[0][0].output
    (4, 5)
    """

    def __init__(self, model: Generates, emissions: Emissions, *, weight: float = 0.3, blank: int = PAD) -> None:
        if not 0 <= weight <= 1:
            raise ValueError(f"joint CTC: weight must lie between 0 (attention alone) and 1 (CTC alone); got {weight}")
        if blank == EOS:
            raise ValueError(f"joint CTC: the blank cannot be EOS ({EOS})")
        self.model, self.emissions = model, emissions
        self.weight, self.blank = weight, blank

    @property
    def training(self) -> bool:
        """True if the model is in training mode."""
        return bool(getattr(self.model, "training", False))

    def parameters(self) -> Iterator[Tensor]:
        """Return the parameters of the model."""
        return iter(getattr(self.model, "parameters", tuple)())

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None) -> JointCTCState:
        """Return the initial states of both models."""
        if source is None:
            raise ValueError("joint CTC: there are no frames without a source")
        log_probs, frames = self.emissions(source, lengths)
        if log_probs.dim() != 3 or len(log_probs) != len(source):
            raise ValueError(
                f"joint CTC: emissions must be [B, T, V] with B = {len(source)}; got {list(log_probs.shape)}"
            )
        prefixes = PrefixScores.empty(log_probs, frames, self.blank)
        return JointCTCState(self.model.start(source, lengths, batch=batch), prefixes, begun=False)

    def step(self, token: Tensor, state: JointCTCState) -> Step:
        """Step the model and add the CTC scores."""
        step = self.model.step(token, state.inner)
        prefixes = state.prefixes.extend(token, self.blank) if state.begun else state.prefixes
        size, known = step.log_probs.shape[-1], prefixes.emission.shape[-1]
        if size != known:
            raise ValueError(f"joint CTC: the models need one vocabulary; theirs have {size} and {known} tokens")
        after = JointCTCState(step.state, prefixes, begun=True)
        return Step(self._mixed(step.log_probs, prefixes), after, step.attended)

    def _mixed(self, log_probs: Tensor, prefixes: PrefixScores) -> Tensor:
        """Return the weighted sum [N, V] in float32; a model of weight 0 cannot rule tokens out."""
        if self.weight == 0:
            return log_probs.float()
        gained = prefixes.following(self.blank) - prefixes.total.unsqueeze(1)
        # Impossible emissions, and impossible prefixes, whose difference would be NaN.
        heard = gained.masked_fill(
            ~(gained > 0.5 * _LOG_ZERO) | (prefixes.total < 0.5 * _LOG_ZERO).unsqueeze(1), -torch.inf
        )
        heard = heard.clamp(max=0.0)  # a conditional probability; above 0 only by rounding
        if self.weight == 1:
            return heard.float()
        return ((1 - self.weight) * log_probs.double() + self.weight * heard).float()


def _accumulate(entering: Tensor, emitted: Tensor) -> Tensor:
    """Return log x for x_0 = 0, x_t = (x_{t-1} + e^entering_t) e^emitted_t: [N, T] each -> [N, T + 1], t from 0.

    Divided by the cumulative product of the emissions, x is a cumulative sum, which avoids a loop over frames.
    """
    product = emitted.cumsum(1)
    found = product + (entering - (product - emitted)).logcumsumexp(1)
    return torch.cat((torch.full_like(found[:, :1], -torch.inf), found), 1)
