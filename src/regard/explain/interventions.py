"""Other weights in place of those that a model learned: uniform, permuted, or chosen to differ as much as they can."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.explain.agreement import divergence, variation
from regard.explain.subject import Subject, SubjectBatch


def uniform(subject: Subject, texts: SubjectBatch) -> Tensor:
    """Change of the answer, as a total variation distance [B], with equal weights of all words."""
    with torch.no_grad():
        encoded = subject.encode(texts)
        weights = subject.attend(encoded)
        equal = texts.inside / texts.lengths.clamp(min=1).unsqueeze(1)  # [B, T]
        even = subject.answer(encoded, equal.unsqueeze(1).expand_as(weights).to(weights.dtype))
        return variation(subject.answer(encoded, weights), even)


def permuted(subject: Subject, texts: SubjectBatch, *, draws: int = 100, seed: int = 0) -> Tensor:
    """Median change of the answer [B], as a total variation distance, over random permutations of the weights.

    Jain & Wallace 2019, algorithm 2.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        encoded = subject.encode(texts)
        weights = subject.attend(encoded)
        before = subject.answer(encoded, weights)
        changes = []
        for _ in range(draws):
            noise = torch.rand(texts.ids.shape, generator=generator).to(texts.ids.device)
            order = noise.masked_fill(~texts.inside, torch.inf).argsort(dim=1)  # words first, in a random order
            shuffled = weights.gather(2, order.unsqueeze(1).expand_as(weights))
            changes.append(variation(subject.answer(encoded, shuffled), before))
    return torch.stack(changes).median(0).values


class Adversary(NamedTuple):
    """The most different weights that were found to give nearly the same answer.

    Attributes:
        distance: [B], Jensen-Shannon divergence from the model's own weights in nats, at most ln 2 = 0.693; 0 where
            none were found.
        change: [B], total variation distance of the answer with them.
        weights: [B, N, T].
    """

    distance: Tensor
    change: Tensor
    weights: Tensor


def adversary(
    subject: Subject,
    texts: SubjectBatch,
    *,
    starts: int = 5,
    steps: int = 500,
    rate: float = 0.01,
    allowed: float = 0.05,
    seed: int = 0,
) -> Adversary:
    r"""Search for weights that differ from the model's own as much as they can while the answer stays.

    .. math:: \max_{a^{(1)} \dots a^{(k)}} \sum_i \mathrm{JSD}(a, a^{(i)}) + \frac{1}{k (k - 1)} \sum_{i < j}
              \mathrm{JSD}(a^{(i)}, a^{(j)}) \quad \text{with} \quad \mathrm{TVD}(y, y^{(i)}) \le \epsilon

    Adam with AMSGrad over the logits of k starts, with a penalty of 500 for a change above 0.01, as the authors' code.

    Args:
        subject: the model.
        texts: B texts.
        starts: k, distributions that are searched at once; each begins near the uniform one.
        steps: updates.
        rate: learning rate.
        allowed: ε, largest change of an answer that still counts as the same.
        seed: seed of the starts.

    Jain & Wallace 2019, section 4.2.2, algorithm 3.
    """
    with torch.no_grad():
        encoded = subject.encode(texts)
        weights = subject.attend(encoded)
        before = subject.answer(encoded, weights)
    batch, reads, _ = weights.shape
    many = subject.repeat(encoded, torch.arange(batch, device=weights.device).repeat(starts))
    inside = texts.inside.unsqueeze(1)  # [B, 1, T]
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(starts, *weights.shape, generator=generator).to(weights)  # [K, B, N, T]
    logits.requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=rate, amsgrad=True)
    for _ in range(steps):
        found, change = _attacked(subject, many, logits, inside, before)
        apart = divergence(found, weights).mean(2)  # [K, B]
        loss = 500 * (change - 0.01).relu() - apart
        if starts > 1:
            loss = loss - _mutual(found) / (starts * (starts - 1))
        optimizer.zero_grad()
        torch.autograd.backward([loss.sum()], inputs=[logits])
        optimizer.step()
    with torch.no_grad():
        found, change = _attacked(subject, many, logits, inside, before)
        apart = divergence(found, weights).mean(2).masked_fill(change > allowed, 0.0)
        best = apart.argmax(0)  # [B]
        chosen = best, torch.arange(batch, device=best.device)
        return Adversary(apart[chosen], change[chosen], found[chosen].view(batch, reads, -1))


def _attacked(subject: Subject, many: Any, logits: Tensor, inside: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """Weights [K, B, N, T] of logits, and how far they move the answers, [K, B]."""
    found = logits.masked_fill(~inside, -torch.inf).softmax(-1).nan_to_num()
    after = subject.answer(many, found.flatten(0, 1)).unflatten(0, logits.shape[:2])
    return found, variation(after, before)


def _mutual(found: Tensor) -> Tensor:
    """Sum of divergences from each start to the others, [K, B]."""
    return divergence(found.unsqueeze(0), found.unsqueeze(1)).mean(3).sum(0)
