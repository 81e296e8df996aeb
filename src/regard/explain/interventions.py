"""Interventions on attention weights: uniform, permuted, and adversarial weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.explain.agreement import divergence, variation
from regard.explain.subject import StagedSubject, SubjectBatch


def uniform(subject: StagedSubject, texts: SubjectBatch) -> Tensor:
    """Change of the answer, as a total variation distance [B], under uniform weights."""
    with torch.no_grad():
        encoded = subject.encode(texts)
        weights = subject.attend(encoded)
        support = subject.support(texts)
        equal = support / support.sum(2, keepdim=True).clamp(min=1)
        even = subject.answer(encoded, equal.expand_as(weights).to(weights.dtype))
        return variation(subject.answer(encoded, weights), even)


def permuted(subject: StagedSubject, texts: SubjectBatch, *, draws: int = 100, seed: int = 0) -> Tensor:
    """Median change of the answer [B], as a total variation distance, over random permutations of the weights.

    Jain & Wallace 2019, algorithm 2.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        encoded = subject.encode(texts)
        weights = subject.attend(encoded)
        before = subject.answer(encoded, weights)
        outside = ~subject.support(texts).expand_as(weights)
        places = outside.long().sort(dim=2, stable=True).indices  # [B, N, T], units first, in their order
        changes = []
        for _ in range(draws):
            noise = torch.rand(texts.inside.shape, generator=generator).to(weights.device).unsqueeze(1)
            order = noise.masked_fill(outside, torch.inf).argsort(dim=2)  # units first, in a random order
            # Position `places[i]` receives the weight of unit `order[i]`; padding keeps weight 0.
            shuffled = torch.zeros_like(weights).scatter_(2, places, weights.gather(2, order))  # [B, N, T]
            changes.append(variation(subject.answer(encoded, shuffled), before))
    return torch.stack(changes).median(0).values  # [draws, B] -> [B]


class Adversary(NamedTuple):
    """Adversarial weights: as different as possible with nearly the same answer.

    Attributes:
        distance: [B], Jensen-Shannon divergence from the model's own weights in nats, at most ln 2 = 0.693; 0 if
            none were found.
        change: [B], total variation distance of the answer with them.
        weights: [B, N, T].
    """

    distance: Tensor
    change: Tensor
    weights: Tensor


def adversary(
    subject: StagedSubject,
    texts: SubjectBatch,
    *,
    starts: int = 5,
    steps: int = 500,
    rate: float = 0.01,
    allowed: float = 0.05,
    seed: int = 0,
) -> Adversary:
    r"""Search for weights that differ maximally from the model's own with nearly the same answer.

    .. math:: \max_{a^{(1)} \dots a^{(k)}} \sum_i \mathrm{JSD}(a, a^{(i)}) + \frac{1}{k (k - 1)} \sum_{i < j}
              \mathrm{JSD}(a^{(i)}, a^{(j)}) \quad \text{with} \quad \mathrm{TVD}(y, y^{(i)}) \le \epsilon

    Optimises the logits of k starts by Adam with AMSGrad. A change above 0.01 has a penalty of 500, as in the authors'
    code.

    Args:
        subject: the model.
        texts: B texts.
        starts: k, distributions that are optimised in parallel, each initialised at random.
        steps: updates.
        rate: learning rate.
        allowed: ε, largest tolerated change of the answer.
        seed: seed of the starts.

    Jain & Wallace 2019, section 4.2.2, algorithm 3.
    """
    with torch.no_grad():
        encoded = subject.encode(texts)
        weights = subject.attend(encoded)
        before = subject.answer(encoded, weights)
    batch, reads, _ = weights.shape
    inside = subject.support(texts)  # [B, N, T] or [B, 1, T]
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(starts, *weights.shape, generator=generator).to(weights)  # [K, B, N, T]
    logits.requires_grad_()
    updates = _AMSGrad(logits, rate)
    for _ in range(steps):
        found, change = _attacked(subject, encoded, logits, inside, before)
        loss = 500 * (change - 0.01).relu() - _distances(found, weights)
        updates.step(torch.autograd.grad(loss.sum(), logits)[0])
    with torch.no_grad():
        found, change = _attacked(subject, encoded, logits, inside, before)
        # Starts that changed the answer too much count as not found.
        apart = divergence(found, weights).mean(2).masked_fill(change > allowed, 0.0)  # [K, B]
        best = apart.argmax(0)  # [B]
        chosen = best, torch.arange(batch, device=best.device)
        return Adversary(apart[chosen], change[chosen], found[chosen].view(batch, reads, -1))


class _AMSGrad:
    """Adam with the largest second moment so far (Reddi et al. 2018), for one tensor.

    Equivalent to `torch.optim.Adam`, which would import the compiler stack first.
    """

    def __init__(self, values: Tensor, rate: float) -> None:
        self.values, self.rate, self.count = values, rate, 0
        self.first, self.second, self.largest = (torch.zeros_like(values, requires_grad=False) for _ in range(3))

    @torch.no_grad()
    def step(self, slope: Tensor, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8) -> None:
        """Update the values by a gradient."""
        self.count += 1
        self.first.lerp_(slope, 1 - betas[0])
        self.second.mul_(betas[1]).addcmul_(slope, slope, value=1 - betas[1])
        torch.maximum(self.largest, self.second, out=self.largest)
        spread = (self.largest / (1 - betas[1] ** self.count)).sqrt_().add_(epsilon)
        self.values.addcdiv_(self.first, spread, value=-self.rate / (1 - betas[0] ** self.count))


def _distances(found: Tensor, weights: Tensor) -> Tensor:
    """Return the divergences of weights [K, B, N, T] from those of the model and from each other, [K, B].

    Uses JSD(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2, so that each entropy is computed only once.
    """
    own, starts = _entropy(found), len(found)
    apart = _entropy((found + weights) / 2) - (own + _entropy(weights)) / 2  # [K, B]
    if starts < 2:
        return apart
    one, other = torch.triu_indices(starts, starts, 1)
    mutual = _entropy((found[one] + found[other]) / 2) - (own[one] + own[other]) / 2  # [K (K - 1) / 2, B]
    # Each pair contributes to both of its starts, so the sum over starts is twice the sum over pairs.
    return apart + 2 * mutual.sum(0, keepdim=True) / (starts * starts * (starts - 1))


def _entropy(weights: Tensor) -> Tensor:
    """Entropy of weights [..., N, T] in nats, averaged over N reads."""
    # The clamp keeps the gradient finite: the derivative of entr at 0 is infinite.
    entropy: Tensor = torch.special.entr(weights.clamp(min=1e-30)).sum(-1).mean(-1)
    return entropy


def _attacked(
    subject: StagedSubject, encoded: Any, logits: Tensor, inside: Tensor, before: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the weights [K, B, N, T] of logits, and the change of the answers, [K, B]."""
    found = logits.masked_fill(~inside, -torch.inf).softmax(-1).nan_to_num()  # fully masked rows: NaN -> 0
    after = subject.answers(encoded, found)
    return found, variation(after, before)
