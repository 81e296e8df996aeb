"""Importance of each word for an answer: by gradients, by leaving the word out, or at random as a control."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.explain.subject import Subject, SubjectBatch, replace_embeddings

STEPS = 32
"""Points between the zero vector and the embeddings, for integrated gradients."""
_TOGETHER = 512  # changed texts in a batch


def answers(subject: Subject, texts: SubjectBatch) -> Tensor:
    """The likeliest answer of each text, [B]."""
    with torch.no_grad():
        return subject.probabilities(texts).argmax(1)


def gradient(subject: Subject, texts: SubjectBatch, *, detach: bool = True) -> Tensor:
    """Length of the gradient of the answer's probability by each embedding, [B, T]: ‖∂p/∂x_t‖.

    Args:
        subject: the model.
        texts: B texts.
        detach: hold the attention weights fixed, as Jain & Wallace 2019 do; otherwise the gradient also flows through
            them, and agrees with them more.
    """
    _, slopes = _slopes(subject, texts, detach=detach)
    return slopes.square().sum(2).sqrt()


def input_gradient(subject: Subject, texts: SubjectBatch, *, detach: bool = True) -> Tensor:
    r"""Input times gradient, the measure of Jain & Wallace 2019: |Σ_d ∂p/∂x_td · x_td|, [B, T].

    It is the gradient by the one-hot vector of the word. Arguments as in `gradient`.
    """
    embeddings, slopes = _slopes(subject, texts, detach=detach)
    return (embeddings * slopes).sum(2).abs()


def integrated_gradients(subject: Subject, texts: SubjectBatch, *, steps: int = STEPS) -> Tensor:
    r"""Integrated gradients from zero vectors, [B, T].

    .. math:: \Bigl|\sum_d x_{td} \int_0^1 \frac{\partial p(\alpha x)}{\partial x_{td}} d\alpha\Bigr|

    The midpoint rule with `steps` points. Without the absolute value the sum over words is p(x) - p(0).

    Sundararajan, Taly & Yan 2017, equation 1.
    """
    return _integrated(subject, texts, steps).abs()


def leave_one_out(subject: Subject, texts: SubjectBatch) -> Tensor:
    """Mean change of the probabilities when a word is deleted, [B, T]; the words behind it move up."""
    batch, size = texts.ids.shape
    with torch.no_grad():
        before = subject.probabilities(texts)
        rows, words = texts.inside.nonzero(as_tuple=True)
        changes = before.new_zeros(batch, size)
        for some, left in zip(rows.split(_TOGETHER), words.split(_TOGETHER), strict=True):
            others = torch.arange(size, device=left.device) != left.unsqueeze(1)
            after = subject.probabilities(texts.rows(some).keep(others))
            changes[some, left] = (after - before[some]).abs().mean(1)
    return changes


def attention(subject: Subject, texts: SubjectBatch) -> Tensor:
    """Attention weights, [B, T]; the mean where a text is read several times."""
    with torch.no_grad():
        return subject.weights(texts)


def chance(subject: Subject, texts: SubjectBatch, *, seed: int = 0) -> Tensor:
    """Random numbers, [B, T]: the control that every other measure is held against."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(texts.ids.shape, generator=generator).to(texts.ids.device)


MEASURES = {
    "attention": attention,
    "gradient": gradient,
    "input x gradient": input_gradient,
    "integrated gradients": integrated_gradients,
    "leave-one-out": leave_one_out,
    "random": chance,
}
"""Measures by name, as reports call them."""


def _integrated(subject: Subject, texts: SubjectBatch, steps: int) -> Tensor:
    """The same with its sign."""
    chosen = answers(subject, texts)
    total: Tensor | None = None
    for step in range(steps):
        embeddings, slopes = _slopes(subject, texts, detach=False, scale=(step + 0.5) / steps, chosen=chosen)
        part = (embeddings * slopes).sum(2) / steps
        total = part if total is None else total + part
    assert total is not None
    return total


def _slopes(
    subject: Subject, texts: SubjectBatch, *, detach: bool, scale: float = 1.0, chosen: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Embeddings [B, T, C], and the gradients of the probability of the chosen answer at `scale` times them."""
    chosen = answers(subject, texts) if chosen is None else chosen
    seen: list[tuple[Tensor, Tensor]] = []

    def change(embeddings: Tensor) -> Tensor:
        put = (scale * embeddings.detach()).requires_grad_()
        seen.append((embeddings.detach(), put))
        return put

    cudnn = torch.backends.cudnn.flags(enabled=False)  # whose recurrent layers have no gradient in evaluation mode
    with cudnn, torch.enable_grad(), replace_embeddings(subject.embedding, change):
        encoded = subject.encode(texts)
        weights = subject.attend(encoded)
        found = subject.answer(encoded, weights.detach() if detach else weights)
    ((embeddings, put),) = seen
    (slopes,) = torch.autograd.grad(found.gather(1, chosen.unsqueeze(1)).sum(), put)
    return embeddings, slopes.masked_fill(~texts.inside.unsqueeze(2), 0.0)
