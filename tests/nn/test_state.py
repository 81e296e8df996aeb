"""State: a value that is passed on and reordered."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from regard.nn import AttentionState


def test_a_fresh_state_stands_before_the_first_query() -> None:
    assert (AttentionState().step, AttentionState().score, AttentionState().align) == (0, (), ())


def test_selecting_reorders_every_tensor_however_deep() -> None:
    first, second, third = torch.arange(6).view(3, 2), torch.arange(3), torch.arange(12).view(3, 1, 4)
    state = AttentionState(5, score=((first,), (), ((second,),)), align=(third,))
    rows = torch.tensor([2, 0, 0, 1])
    chosen = state.select(rows)
    assert chosen.step == 5
    (one,), nothing, ((two,),) = chosen.score  # type: ignore[misc]
    assert torch.equal(one, first[rows])
    assert nothing == ()
    assert torch.equal(two, second[rows])
    assert isinstance(chosen.align[0], torch.Tensor)
    assert torch.equal(chosen.align[0], third[rows])
    assert torch.equal(state.align[0], third), "the old state is untouched"


def test_a_state_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        AttentionState().step = 1  # type: ignore[misc]
