"""Importance measures of input units: gradients, integrated gradients, leave-one-out, attention, random control."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from regard.explain.subject import Subject, SubjectBatch, replace_embeddings

STEPS = 10
"""Quadrature points between the zero vector and the embeddings, for integrated gradients."""
_TOGETHER = 512  # perturbed texts per batch


def answers(subject: Subject, texts: SubjectBatch) -> Tensor:
    """Return the most probable answer of each text, [B]."""
    with torch.no_grad():
        return subject.probabilities(texts).argmax(1)


def gradient(subject: Subject, texts: SubjectBatch, *, detach: bool = True) -> Tensor:
    """Norm of the gradient of the answer's probability with respect to each embedding, [B, T]: ‖∂p/∂x_t‖.

    Args:
        subject: the model.
        texts: B texts.
        detach: treat the attention weights of a staged model as constants, as Jain & Wallace 2019 do; otherwise the
            gradient also flows through them, and agrees with them more.
    """
    parts = [slopes.square().sum(-1) for _, slopes in _slopes(subject, texts, detach=detach)]
    return _folded(subject, texts, parts).sqrt()


def input_gradient(subject: Subject, texts: SubjectBatch, *, detach: bool = True) -> Tensor:
    r"""Input times gradient, the measure of Jain & Wallace 2019: |Σ_d ∂p/∂x_td · x_td|, [B, T].

    Equals the gradient with respect to the one-hot vector of the word. Arguments as in `gradient`.
    """
    parts = [(vectors * slopes).sum(-1) for vectors, slopes in _slopes(subject, texts, detach=detach)]
    return _folded(subject, texts, parts).abs()


def integrated_gradients(subject: Subject, texts: SubjectBatch, *, steps: int = STEPS) -> Tensor:
    r"""Integrated gradients from zero vectors, [B, T].

    .. math:: \Bigl|\sum_d x_{td} \int_0^1 \frac{\partial p(\alpha x)}{\partial x_{td}} d\alpha\Bigr|

    Gauss-Legendre quadrature with `steps` points, exact for polynomials of degree below 2 · `steps`. Without the
    absolute value the sum over units is p(x) - p(0).

    Sundararajan, Taly & Yan 2017, equation 1.
    """
    return _integrated(subject, texts, steps).abs()


def leave_one_out(subject: Subject, texts: SubjectBatch) -> Tensor:
    """Mean change of the probabilities when a unit is deleted, [B, T]; later units shift left."""
    batch, size = texts.inside.shape
    with torch.no_grad():
        before = subject.probabilities(texts)
        rows, words = texts.inside.nonzero(as_tuple=True)
        changes = before.new_zeros(batch, size)
        for some, left in zip(rows.split(_TOGETHER), words.split(_TOGETHER), strict=True):
            others = torch.arange(size, device=left.device) != left.unsqueeze(1)
            after = subject.probabilities(texts.rows(some).keep(others).shortened())
            changes[some, left] = (after - before[some]).abs().mean(1)
    return changes


def attention(subject: Subject, texts: SubjectBatch) -> Tensor:
    """Attention weights, [B, T], averaged over several reads of a text."""
    with torch.no_grad():
        return subject.weights(texts)


def chance(subject: Subject, texts: SubjectBatch, *, seed: int = 0) -> Tensor:
    """Random scores, [B, T]: the control for all other measures."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(texts.inside.shape, generator=generator).to(texts.ids.device)


MEASURES = {
    "attention": attention,
    "gradient": gradient,
    "input x gradient": input_gradient,
    "integrated gradients": integrated_gradients,
    "leave-one-out": leave_one_out,
    "random": chance,
}
"""Measures by their name in reports."""


def _integrated(subject: Subject, texts: SubjectBatch, steps: int) -> Tensor:
    """Signed integrated gradients, [B, T]."""
    chosen = answers(subject, texts)
    points, shares = np.polynomial.legendre.leggauss(steps)  # on [-1, 1]
    parts = []
    for point, share in zip(points.tolist(), shares.tolist(), strict=True):
        found = _slopes(subject, texts, detach=False, scale=(1 + point) / 2, chosen=chosen)
        parts.append(share / 2 * _folded(subject, texts, [(vectors * slopes).sum(-1) for vectors, slopes in found]))
    return torch.stack(parts).sum(0)


def _slopes(
    subject: Subject, texts: SubjectBatch, *, detach: bool, scale: float = 1.0, chosen: Tensor | None = None
) -> list[tuple[Tensor, Tensor]]:
    """Return the output of each embedding module, and the gradient of the probability at `scale` times it.

    Embedding modules that the forward pass does not call are skipped.
    """
    chosen = answers(subject, texts) if chosen is None else chosen
    seen: list[tuple[Tensor, Tensor]] = []

    def change(vectors: Tensor) -> Tensor:
        # A new leaf per module: the gradient stops here instead of reaching the embedding table.
        put = (scale * vectors.detach()).requires_grad_()
        seen.append((vectors.detach(), put))
        return put

    # cuDNN's recurrent layers have no backward pass in evaluation mode.
    cudnn = torch.backends.cudnn.flags(enabled=False)
    with cudnn, torch.enable_grad(), replace_embeddings(subject.embeddings, change):
        found = subject.probabilities(texts, detach=detach)
    # Texts are independent, so one backward pass over the sum gives the gradient of each.
    total = found.gather(1, chosen.unsqueeze(1)).sum()
    # With detached weights, vectors used only for scores (such as memory keys) have no gradient.
    slopes = torch.autograd.grad(total, [put for _, put in seen], materialize_grads=True)
    return [(vectors, slope) for (vectors, _), slope in zip(seen, slopes, strict=True)]


def _folded(subject: Subject, texts: SubjectBatch, parts: list[Tensor]) -> Tensor:
    """Sum values per vector over all embedding modules, by unit [B, T]; 0 for units without a vector."""
    total = torch.stack([subject.fold(texts, part) for part in parts]).sum(0)  # [modules, B, T] -> [B, T]
    return total.masked_fill(~texts.inside, 0.0)
