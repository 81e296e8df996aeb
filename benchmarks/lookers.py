"""One network that looks at its source in several ways, for `soft_and_hard.py`: everything else in it is the same.

The context of a word does not feed the recurrent layer. So the draws of hard attention are independent given the words,
and sums over all of them are products of small sums: what REINFORCE estimates can be computed exactly, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models import RecurrentEncoder
from regard.models.encoded import Encoded
from regard.models.model_output import ModelOutput
from regard.nn import CTC, Additive, Aligner, Attention, Hard, LocalP, Reinforce, Softmax
from regard.ops import reinforce_loss
from regard.specials import PAD
from regard.systems.captions.conv_features import ConvFeatures
from regard.tasks.reinforce import RewardedDraws

WIDTH = 64
FRAMES = 2
"""Frames that CTC makes of each state: there must be one per symbol, and one more between equal ones."""


class Batch(NamedTuple):
    """Sources and their targets, with BOS and EOS.

    Attributes:
        source: ids [B, S] or pictures [B, C, H, W].
        lengths: [B], of ids; None of pictures.
        target: [B, T], padded.
    """

    source: Tensor
    lengths: Tensor | None
    target: Tensor

    @property
    def wanted(self) -> Tensor:
        """The symbols that are predicted, [B, T - 1]."""
        return self.target[:, 1:]


class Network(nn.Module):
    r"""An encoder, a GRU over the words so far, and attention of its states to the source.

    .. math:: h_t = \mathrm{GRU}(E y_{t-1}, h_{t-1}), \quad z_t = \mathrm{attend}(h_t, a), \quad
              p(y_t \mid z_t) = \mathrm{softmax}(L_o \tanh(E y_{t-1} + L_h h_t + L_z z_t))

    Args:
        encoder: any module that returns `Encoded`.
        size: number of target symbols.
        align: aligner of the attention.
    """

    def __init__(self, encoder: nn.Module, size: int, align: Aligner) -> None:
        super().__init__()
        self.encoder = encoder
        states = encoder.output_dim
        assert isinstance(states, int)
        self.words = nn.Embedding(size, WIDTH)
        self.first_map = nn.Linear(states, WIDTH)
        self.layers = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.attention = Attention(Additive(WIDTH, states, WIDTH), align)
        self.hidden_map = nn.Linear(WIDTH, WIDTH)
        self.context_map = nn.Linear(states, WIDTH, bias=False)
        self.output_map = nn.Linear(WIDTH, size)
        self.ctc = CTC(WIDTH, size, blank=PAD)
        self.frame_map = nn.Linear(states, FRAMES * WIDTH)

    def queries(self, encoded: Encoded, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return h_t and E y_{t-1} + L_h h_t, both [B, T, WIDTH]."""
        words = self.words(batch.target[:, :-1])
        hidden, _ = self.layers(words, self.first_map(encoded.summary).tanh().unsqueeze(0))
        return hidden, words + self.hidden_map(hidden)

    def logits(self, summed: Tensor, context: Tensor) -> Tensor:
        """Return the logits of words from E y_{t-1} + L_h h_t and L_z z_t."""
        found: Tensor = self.output_map((summed + context).tanh())
        return found


def attended(network: Network, batch: Batch) -> ModelOutput:
    """Return the logits with the context that the aligner gives, and its draws."""
    encoded: Encoded = network.encoder(batch.source, batch.lengths)
    hidden, summed = network.queries(encoded, batch)
    read = network.attention(hidden, encoded.states, mask=encoded.mask)
    logits = network.logits(summed, network.context_map(read.context))
    if read.sample is None:
        return ModelOutput(logits)
    return ModelOutput(logits, state=read.sample, extras={"sample_log_prob": read.sample.log_prob,
                                                        "sample_entropy": read.sample.entropy})  # fmt: skip


def enumerated(network: Network, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return log α_ts and log p(y_t | s) of every place s, both [B, T, S]."""
    encoded: Encoded = network.encoder(batch.source, batch.lengths)
    hidden, summed = network.queries(encoded, batch)
    memory = network.attention.remember(encoded.states, mask=encoded.mask)
    state = network.attention.start(memory)
    energy = network.attention.score.energy(network.attention.score.queries(hidden), memory, state)  # [B, 1, T, S]
    if memory.mask is not None:
        energy = energy.masked_fill(~memory.mask.allowed(tuple(energy.shape), device=energy.device), -1e9)
    each = network.logits(summed.unsqueeze(2), network.context_map(encoded.states).unsqueeze(1))  # [B, T, S, V]
    wanted = batch.wanted[:, :, None, None].expand(*each.shape[:3], 1)
    return energy.squeeze(1).log_softmax(-1), each.log_softmax(-1).gather(3, wanted).squeeze(3)


def _words(predicted: ModelOutput, batch: Batch) -> Tensor:
    """Return log p(y_t), [B, T], 0 at padding."""
    said = predicted.logits.log_softmax(-1).gather(2, batch.wanted.unsqueeze(2)).squeeze(2)
    return said.masked_fill(batch.wanted == PAD, 0.0)


def _texts(log_probs: Tensor, batch: Batch) -> Tensor:
    """Return -Σ_t of log-probabilities [B, T] of words, the mean over texts."""
    return -log_probs.masked_fill(batch.wanted == PAD, 0.0).sum(1).mean()


def attended_loss(network: Network, batch: Batch) -> Tensor:
    """-log p(y | x) of attention that reads a weighted sum."""
    return _texts(_words(attended(network, batch), batch), batch)


def expected_loss(network: Network, batch: Batch) -> Tensor:
    """Σ_s α_s (-log p(y | s)), the expectation that REINFORCE estimates."""
    log_alpha, log_probs = enumerated(network, batch)
    return _texts((log_alpha.exp() * log_probs).sum(2), batch)


def marginal_loss(network: Network, batch: Batch) -> Tensor:
    """-log Σ_s α_s p(y | s): the likelihood of hard attention itself, below the expectation by Jensen's inequality."""
    log_alpha, log_probs = enumerated(network, batch)
    return _texts((log_alpha + log_probs).logsumexp(2), batch)


def ctc_frames(network: Network, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Return frames [B, 2 S, WIDTH], how many of them are true [B], and the number of symbols without an end [B]."""
    encoded: Encoded = network.encoder(batch.source, batch.lengths)
    frames = network.frame_map(encoded.states).unflatten(2, (FRAMES, WIDTH)).flatten(1, 2).tanh()
    lengths = torch.full((len(frames),), frames.shape[1]) if batch.lengths is None else FRAMES * batch.lengths
    return frames, lengths, (batch.wanted != PAD).sum(1) - 1


def ctc_loss(network: Network, batch: Batch) -> Tensor:
    """-log p(y | x), the sum over all alignments of frames with symbols; no decoder, and no end to predict."""
    frames, lengths, symbols = ctc_frames(network, batch)
    return network.ctc.loss(frames, batch.wanted[:, :-1], lengths, symbols)


@dataclass
class Reinforced:
    """REINFORCE with the reward of the whole text, and what is subtracted from it.

    Attributes:
        baseline: a moving average of past rewards (Xu et al. 2015); None for nothing.
    """

    baseline: Reinforce | None = None

    def __call__(self, network: Network, batch: Batch) -> Tensor:
        """Return the loss whose gradient is the estimate."""
        predicted = attended(network, batch)
        log_likelihood, lengths = _words(predicted, batch).sum(1), (batch.wanted != PAD).sum(1)
        if self.baseline is None:
            return reinforce_loss(log_likelihood, predicted.state, lengths=lengths)
        loss: Tensor = self.baseline(log_likelihood, predicted.state, lengths)
        return loss


def rewarded_loss(network: Network, batch: Batch) -> Tensor:
    """REINFORCE with the reward from each draw on, less that of the other texts: what recipes train with."""
    predicted = attended(network, batch)
    words = _words(predicted, batch).sum()
    return (RewardedDraws(1.0, 0.0).loss(predicted, batch.wanted) - words) / len(batch.target)


Loss = Callable[[Network, Batch], Tensor]


@dataclass(frozen=True)
class Way:
    """One way to look.

    Attributes:
        loss: makes what is minimised in training; a new one per run, since a baseline has a state.
        nll: the model's own -log p(y | x), in nats per text.
        align: makes the aligner.
        pictures: whether it reads pictures, too, whose regions have no order.
    """

    loss: Callable[[], Loss]
    nll: Loss
    align: Callable[[], Aligner] = Softmax
    pictures: bool = True


def _hard() -> Aligner:
    return Hard(0.0, at_test="sample")


WAYS: dict[str, Way] = {
    "soft": Way(lambda: attended_loss, attended_loss),
    "local-p": Way(lambda: attended_loss, attended_loss, lambda: LocalP(WIDTH, window=4)),
    "hard, REINFORCE": Way(Reinforced, marginal_loss, _hard),
    "hard, moving baseline": Way(
        lambda: Reinforced(Reinforce(reward_weight=1.0, entropy_weight=0.0)), marginal_loss, _hard
    ),
    "hard, baseline of the batch": Way(lambda: rewarded_loss, marginal_loss, _hard),
    "hard, expectation summed": Way(lambda: expected_loss, marginal_loss),
    "hard, exact marginal": Way(lambda: marginal_loss, marginal_loss),
    "CTC": Way(lambda: ctc_loss, ctc_loss, pictures=False),
}


def dates_network(way: Way, symbols: int, size: int) -> Network:
    """Return a network that reads characters."""
    encoder = RecurrentEncoder(symbols, embedding_dim=WIDTH, hidden_dim=WIDTH, bidirectional=True)
    return Network(encoder, size, way.align())


def scenes_network(way: Way, size: int) -> Network:
    """Return a network that reads pictures of 32 x 32, as 16 regions."""
    return Network(ConvFeatures(3, width=16, depth=1, stages=3, norm="batch"), size, way.align())


def shuffled(batch: Batch, size: int, seed: int) -> Iterator[Batch]:
    """Yield batches of some rows without end, each epoch in another order."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(len(batch.target), generator=generator)
        for rows in order.split(size):
            yield rows_of(batch, rows)


def rows_of(batch: Batch, rows: Tensor) -> Batch:
    """Return some rows, without padding that none of them needs."""
    target = batch.target[rows]
    target = target[:, : int((target != PAD).sum(1).max())]
    if batch.lengths is None:
        return Batch(batch.source[rows], None, target)
    lengths = batch.lengths[rows]
    return Batch(batch.source[rows][:, : int(lengths.max())], lengths, target)


def padded(rows: list[list[int]]) -> Tensor:
    """Return ids [N, T]."""
    most = max(map(len, rows))
    return torch.stack([F.pad(torch.tensor(row), (0, most - len(row)), value=PAD) for row in rows])
