"""The linear aligner: energies as they are."""

from __future__ import annotations

import pytest
import torch

from regard import Mask
from regard.masks import MaskShapeError
from regard.nn import Attention, Dot, LinearAligner
from regard.ops import linear_weights
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    assert linear_weights(torch.randn(2, 3, 5, 7)).shape == (2, 3, 5, 7)
    assert linear_weights(torch.randn(2, 3, 5, 0)).shape == (2, 3, 5, 0)
    assert linear_weights(torch.randn(2, 3, 5, 7, dtype=torch.bfloat16)).dtype == torch.float32


def test_value_by_hand() -> None:
    """u = (1, 2) meets (3, 0) and (0, -1): 3 and -2, neither of which is a probability."""
    memories = torch.tensor([[[3.0, 0.0], [0.0, -1.0]]])
    out = Attention(Dot(), LinearAligner())(torch.tensor([[[1.0, 2.0]]]), memories)
    assert_close(out.weights(), [[[3.0, -2.0]]])
    assert_close(out.context, [[[9.0, 2.0]]])


def test_mask() -> None:
    energy = torch.randn(2, 1, 3, 5)
    weights = linear_weights(energy, Mask.padding([4, 0]))
    assert (weights[0, ..., 4:] == 0).all()
    assert torch.equal(weights[0, ..., :4], energy[0, ..., :4])
    assert (weights[1] == 0).all()
    assert (linear_weights(torch.full((1, 1, 1, 2), -torch.inf)) == 0).all()


def test_gradients() -> None:
    mask = Mask.padding([3, 4]) & Mask.causal()
    check_gradients(lambda energy: linear_weights(energy, mask), torch.randn(2, 2, 3, 4))


def test_the_whole_read_is_linear_in_the_query() -> None:
    """What the softmax takes away and the linear start gives back: twice the question, twice the answer."""
    attention, memories, mask = Attention(Dot(), LinearAligner()), torch.randn(2, 7, 5).double(), Mask.padding([7, 3])
    first, second = torch.randn(2, 3, 5).double(), torch.randn(2, 3, 5).double()
    both = attention(2 * first + second, memories, mask=mask).context
    assert_close(
        both, 2 * attention(first, memories, mask=mask).context + attention(second, memories, mask=mask).context
    )


def test_step_by_step_is_all_at_once() -> None:
    attention, query, key = (
        Attention(Dot(), LinearAligner()),
        torch.randn(2, 3, 5).double(),
        torch.randn(2, 7, 5).double(),
    )
    memory = attention.remember(key, mask=Mask.padding([7, 3]))
    state, steps = None, []
    for row in query.split(1, 1):
        out = attention.read(row, memory, state)
        state = out.state
        steps.append(out.context)
    assert_close(torch.cat(steps, 1), attention(query, key, mask=Mask.padding([7, 3])).context)


def test_a_mask_that_does_not_fit_is_named() -> None:
    with pytest.raises(MaskShapeError, match=r"3 sequences does not fit scores of shape \[2, 1, 3, 5\]"):
        linear_weights(torch.randn(2, 1, 3, 5), Mask.padding([1, 2, 3]))
