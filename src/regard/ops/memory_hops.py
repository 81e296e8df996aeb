"""Memory hops: repeated attention to a memory, with an updated query per hop (Sukhbaatar et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.checks import check_reading
from regard.ops.dot import dot_score
from regard.ops.linear import linear_weights
from regard.ops.softmax import masked_softmax, restrict, weigh_values

CARD = Card(
    name="memory_hops",
    family="whole matrix",
    equation="p = softmax(uᵀ m),  o = Σ p c,  u ← u + o",
    paper="Sukhbaatar et al. 2015, sec. 2 and 4.1",
    cost="K hops of T·S·D + T·S·D",
    op="memory_hops",
    module="MemoryHops",
)


class Hops(NamedTuple):
    """Query after all hops, and the attention of each hop.

    Attributes:
        output: u after the last hop: [B, H, T, D] from the op, [B, d] from the module.
        reads: an Attended for each hop.
    """

    output: Tensor
    reads: tuple[Attended, ...]


def memory_hop(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask | None = None, *, linear: bool = False
) -> Attended:
    r"""One hop: attention of the query to all memories.

    .. math:: p = \mathrm{softmax}(u^\top m_i), \quad o = \sum_i p_i c_i

    Args:
        query: [B, H, T, D], u; in the paper H = T = 1.
        key: [B, H, S, D], m, the input memories.
        value: [B, H, S, D], c, the output memories.
        mask: present memories; None for all.
        linear: omit the softmax, p_i = u·m_i, for linear start of training.

    Returns:
        Attended with context o [B, H, T, D].

    Sukhbaatar et al. 2015, "End-To-End Memory Networks", equations 1 and 2. The inner product is not scaled.

    >>> u, m, c = torch.tensor([[1.0]]), torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0], [10.0]])
    >>> memory_hop(u[None, None], m[None, None], c[None, None]).context
    tensor([[[[7.31]]]])
    """
    check_reading("memory_hops", query, key, value)
    energy = dot_score(query, key)
    weights = linear_weights(energy, mask) if linear else masked_softmax(energy, mask)
    return Attended.from_weights(weigh_values(weights, value), weights)


def slot_softmax(energy: Tensor, size: int, mask: Mask | None = None) -> Tensor:
    r"""Softmax over a memory of `size` slots, where empty slots have energy 0.

    .. math:: p_i = \exp(e_i) / (\sum_j \exp(e_j) + M - n)

    A query without a matching memory can attend to empty slots, whose value is zero. With n ≥ M it is the softmax.

    Args:
        energy: [B, H, T, S].
        size: M.
        mask: which n of the S memories there are; None for all.

    Returns:
        Weights [B, H, T, S] of the memories that there are, which sum to at most one.

    Sukhbaatar et al. 2015, section 4.2: stories are padded to a fixed size with a null symbol that embeds to zero.

    >>> slot_softmax(torch.zeros(1, 1, 1, 2), 5)                                # three more slots are empty
    tensor([[[[0.2000, 0.2000]]]])
    """
    energy = restrict(energy, mask)
    empty = (size - (energy.detach() > -torch.inf).sum(-1, keepdim=True)).clamp(min=0)
    return masked_softmax(torch.cat((energy, empty.to(energy.dtype).log()), dim=-1))[..., :-1]


def memory_hops(
    query: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor],
    mask: Mask | None = None,
    *,
    carry: Tensor | None = None,
    linear: bool = False,
) -> Hops:
    r"""K hops: the query of the next hop is the current query plus the context.

    .. math:: u^{k+1} = u^k + o^k, \quad\text{or layer-wise}\quad u^{k+1} = H u^k + o^k

    Args:
        query: [B, H, T, D], u¹.
        keys: m of each hop, K tensors [B, H, S, D].
        values: c of each hop, K tensors [B, H, S, D].
        mask: which memories there are; None for all.
        carry: [D, D], H; None for the identity.
        linear: omit the softmax, as in `memory_hop`.

    Returns:
        Hops with output u^{K+1} [B, H, T, D] and the K reads.

    Sukhbaatar et al. 2015, section 2.2.

    >>> u, m = torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 2, 1)
    >>> memory_hops(u, [m, m], [m + 3, m + 5]).output.item()                  # 1 + 3 + 5
    9.0
    """
    if len(keys) != len(values):
        raise ValueError(f"memory_hops: a hop has keys and values; got {len(keys)} keys and {len(values)} values")
    reads = []
    for key, value in zip(keys, values, strict=True):
        reads.append(memory_hop(query, key, value, mask, linear=linear))
        query = (query if carry is None else F.linear(query, carry)) + reads[-1].context
    return Hops(query, tuple(reads))


def position_encoding(words: Tensor | int, dim: int, *, size: int | None = None) -> Tensor:
    r"""Weights of the channels of a word by its position: a bag of words that knows the order.

    .. math:: l_{kj} = (1 - j/J) - (k/d)(1 - 2j/J), \quad j = 1..J,\; k = 1..d

    J is the length of the sentence itself, not of the longest in the batch, so that the encoding of a sentence does not
    depend on its batch.

    Args:
        words: J, a number or a tensor [...] of one a sentence.
        dim: d.
        size: length of the word axis; None for the largest J.

    Returns:
        [..., size, d] in float32, zero after a sentence's last word.

    Sukhbaatar et al. 2015, section 4.1.

    >>> position_encoding(2, 2)
    tensor([[0.5000, 0.5000],
            [0.5000, 1.0000]])
    """
    count = words if isinstance(words, Tensor) else torch.as_tensor(words)
    size = (int(count.max()) if count.numel() else 0) if size is None else size
    j = torch.arange(1, size + 1, device=count.device, dtype=torch.float32).unsqueeze(1)
    k = torch.arange(1, dim + 1, device=count.device, dtype=torch.float32)
    position = j / count.clamp(min=1)[..., None, None]  # [..., j, 1]
    weight = (1 - position) - (k / dim) * (1 - 2 * position)
    return weight.masked_fill(j > count[..., None, None], 0.0)


def time_index(sentences: Tensor, size: int) -> Tensor:
    """Age of each sentence, [B, size]: 0 for the most recent, -1 where there is none.

    Counting from the end makes "just now" the same row of the time table in long stories and short ones.

    Args:
        sentences: [B], how many each story has.
        size: length of the sentence axis.

    Sukhbaatar et al. 2015, section 4.1: "indexed in reverse order".

    >>> time_index(torch.tensor([3, 1]), 3)
    tensor([[ 2,  1,  0],
            [ 0, -1, -1]])
    """
    age = sentences.unsqueeze(1) - 1 - torch.arange(size, device=sentences.device)
    return age.clamp(min=-1)


class Story(NamedTuple):
    """Words [B, N, J] and how many sentences each story has, [B]."""

    words: Tensor
    sentences: Tensor


def insert_empty(story: Tensor, sentences: Tensor, rate: float, *, padding_id: int = 0) -> Story:
    """Insert an empty memory after each sentence with probability `rate`, to regularise the time embeddings.

    Empty memories replace no sentence; they increase the age of earlier sentences.

    Args:
        story: [B, N, J] words.
        sentences: [B], how many sentences each has.
        rate: of empty memories; the paper has 0.1.
        padding_id: the null word.

    Returns:
        Story with words [B, N', J] and the new counts.

    Sukhbaatar et al. 2015, section 4.1, "random noise"; draws from torch's global generator.

    >>> insert_empty(torch.tensor([[[5], [6]]]), torch.tensor([2]), rate=1.0)
    Story(words=tensor([[[5],
                         [0],
                         [6],
                         [0]]]), sentences=tensor([4]))
    """
    batch, size, _ = story.shape
    real = torch.arange(size, device=story.device) < sentences.unsqueeze(1)
    after = (torch.rand(batch, size, device=story.device) < rate) & real
    added = after.sum(1)
    position = torch.arange(size, device=story.device) + after.cumsum(1) - after.long()
    longest = size + (int(added.max()) if batch and size else 0)
    words = story.new_full((batch, longest, story.shape[2]), padding_id)
    return Story(words.scatter(1, position.unsqueeze(2).expand_as(story), story), sentences + added)
