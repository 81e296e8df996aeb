"""Connectionist temporal classification (Graves et al. 2006) as hard attention with a tractable gradient."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.cuda_capture import is_recording
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.ctc.captured import LOG_ZERO, CapturedCTC, interleaved
from regard.ops.softmax import statistics_dtype, weigh_values

CARD = Card(
    name="ctc",
    family="aligner",
    equation="p(y | x) = Σ over paths π that collapse to y of Π_t p(π_t | x)",
    paper="Graves, Fernández, Gomez & Schmidhuber 2006, eq. 3-16",
    cost="T·(2U + 1), twice",
    op="ctc_alignment",
    module="CTC",
)


class CTCAlignment(NamedTuple):
    """Posterior distribution over all alignments of a transcript with its frames.

    Attributes:
        log_likelihood: [B], log p(y | x); -inf if there are too few frames for the transcript.
        posterior: [B, U, T], probability given the transcript that frame t emits its label number u.
        blank: [B, T], probability that frame t emits a blank. Together with all labels it sums to 1 at true frames.
        occupancy: [B, T, V], probability that frame t emits symbol v, including the blank: γ of forward-backward.

    Posteriors of an impossible transcript, of padded frames and of padded labels are zero.
    """

    log_likelihood: Tensor
    posterior: Tensor
    blank: Tensor
    occupancy: Tensor


def ctc_alignment(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | None = None,
    target_lengths: Tensor | None = None,
    *,
    blank: int = 0,
) -> CTCAlignment:
    r"""Compute the posterior alignment of a transcript with frames by the forward-backward algorithm.

    .. math:: p(y \mid x) = \sum_{\pi : \mathrm{collapse}(\pi) = y} \prod_t p(\pi_t \mid x), \quad
              \gamma_t(u) = p(\pi_t\ \text{is label}\ u \mid x, y) = \frac{\alpha_t(u) \beta_t(u)}{p(y \mid x)}

    A path π selects one label in every frame: hard attention. The number of *states* (labels and the blanks between
    them) is small, so the sum over all paths is exact and needs no sampling. The gradient is exact too:
    d log p / d log_probs is the occupancy, and d(-log p) / d logits = softmax - occupancy.

    Args:
        log_probs: [B, T, V], log p(symbol v in frame t), normalised (`log_softmax`).
        targets: [B, U] labels without blanks; entries past a transcript's length are ignored.
        input_lengths: [B], true frames; None for T.
        target_lengths: [B], true labels, 0 allowed; None for U.
        blank: which symbol is the blank.

    Returns:
        CTCAlignment, in float32 for half-precision inputs. Every part is differentiable.

    Raises:
        ValueError: shapes that do not fit.

    Graves, Fernández, Gomez & Schmidhuber 2006, "Connectionist Temporal Classification", equations 3 to 16. Unlike
    there β_t does not include the emission of frame t, so that α β need not be divided by it.

    >>> alignment = ctc_alignment(torch.full((1, 2, 2), 0.5).log(), torch.tensor([[1]]))
    >>> alignment.log_likelihood.exp()                # 1 1, 1 -, - 1: three paths of the four
    tensor([0.7500])
    >>> alignment.posterior
    tensor([[[0.6667, 0.6667]]])
    """
    input_lengths, target_lengths = ctc_lengths(log_probs, targets, input_lengths, target_lengths, blank=blank)
    frames = log_probs.shape[1]
    emission = log_probs.to(statistics_dtype(log_probs.dtype)).clamp(min=LOG_ZERO)
    symbols = interleaved(targets, target_lengths, blank)
    emitted = emission.gather(2, symbols.unsqueeze(1).expand(-1, frames, -1))  # [b, t, states]
    real = torch.arange(frames, device=log_probs.device) < input_lengths.unsqueeze(1)  # [b, t]
    joint, log_likelihood = _forward_backward(emitted, real, symbols, target_lengths, blank)
    possible = log_likelihood > 0.5 * LOG_ZERO
    level = log_likelihood.masked_fill(~possible, 0.0)[:, None, None]
    state = (joint - level).exp().masked_fill(~real.unsqueeze(2), 0.0)
    return CTCAlignment(
        log_likelihood.masked_fill(~possible, -torch.inf),
        state[..., 1::2].mT,
        state[..., 0::2].sum(-1),
        torch.zeros_like(emission).scatter_add(2, symbols.unsqueeze(1).expand_as(state), state),
    )


def ctc_attention(
    log_probs: Tensor,
    value: Tensor,
    targets: Tensor,
    input_lengths: Tensor | None = None,
    target_lengths: Tensor | None = None,
    *,
    blank: int = 0,
) -> Attended:
    r"""Attention of each label to the frames that emit it, with weights from the posterior alignment.

    .. math:: a_{ut} = \frac{\gamma_t(u)}{\sum_{t'} \gamma_{t'}(u)}, \quad c_u = \sum_t a_{ut}\, \mathrm{value}_t

    Args:
        log_probs: [B, T, V]; this and the other arguments are as in `ctc_alignment`.
        value: [B, T, Dv].
        targets: [B, U].
        input_lengths: [B] or None.
        target_lengths: [B] or None.
        blank: which symbol is the blank.

    Returns:
        Attended with context [B, 1, U, Dv] and weights [B, 1, U, T]; zero for padded labels and for transcripts that
        the frames are too few for.

    >>> frames = torch.tensor([[[1.0], [3.0]]])
    >>> ctc_attention(torch.full((1, 2, 2), 0.5).log(), frames, torch.tensor([[1]])).context
    tensor([[[[2.]]]])
    """
    if value.dim() != 3 or value.shape[:2] != log_probs.shape[:2]:
        raise ValueError(
            "ctc: log_probs [B, T, V] and value [B, T, Dv] must share B and T; "
            f"got {list(log_probs.shape)} and {list(value.shape)}"
        )
    posterior = ctc_alignment(log_probs, targets, input_lengths, target_lengths, blank=blank).posterior.unsqueeze(1)
    total = posterior.sum(-1, keepdim=True)  # at least 1 where the label is real: it takes at least one frame
    weights = posterior / total.masked_fill(total == 0, 1.0)
    return Attended.from_weights(weigh_values(weights, value.unsqueeze(1)), weights)


def _forward_backward(
    emitted: Tensor, real: Tensor, symbols: Tensor, target_lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """log p(path passes each state at each frame, y), [B, T, 2U + 1], and log p(y), [B]."""
    before = _shift(symbols, 2, blank)
    leap = torch.where((symbols != blank) & (symbols != before), 0.0, LOG_ZERO).to(emitted.dtype)
    position = torch.arange(symbols.shape[1], device=symbols.device)
    last = 2 * target_lengths.unsqueeze(1)
    ends = (position == last) | (position == last - 1)
    # Before the first frame a path is in the first blank without having emitted it, so that both the blank and the
    # first label can come next.
    alpha = torch.where(position == 0, 0.0, LOG_ZERO).to(emitted.dtype).expand_as(ends)
    beta = torch.where(ends, 0.0, LOG_ZERO).to(emitted.dtype)
    alphas, betas = [alpha], [beta]
    for t in range(emitted.shape[1]):
        reached = _either(alpha, _shift(alpha, 1), _shift(alpha, 2) + leap) + emitted[:, t]
        alpha = torch.where(real[:, t, None], reached, alpha)
        alphas.append(alpha)
    for t in reversed(range(emitted.shape[1])):
        ahead = beta + emitted[:, t]
        following = _either(ahead, _shift(ahead, -1), _shift(ahead + leap, -2))
        beta = torch.where(real[:, t, None], following, beta)
        betas.append(beta)
    joint = torch.stack(alphas, 1) + torch.stack(betas[::-1], 1)  # before the first frame, then after each
    return joint[:, 1:], joint[:, -1].logsumexp(1)


def _shift(row: Tensor, by: int, fill: float = LOG_ZERO) -> Tensor:
    """Shift each row to the right by `by` positions (to the left if negative), filling with `fill`."""
    width = row.shape[1]
    if by > 0:
        return F.pad(row, (by, 0), value=fill)[:, :width]
    return F.pad(row, (0, -by), value=fill)[:, -by:]


def _either(*parts: Tensor) -> Tensor:
    """Compute the elementwise log-sum-exp of several tensors."""
    return torch.stack(parts).logsumexp(0)


def ctc_lengths(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor | None, target_lengths: Tensor | None, *, blank: int
) -> tuple[Tensor, Tensor]:
    """Return the true lengths of frames and transcripts, [B] each, after checking all arguments.

    An index beyond the vocabulary would read out of bounds, so the symbols of transcripts are checked too.

    >>> ctc_lengths(torch.zeros(1, 4, 3), torch.tensor([[1, 3]]), None, None, blank=0)
    Traceback (most recent call last):
    ValueError: ctc: sequence 0 has the symbol 3 at position 1; there are 3 symbols, 0 to 2, and 0 is the blank
    """
    if log_probs.dim() != 3 or targets.dim() != 2 or targets.shape[0] != log_probs.shape[0]:
        raise ValueError(
            "ctc: log_probs [B, T, V] and targets [B, U] must share B; "
            f"got {list(log_probs.shape)} and {list(targets.shape)}"
        )
    batch, frames, symbols = log_probs.shape
    of_frames = _lengths("input", input_lengths, batch, frames, log_probs.device)
    of_targets = _lengths("target", target_lengths, batch, targets.shape[1], log_probs.device)
    labels = targets.to(log_probs.device)
    there = torch.arange(targets.shape[1], device=log_probs.device) < of_targets.unsqueeze(1)
    outside = there & ((labels < 0) | (labels >= symbols) | (labels == blank))
    if is_recording():  # values on the device are checked where a compiled program can, and not in a CUDA graph
        if torch.compiler.is_compiling():
            torch._assert_async(~outside.any(), f"ctc: a symbol is the blank, {blank}, or not one of {symbols}")
        return of_frames, of_targets
    wrong = outside.nonzero()
    if len(wrong):
        row, position = wrong[0].tolist()
        raise ValueError(
            f"ctc: sequence {row} has the symbol {int(labels[row, position])} at position {position}; "
            f"there are {symbols} symbols, 0 to {symbols - 1}, and {blank} is the blank"
        )
    return of_frames, of_targets


def _lengths(name: str, lengths: Tensor | None, batch: int, longest: int, device: torch.device) -> Tensor:
    if lengths is None:
        return torch.full((batch,), longest, device=device)
    if lengths.shape != (batch,):
        raise ValueError(f"ctc: {name}_lengths must be [B] = [{batch}]; got {list(lengths.shape)}")
    if is_recording():
        if torch.compiler.is_compiling():
            fits = ((lengths >= 0) & (lengths <= longest)).all()
            torch._assert_async(fits, f"ctc: {name}_lengths lie between 0 and the longest")
    elif batch and not 0 <= int(lengths.min()) <= int(lengths.max()) <= longest:
        raise ValueError(f"ctc: {name}_lengths must lie between 0 and {longest}; got {lengths.tolist()}")
    return lengths.to(device)


def ctc_losses(log_probs: Tensor, targets: Tensor, frames: Tensor, labels: Tensor, *, blank: int) -> Tensor:
    """-log p(y | x) of each sequence, [B]; 0 for transcripts that the frames are too few for.

    Args:
        log_probs: [B, T, V], in float32 or float64.
        targets: [B, U].
        frames: [B], true frames.
        labels: [B], true labels.
        blank: which symbol is the blank.

    >>> one = torch.ones(1, dtype=torch.long)
    >>> ctc_losses(torch.full((1, 2, 2), 0.5).log(), one[None], 2 * one, one, blank=0).neg().exp()
    tensor([0.7500])
    """
    if torch.compiler.is_compiling():
        losses: Tensor = _loss_and_slope(log_probs, targets, frames, labels, blank)[0]
        return losses
    if is_recording():
        captured: Tensor = CapturedCTC.apply(log_probs, targets, frames, labels, blank)  # type: ignore[no-untyped-call]
        return captured
    by_frame = log_probs.transpose(0, 1)  # [T, B, V]
    return F.ctc_loss(by_frame, targets, frames, labels, blank=blank, reduction="none", zero_infinity=True)


@torch.library.custom_op("regard::ctc_loss_and_slope", mutates_args=())
def _loss_and_slope(
    log_probs: Tensor, targets: Tensor, frames: Tensor, labels: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """Compute losses [B] and their gradients [B, T, V], as one operation that is opaque to the compiler.

    The compiler cannot trace it: the shape of the kernel's saved tensor depends on the longest transcript.
    """
    aten = torch.ops.aten
    given = (log_probs.transpose(0, 1), targets, frames, labels)  # [T, B, V] first
    losses, paths = aten._ctc_loss(*given, blank, True)
    # A loss depends on its own sequence alone, so the gradient of the sum contains the gradient of each loss.
    slope = aten._ctc_loss_backward(torch.ones_like(losses), *given, losses, paths, blank, True)
    return losses.masked_fill(losses.isinf(), 0.0), slope.transpose(0, 1).contiguous()  # [B], [B, T, V]


@_loss_and_slope.register_fake
def _(log_probs: Tensor, targets: Tensor, frames: Tensor, labels: Tensor, blank: int) -> tuple[Tensor, Tensor]:
    return log_probs.new_empty(log_probs.shape[0]), log_probs.new_empty(log_probs.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1])


def _backward(ctx: Any, grad_losses: Tensor, grad_slope: Tensor) -> tuple[Tensor | None, ...]:
    (slope,) = ctx.saved_tensors
    return slope * grad_losses[:, None, None], None, None, None, None


_loss_and_slope.register_autograd(_backward, setup_context=_keep)
