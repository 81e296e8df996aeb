"""Connectionist temporal classification."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.nn import CTC
from regard.ops import Attended, CTCAlignment, ctc_alignment, ctc_attention
from tests.mechanism import assert_close, check_gradients


def random_batch() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Repeats, a short sequence, an empty transcript; what is past the ends is rubbish."""
    log_probs = torch.randn(4, 11, 5).double().log_softmax(-1)
    targets = torch.tensor([[1, 2, 2, 4], [3, 3, -9, 77], [-1, -1, -1, -1], [4, 1, 3, 0]])
    return log_probs, targets, torch.tensor([11, 6, 7, 9]), torch.tensor([4, 2, 0, 3])


def collapse(path: tuple[int, ...], blank: int) -> tuple[list[int], list[int]]:
    """The labels of a path, and for each frame the number of the label it emits (-1 for a blank)."""
    labels: list[int] = []
    emitter: list[int] = []
    for t, symbol in enumerate(path):
        if symbol != blank and (t == 0 or symbol != path[t - 1]):
            labels.append(symbol)
        emitter.append(-1 if symbol == blank else len(labels) - 1)
    return labels, emitter


def enumerate_paths(log_probs: Tensor, target: list[int], blank: int) -> tuple[float, Tensor]:
    """p(y | x) and the posterior [U, T], by all V^T paths."""
    frames, symbols = log_probs.shape
    total, posterior = 0.0, torch.zeros(len(target), frames, dtype=torch.float64)
    for path in itertools.product(range(symbols), repeat=frames):
        labels, emitter = collapse(path, blank)
        if labels != target:
            continue
        probability = math.exp(sum(float(log_probs[t, symbol]) for t, symbol in enumerate(path)))
        total += probability
        for t, label in enumerate(emitter):
            if label >= 0:
                posterior[label, t] += probability
    return total, posterior / total


def test_shapes() -> None:
    log_probs, targets = torch.randn(2, 13, 7).log_softmax(-1), torch.randint(1, 7, (2, 5))
    alignment = ctc_alignment(log_probs, targets)
    assert alignment.log_likelihood.shape == (2,)
    assert alignment.posterior.shape == (2, 5, 13)
    assert alignment.blank.shape == (2, 13)
    assert alignment.occupancy.shape == (2, 13, 7)
    out = ctc_attention(log_probs, torch.randn(2, 13, 3), targets)
    assert out.context.shape == (2, 1, 5, 3)
    assert out.weights().shape == (2, 1, 5, 13)


def test_value_by_hand() -> None:
    """Two frames with p(label) = 0.6 and 0.5: the paths label-label 0.3, label-blank 0.3, blank-label 0.2."""
    log_probs = torch.tensor([[[0.4, 0.6], [0.5, 0.5]]]).log()
    alignment = ctc_alignment(log_probs, torch.tensor([[1]]))
    assert_close(alignment.log_likelihood.exp(), [0.8])
    assert_close(alignment.posterior, [[[0.6 / 0.8, 0.5 / 0.8]]])
    assert_close(alignment.blank, [[0.2 / 0.8, 0.3 / 0.8]])
    out = ctc_attention(log_probs, torch.tensor([[[11.0], [22.0]]]), torch.tensor([[1]]))
    assert_close(out.weights(), [[[[6 / 11, 5 / 11]]]])
    assert_close(out.context, [[[[16.0]]]])


@pytest.mark.parametrize("target", [[1], [2, 1], [1, 1], [1, 2, 1], []], ids=str)
@pytest.mark.parametrize("blank", [0, 2])
def test_equals_the_enumeration_of_all_paths(target: list[int], blank: int) -> None:
    target = [label if label != blank else 0 for label in target]
    log_probs = torch.randn(1, 5, 3).double().log_softmax(-1)
    alignment = ctc_alignment(log_probs, torch.tensor([target], dtype=torch.long), blank=blank)
    total, posterior = enumerate_paths(log_probs[0], target, blank)
    assert_close(alignment.log_likelihood, [math.log(total)])
    assert_close(alignment.posterior[0], posterior)


def test_likelihood_equals_the_fused_loss() -> None:
    batch = random_batch()
    log_probs, targets, *lengths = batch
    loss = F.ctc_loss(log_probs.transpose(0, 1), targets.clamp(0, 4), *lengths, reduction="none")
    assert_close(ctc_alignment(*batch).log_likelihood, -loss)


def test_gradient_is_softmax_minus_occupancy() -> None:
    """The identity that makes this hard attention tractable, against PyTorch's own gradient."""
    _, targets, *lengths = random_batch()
    logits = torch.randn(4, 11, 5).double().requires_grad_()
    loss = F.ctc_loss(logits.log_softmax(-1).transpose(0, 1), targets.clamp(0, 4), *lengths, reduction="none").sum()
    (grad,) = torch.autograd.grad(loss, logits)
    occupancy = ctc_alignment(logits.log_softmax(-1), targets, *lengths).occupancy
    real = (torch.arange(11) < lengths[0][:, None]).unsqueeze(2)
    assert_close(grad, (logits.softmax(-1) - occupancy) * real)


def test_occupancy_is_the_gradient_of_the_likelihood() -> None:
    log_probs, *rest = random_batch()
    alignment = ctc_alignment(log_probs.requires_grad_(), *rest)
    (grad,) = torch.autograd.grad(alignment.log_likelihood.sum(), log_probs)
    assert_close(alignment.occupancy, grad)


def test_posteriors_are_a_distribution_over_what_each_frame_emits() -> None:
    log_probs, targets, input_lengths, target_lengths = random_batch()
    alignment = ctc_alignment(log_probs, targets, input_lengths, target_lengths)
    real = (torch.arange(11) < input_lengths[:, None]).double()
    assert_close(alignment.posterior.sum(1) + alignment.blank, real)
    assert_close(alignment.occupancy.sum(2), real)
    assert_close(alignment.occupancy[..., 0], alignment.blank)
    assert (alignment.posterior[1, 2:] == 0).all()
    assert (alignment.posterior.sum(2)[0] >= 1 - 1e-12).all()  # a label takes at least one frame
    early = torch.arange(11) < torch.arange(4).unsqueeze(1)
    assert (alignment.posterior[0][early] == 0).all()  # and each label before it at least one


def test_padding_is_irrelevant() -> None:
    log_probs, targets, input_lengths, target_lengths = random_batch()
    value = torch.randn(4, 11, 2).double()
    out = ctc_attention(log_probs, value, targets, input_lengths, target_lengths)
    for b in range(4):
        frames, labels = int(input_lengths[b]), int(target_lengths[b])
        alone = ctc_attention(log_probs[b : b + 1, :frames], value[b : b + 1, :frames], targets[b : b + 1, :labels])
        assert_close(out.context[b : b + 1, :, :labels], alone.context)
        assert (out.weights()[b, ..., frames:] == 0).all()
        assert (out.context[b, :, labels:] == 0).all()


def parts(alignment: CTCAlignment) -> tuple[Tensor, ...]:
    return alignment.posterior, alignment.blank, alignment.occupancy


def test_an_impossible_transcript_is_zero_and_sends_nothing_back() -> None:
    """Two equal labels need a blank between them, hence three frames; two frames, none, or a zero probability."""
    log_probs = torch.randn(3, 3, 4).log_softmax(-1)
    log_probs[2, :, 1] = -torch.inf
    log_probs.requires_grad_()
    targets = torch.tensor([[2, 2], [2, 2], [1, 2]])
    alignment = ctc_alignment(log_probs, targets, torch.tensor([2, 0, 3]))
    assert (alignment.log_likelihood == -torch.inf).all()
    assert all((part == 0).all() for part in parts(alignment))
    out = ctc_attention(log_probs, torch.randn(3, 3, 5), targets, torch.tensor([2, 0, 3]))
    assert (out.context == 0).all()
    total = sum(part.sum() for part in parts(alignment)) + alignment.log_likelihood.sum() + out.context.sum()
    (grad,) = torch.autograd.grad(total, log_probs)
    assert (grad == 0).all()


def test_nothing_at_all() -> None:
    """No frames: the empty transcript is certain, any other impossible. No labels: every frame is blank."""
    alignment = ctc_alignment(torch.randn(2, 0, 4), torch.tensor([[1], [1]]), target_lengths=torch.tensor([0, 1]))
    assert alignment.log_likelihood.tolist() == [0.0, -math.inf]
    assert alignment.posterior.shape == (2, 1, 0)
    log_probs = torch.randn(2, 5, 4).log_softmax(-1)
    silent = ctc_alignment(log_probs, torch.zeros(2, 0, dtype=torch.long))
    assert_close(silent.log_likelihood, log_probs[..., 0].sum(1).double(), tolerance=1e-5)
    assert_close(silent.blank, torch.ones(2, 5), tolerance=1e-5)
    assert ctc_attention(log_probs, torch.randn(2, 5, 3), torch.zeros(2, 0, dtype=torch.long)).context.shape[2] == 0


def test_gradients() -> None:
    targets, lengths = torch.tensor([[1, 1], [2, 1]]), (torch.tensor([4, 3]), torch.tensor([2, 1]))

    def read(logits: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        log_probs = logits.log_softmax(-1)
        alignment = ctc_alignment(log_probs, targets, *lengths)
        return (*alignment, ctc_attention(log_probs, value, targets, *lengths).context)

    check_gradients(read, torch.randn(2, 4, 3), torch.randn(2, 4, 2))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_summed_in_float32(dtype: torch.dtype) -> None:
    """A thousand frames: in half precision the sums of their logarithms would keep two or three digits."""
    log_probs, targets = torch.randn(1, 1000, 9).log_softmax(-1).to(dtype), torch.randint(1, 9, (1, 300))
    alignment = ctc_alignment(log_probs, targets)
    exact = ctc_alignment(log_probs.double(), targets)
    assert_close(alignment.log_likelihood, exact.log_likelihood, tolerance=1e-4)
    torch.testing.assert_close(alignment.posterior.double(), exact.posterior, atol=1e-2, rtol=0)


def test_module_computes_the_equation_and_is_seen() -> None:
    ctc, seen = CTC(input_dim=3, num_labels=5), []
    _, targets, *lengths = random_batch()
    frames = torch.randn(4, 11, 3)
    with ctc.watch(seen.append):
        out = ctc(frames, targets, *lengths)
    posterior = ctc.alignment(frames, targets, *lengths).posterior
    weights = posterior / posterior.sum(-1, keepdim=True).clamp(min=1e-9)
    assert_close(out.weights(), weights.double(), tolerance=1e-5)
    assert_close(out.context, (weights @ frames).double(), tolerance=1e-5)
    assert [isinstance(one, Attended) for one in seen] == [True]


def test_module_loss_is_the_mean_of_the_possible() -> None:
    ctc = CTC(input_dim=3, num_labels=5)
    frames, targets = torch.randn(2, 6, 3), torch.tensor([[1, 2], [3, 3]])
    lengths = torch.tensor([6, 2])
    log_likelihood = ctc.alignment(frames, targets, lengths).log_likelihood
    assert log_likelihood[1] == -torch.inf
    assert_close(ctc.loss(frames, targets, lengths), -log_likelihood[0].double() / 2, tolerance=1e-5)
    assert_close(ctc.loss(frames[:1], targets[:1]), -log_likelihood[0].double(), tolerance=1e-5)


def test_greedy_merges_repeats_then_drops_blanks() -> None:
    ctc = CTC(input_dim=4, num_labels=4)
    with torch.no_grad():
        ctc.label_map.weight.copy_(torch.eye(4))
        ctc.label_map.bias.zero_()
    path = torch.tensor([[1, 1, 0, 1, 2, 2, 0], [0, 3, 3, 3, 3, 1, 2], [0, 0, 0, 0, 0, 0, 0]])
    frames = F.one_hot(path, 4).float()
    assert ctc.greedy(frames) == [[1, 1, 2], [3, 1, 2], []]
    assert ctc.greedy(frames, torch.tensor([4, 5, 7])) == [[1, 1], [3], []]


def test_training_finds_the_alignment() -> None:
    """Frames that say their label, transcripts that do not say where: greedy decoding gets them all."""
    ctc = CTC(input_dim=4, num_labels=4)
    path = torch.randint(1, 4, (16, 5)).repeat_interleave(2, dim=1)
    path[:, 1::2] = 0
    targets, frames = path[:, 0::2], F.one_hot(path, 4).float()
    optimiser = torch.optim.Adam(ctc.parameters(), lr=0.1)
    for _ in range(60):
        optimiser.zero_grad()
        ctc.loss(frames, targets).backward()
        optimiser.step()
    assert ctc.greedy(frames) == targets.tolist()
    assert torch.equal(ctc(frames, targets).alignment(), torch.arange(0, 10, 2).expand(16, 5))


def test_bad_shapes_are_named() -> None:
    log_probs, targets = torch.randn(2, 7, 5), torch.ones(2, 3, dtype=torch.long)
    with pytest.raises(ValueError, match=r"ctc: .* share B; got \[2, 7, 5\] and \[1, 3\]"):
        ctc_alignment(log_probs, targets[:1])
    with pytest.raises(ValueError, match=r"ctc: input_lengths must be \[B\] = \[2\]; got \[3\]"):
        ctc_alignment(log_probs, targets, torch.tensor([7, 7, 7]))
    with pytest.raises(ValueError, match=r"ctc: .* share B and T; got \[2, 7, 5\] and \[2, 6, 3\]"):
        ctc_attention(log_probs, torch.randn(2, 6, 3), targets)
    with pytest.raises(ValueError, match="CTC: blank=5 is not one of 5 symbols"):
        CTC(3, 5, blank=5)
