"""The pointer sentinel mixture (Merity et al. 2017)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.inner_product import inner_product
from regard.ops.pointer_sum import pointer_sum
from regard.ops.softmax import restrict

CARD = Card(
    name="pointer_sentinel",
    family="whole matrix",
    equation="p(w) = g p_vocab(w) + Σ_{i: w_i = w} a_i,  [a; g] = softmax([qᵀh_1 ... qᵀh_L; qᵀs])",
    paper="Merity et al. 2017, sec. 2.2-2.3",
    cost="T·S·C + T·V",
    op="pointer_sentinel",
    module="PointerSentinel",
)


class PointerMixture(NamedTuple):
    """A mixture of a vocabulary and of the words just seen.

    Attributes:
        log_probs: log p(w), [B, T, V].
        attended: the read of the window. Its values are the words themselves, as one-hot vectors, so its context is
            the pointer's share of the probability, Σ_{i: w_i = w} a_i, [B, T, V]; `weights()` is a, [B, T, S], which
            sums to 1 - g.
        log_gate: log g, [B, T]: g is the mass on the sentinel, the vocabulary's share.
    """

    log_probs: Tensor
    attended: Attended
    log_gate: Tensor

    @property
    def gate(self) -> Tensor:
        """Gate g, [B, T]: the share of the vocabulary in the mixture."""
        return self.log_gate.exp()


def pointer_sentinel(
    query: Tensor,
    key: Tensor,
    sentinel: Tensor,
    ids: Tensor,
    vocab_log_probs: Tensor,
    mask: Mask | None = None,
) -> PointerMixture:
    r"""Mix a pointer over past words with the vocabulary, whose share is the weight of a sentinel.

    .. math:: [a_t; g_t] = \mathrm{softmax}\bigl([q_t^\top h_1, \dots, q_t^\top h_S;\; q_t^\top s]\bigr), \quad
              p_t(w) = g_t\, p_\mathrm{vocab}(w) + \sum_{i\,:\,w_i = w} a_{ti}

    One softmax covers the window and the sentinel, so the gate is the mass that the pointer leaves. With an empty
    window, g is 1 and the result is bitwise equal to `vocab_log_probs`.

    Args:
        query: [B, T, C], q: after its map, which `regard.nn.PointerSentinel` holds.
        key: [B, S, C], h: the states to point at.
        sentinel: [C], s.
        ids: [B, S], the word w_i that each state stands for, in [0, V); at padding any one.
        vocab_log_probs: [B, T, V], log p_vocab.
        mask: what may be pointed at; `Mask.window(L)` lets each of T = S states see the last L, its own included.

    Returns:
        Pointed, in float32 for half-precision inputs. Sums are taken in log space, so that neither an unseen word nor
        a hopeless one has an infinite gradient.

    Raises:
        ValueError: shapes that do not fit.

    Merity et al. 2017, "Pointer Sentinel Mixture Models", sections 2.2 and 2.3. The paper's p_ptr is a / (1 - g), and
    its mixture multiplies by 1 - g again; here neither is done.

    >>> key, ids, vocab = torch.zeros(1, 2, 3), torch.tensor([[4, 4]]), torch.full((1, 1, 5), 0.2).log()
    >>> out = pointer_sentinel(torch.zeros(1, 1, 3), key, torch.zeros(3), ids, vocab)
    >>> out.gate.item(), out.log_probs.exp()            # three equal parts: two on word 4, one on the sentinel
    (0.333, tensor([[[0.067, 0.067, 0.067, 0.067, 0.733]]]))
    """
    _check(query, key, sentinel, ids, vocab_log_probs)
    energy = restrict(inner_product(query, key, 1.0).unsqueeze(1), mask).squeeze(1)
    aside = inner_product(query, sentinel.to(query.dtype).unsqueeze(0), 1.0)  # [b, t, 1]
    log_weights, log_gate = torch.cat((energy, aside), dim=2).log_softmax(dim=2).split((key.shape[1], 1), dim=2)
    log_probs = _mix(log_gate + vocab_log_probs.to(log_gate.dtype), log_weights, ids)
    weights = log_weights.exp()
    pointer = pointer_sum(weights, ids, vocab_log_probs.shape[2])
    return PointerMixture(
        log_probs, Attended.from_weights(pointer, weights.unsqueeze(1), has_heads=False), log_gate.squeeze(2)
    )


def _mix(log_vocab: Tensor, log_weights: Tensor, ids: Tensor) -> Tensor:
    """log(exp(log_vocab_w) + Σ_{i: w_i = w} exp(log_weights_i)): a log-sum-exp with its own maximum for each word."""
    words = ids.unsqueeze(1).expand_as(log_weights)
    highest = log_vocab.detach().scatter_reduce(2, words, log_weights.detach(), "amax")  # [b, t, v]
    level = highest.masked_fill(highest == -torch.inf, 0.0)
    pointer = torch.exp(log_weights - level.gather(2, words))  # [b, t, s]
    total = torch.exp(log_vocab - level).scatter_add(2, words, pointer)
    return highest + total.masked_fill(total == 0, 1.0).log()


def _check(query: Tensor, key: Tensor, sentinel: Tensor, ids: Tensor, vocab_log_probs: Tensor) -> None:
    if query.dim() != 3 or key.dim() != 3 or query.shape[0] != key.shape[0] or query.shape[2] != key.shape[2]:
        raise ValueError(
            "pointer_sentinel: query [B, T, C] and key [B, S, C] must share B and C; "
            f"got {list(query.shape)} and {list(key.shape)}"
        )
    if sentinel.shape != key.shape[2:]:
        raise ValueError(f"pointer_sentinel: sentinel must be [C] = {list(key.shape[2:])}; got {list(sentinel.shape)}")
    if ids.shape != key.shape[:2]:
        raise ValueError(f"pointer_sentinel: ids must be [B, S] = {list(key.shape[:2])}; got {list(ids.shape)}")
    if vocab_log_probs.dim() != 3 or vocab_log_probs.shape[:2] != query.shape[:2]:
        raise ValueError(
            f"pointer_sentinel: vocab_log_probs must be [B, T, V] with the B and T of query {list(query.shape)}; "
            f"got {list(vocab_log_probs.shape)}"
        )
