"""The pointer sentinel mixture."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.nn import PointerSentinel
from regard.ops import Attended, pointer_sentinel
from tests.mechanism import assert_close, check_gradients


def random_vocabulary(*shape: int) -> Tensor:
    return torch.randn(shape).log_softmax(-1)


def test_shapes() -> None:
    ids = torch.randint(13, (2, 7))
    out = pointer_sentinel(torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(5), ids, random_vocabulary(2, 3, 13))
    assert out.log_probs.shape == (2, 3, 13)
    assert out.gate.shape == (2, 3)
    assert out.attended.weights().shape == (2, 3, 7)
    assert out.attended.context.shape == (2, 3, 13)


def test_value_by_hand() -> None:
    """Energies log 2, 0, 0 and a sentinel of log 4: eighths 2, 1, 1 and 4. Words 0, 1, 0; an even vocabulary of 4."""
    key = torch.tensor([[[2.0, 0.0], [1.0, 0.0], [1.0, 0.0]]]).log()
    key[..., 1] = 0.0
    sentinel, ids = torch.tensor([4.0, 1.0]).log(), torch.tensor([[0, 1, 0]])
    out = pointer_sentinel(torch.tensor([[[1.0, 0.0]]]), key, sentinel, ids, torch.full((1, 1, 4), 0.25).log())
    assert_close(out.attended.weights(), [[[2 / 8, 1 / 8, 1 / 8]]])
    assert_close(out.gate, [[1 / 2]])
    assert_close(out.attended.context, [[[3 / 8, 1 / 8, 0.0, 0.0]]])
    assert_close(out.log_probs.exp(), [[[4 / 8, 2 / 8, 1 / 8, 1 / 8]]])


def test_mask() -> None:
    query, key, sentinel = torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(5)
    ids, vocabulary = torch.randint(11, (2, 7)), random_vocabulary(2, 3, 11)
    out = pointer_sentinel(query, key, sentinel, ids, vocabulary, Mask.padding([4, 0]))
    assert (out.attended.weights()[0, :, 4:] == 0).all()
    shorter = pointer_sentinel(query[:1], key[:1, :4], sentinel, ids[:1, :4], vocabulary[:1])
    assert_close(out.log_probs[:1], shorter.log_probs.double())
    assert_close(out.gate[:1], shorter.gate.double())


def test_with_nothing_to_point_at_it_is_the_vocabulary() -> None:
    query, key, sentinel = torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(5)
    ids, vocabulary = torch.randint(11, (2, 7)), random_vocabulary(2, 3, 11)
    masked = pointer_sentinel(query, key, sentinel, ids, vocabulary, Mask.padding([0, 0]))
    empty = pointer_sentinel(query, key[:, :0], sentinel, ids[:, :0], vocabulary)
    for out in (masked, empty):
        assert torch.equal(out.log_probs, vocabulary)
        assert (out.gate == 1).all()
        assert (out.attended.context == 0).all()


def test_gradients() -> None:
    ids, mask = torch.tensor([[0, 2, 0, 1], [1, 1, 1, 1]]), Mask.padding([4, 3]) & Mask.window(2)

    def read(query, key, sentinel, vocabulary):  # type: ignore[no-untyped-def]
        out = pointer_sentinel(query, key, sentinel, ids, vocabulary.log_softmax(-1), mask)
        return out.log_probs, out.gate, out.attended.context

    check_gradients(read, torch.randn(2, 3, 2), torch.randn(2, 4, 2), torch.randn(2), torch.randn(2, 3, 5))


def test_it_is_a_distribution_over_the_vocabulary() -> None:
    out = pointer_sentinel(
        torch.randn(3, 11, 5),
        torch.randn(3, 11, 5),
        torch.randn(5),
        torch.randint(7, (3, 11)),
        random_vocabulary(3, 11, 7),
        Mask.padding([11, 0, 4]) & Mask.window(3),
    )
    assert_close(out.log_probs.exp().sum(-1), torch.ones(3, 11))
    assert_close(out.attended.weights().sum(-1) + out.gate, torch.ones(3, 11))


def test_it_equals_the_mixture_written_out() -> None:
    """g p_vocab + (1 - g) p_ptr, with the paper's normalised pointer, word by word."""
    query, key, sentinel = torch.randn(1, 1, 5).double(), torch.randn(1, 7, 5).double(), torch.randn(5).double()
    ids, vocabulary = torch.tensor([[3, 1, 3, 0, 1, 3, 5]]), random_vocabulary(1, 1, 6).double()
    energies = torch.cat((key[0] @ query[0, 0], (sentinel @ query[0, 0])[None]))
    *weights, gate = energies.softmax(0).tolist()
    for word in range(6):
        pointer = sum(a for a, held in zip(weights, ids[0].tolist(), strict=True) if held == word) / (1 - gate)
        expected = gate * vocabulary[0, 0, word].exp().item() + (1 - gate) * pointer
        out = pointer_sentinel(query, key, sentinel, ids, vocabulary)
        assert_close(out.log_probs[0, 0, word].exp(), expected, tolerance=1e-12)


def test_hopeless_words_keep_finite_log_probabilities_and_gradients() -> None:
    """Energies 0 and 300, a sentinel of -300: in float32 the first weight and the gate are 0, their logarithms are not.

    Word 0 is pointed at with e^-300, word 1 with 1, word 2 comes from the vocabulary with e^-600 / 4, and word 3 has
    been ruled out altogether.
    """
    query = torch.ones(1, 1, 1, requires_grad=True)
    key, sentinel, ids = torch.tensor([[[0.0], [300.0]]]), torch.tensor([-300.0]), torch.tensor([[0, 1]])
    vocabulary = torch.tensor([[[0.25, 0.25, 0.25, 0.0]]]).log()
    out = pointer_sentinel(query, key, sentinel, ids, vocabulary)
    assert_close(out.log_probs[0, 0, :3], [-300.0, 0.0, -601.3862943611199])
    assert out.log_probs[0, 0, 3] == -torch.inf
    (grad,) = torch.autograd.grad(out.log_probs[0, 0, 0], query)
    assert_close(grad, [[[-300.0]]])  # d (0 q - 300 q) / d q


def test_each_state_of_a_language_model_sees_its_own_window() -> None:
    """All states at once with a window equal one state at a time with the last L words."""
    pointer = PointerSentinel(dim=5)
    hidden, ids, vocabulary = torch.randn(2, 11, 5), torch.randint(7, (2, 11)), random_vocabulary(2, 11, 7)
    out = pointer(hidden, hidden, ids, vocabulary, Mask.window(4))
    for t in range(11):
        past = slice(max(0, t - 3), t + 1)
        step = pointer(hidden[:, t : t + 1], hidden[:, past], ids[:, past], vocabulary[:, t : t + 1])
        assert_close(out.log_probs[:, t : t + 1], step.log_probs.double(), tolerance=1e-5)


def test_half_precision_mixes_in_float32() -> None:
    inputs = [torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(5), random_vocabulary(2, 3, 11)]
    query, key, sentinel, vocabulary = (tensor.bfloat16() for tensor in inputs)
    ids = torch.randint(11, (2, 7))
    out = pointer_sentinel(query, key, sentinel, ids, vocabulary)
    assert out.log_probs.dtype == torch.float32
    truth = pointer_sentinel(query.double(), key.double(), sentinel.double(), ids, vocabulary.double())
    assert_close(out.log_probs, truth.log_probs, tolerance=1e-5)


def test_module_computes_the_equation_and_is_watched() -> None:
    module = PointerSentinel(dim=5)
    seen: list[Attended] = []
    module.watch(seen.append)
    hidden, memory, ids = torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randint(11, (2, 7))
    vocabulary = random_vocabulary(2, 3, 11)
    out = module(hidden, memory, ids, vocabulary)
    query = torch.tanh(hidden @ module.query_map.weight.T + module.query_map.bias)
    both = torch.cat((query @ memory.mT, query @ module.sentinel[:, None]), -1).softmax(-1)
    expected = both[..., -1:] * vocabulary.exp() + both[..., :-1] @ torch.eye(11)[ids]
    assert_close(out.log_probs.exp(), expected.double(), tolerance=1e-5)
    assert seen == [out.attended]


def test_bad_shapes_are_named() -> None:
    query, key, sentinel = torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(5)
    ids, vocabulary = torch.randint(11, (2, 7)), random_vocabulary(2, 3, 11)
    with pytest.raises(ValueError, match=r"must share B and C; got \[2, 3, 4\] and \[2, 7, 5\]"):
        pointer_sentinel(query[..., :4], key, sentinel, ids, vocabulary)
    with pytest.raises(ValueError, match=r"sentinel must be \[C\] = \[5\]; got \[2, 5\]"):
        pointer_sentinel(query, key, sentinel.expand(2, 5), ids, vocabulary)
    with pytest.raises(ValueError, match=r"ids must be \[B, S\] = \[2, 7\]; got \[2, 3\]"):
        pointer_sentinel(query, key, sentinel, ids[:, :3], vocabulary)
    with pytest.raises(ValueError, match=r"the B and T of query \[2, 3, 5\]; got \[2, 11\]"):
        pointer_sentinel(query, key, sentinel, ids, vocabulary[:, 0])
