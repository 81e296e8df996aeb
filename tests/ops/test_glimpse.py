"""Glimpses: patches by hand, what lies outside, gradients, cost; the modules that learn where to look."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard.nn import Glimpse, LocationPolicy, LocationSample, Reinforce, StateBaseline, location_loss
from regard.ops import glimpse
from tests.mechanism import assert_close, check_gradients, on_the_device

BOTH = pytest.mark.parametrize("differentiable", [False, True])


@BOTH
def test_shapes(differentiable: bool) -> None:
    patches = glimpse(torch.rand(2, 3, 37, 41), torch.rand(2, 2), size=5, scales=4, differentiable=differentiable)
    assert patches.shape == (2, 4, 3, 5, 5)
    assert glimpse(torch.rand(2, 3, 0, 0), torch.rand(2, 2), size=5, differentiable=differentiable).abs().sum() == 0
    assert glimpse(torch.rand(0, 3, 7, 7), torch.rand(0, 2), size=5, differentiable=differentiable).shape[0] == 0


@BOTH
def test_value_by_hand(differentiable: bool) -> None:
    """A picture 0 ... 15 of 4 x 4: its centre, its means over quarters, and the upper left corner with zeros around."""
    picture = torch.arange(16.0, dtype=torch.float64).reshape(1, 1, 4, 4)
    centre = glimpse(picture, torch.zeros(1, 2), size=2, scales=2, differentiable=differentiable)[0, :, 0]
    assert_close(centre, [[[5, 6], [9, 10]], [[2.5, 4.5], [10.5, 12.5]]])
    corner = glimpse(picture, -torch.ones(1, 2), size=2, scales=2, differentiable=differentiable)[0, :, 0]
    assert_close(corner, [[[0, 0], [0, 0]], [[0, 0], [0, 2.5]]])
    right = glimpse(picture, torch.tensor([[0.5, -0.5]]), size=2, differentiable=differentiable)[0, 0, 0]
    assert_close(right, [[2, 3], [6, 7]])


@BOTH
def test_outside_is_zero_and_other_pictures_are_not_seen(differentiable: bool) -> None:
    """The mask of a glimpse is the picture's edge: beyond it all is zero, and a look far outside sees nothing."""
    pictures = torch.stack([torch.full((1, 6, 6), 1.0), torch.full((1, 6, 6), torch.nan)])
    far = torch.tensor([[0.0, 0.0], [9e30, -9e30]])
    seen = glimpse(pictures, far, size=10, differentiable=differentiable)[:, 0, 0]
    inner = torch.zeros(10, 10)
    inner[2:8, 2:8] = 1.0
    assert_close(seen[0], inner.double())
    assert (seen[1].nan_to_num(0.0) == 0).all()
    nowhere = glimpse(pictures[:1], torch.tensor([[torch.nan, 0.0]]), size=3, differentiable=differentiable)
    assert (nowhere == 0).all()


def test_both_ways_agree_where_crops_begin_at_whole_pixels() -> None:
    pictures = torch.rand(64, 2, 16, 16).double()
    places = torch.randint(0, 17, (64, 2)) / 8.0 - 1.0
    hard, soft = (glimpse(pictures, places.double(), size=4, scales=3, differentiable=soft) for soft in (False, True))
    assert_close(soft, hard, tolerance=1e-9)


def test_gradients() -> None:
    """In the pixels both ways; in the location by interpolation only."""
    pictures, location = torch.rand(2, 1, 6, 7), torch.tensor([[0.13, -0.31], [0.97, 0.52]])
    check_gradients(lambda pictures: glimpse(pictures, location.double(), size=3, scales=2), pictures)
    check_gradients(
        lambda pictures, location: glimpse(pictures, location, size=3, scales=2, differentiable=True),
        pictures,
        location,
    )
    location.requires_grad_()
    assert not glimpse(pictures, location, size=3).requires_grad
    assert glimpse(pictures, location, size=3, differentiable=True).requires_grad


@BOTH
def test_moving_picture_and_location_together_changes_nothing(differentiable: bool) -> None:
    """A shift by whole pixels, 2 / 16 of the width each, away from the edges."""
    picture = torch.zeros(1, 1, 16, 16)
    picture[..., 6:10, 6:10] = torch.rand(4, 4)
    here = glimpse(picture, torch.zeros(1, 2), size=4, scales=2, differentiable=differentiable)
    moved = picture.roll((2, -3), (2, 3))
    there = glimpse(moved, torch.tensor([[-3 / 8, 2 / 8]]), size=4, scales=2, differentiable=differentiable)
    assert_close(there, here.double(), tolerance=1e-5)


class _Largest(TorchDispatchMode):
    """The most numbers that any operation makes that makes a new tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = func(*args, **(kwargs or {}))
        known = {part.untyped_storage().data_ptr() for part in args if isinstance(part, Tensor)}
        if isinstance(result, Tensor) and result.untyped_storage().data_ptr() not in known:
            self.numbers = max(self.numbers, result.numel())
        return result


@BOTH
def test_the_cost_does_not_depend_on_the_size_of_the_picture(differentiable: bool) -> None:
    most = []
    for side in (60, 600):
        picture = torch.rand(3, 1, side, side)
        with _Largest() as largest:
            glimpse(picture, torch.zeros(3, 2), size=8, scales=3, differentiable=differentiable)
        most.append(largest.numbers)
    assert most[0] == most[1] <= 3 * 32 * 32 * 2


@BOTH
def test_it_can_be_recorded(differentiable: bool) -> None:
    """No number goes to Python or comes from there: a loop of glimpses is one CUDA graph."""
    module, policy, pictures = (
        Glimpse(1, size=4, differentiable=differentiable),
        LocationPolicy(256),
        torch.rand(2, 1, 9, 9),
    )
    location = torch.zeros(2, 2)
    with on_the_device():
        located = policy(module(pictures, location))
        (module(pictures, located.location).sum() + located.log_prob.sum()).backward()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_finds_the_same_pixels(dtype: torch.dtype) -> None:
    picture = torch.rand(1, 1, 4000, 4000).to(dtype)
    location = torch.tensor([[0.5, -0.25]])
    seen = glimpse(picture, location.to(dtype), size=3)
    assert torch.equal(seen, glimpse(picture.float(), location, size=3).to(dtype))


@pytest.mark.parametrize(
    ("pictures", "location", "options", "words"),
    [
        (torch.rand(2, 7, 7), torch.rand(2, 2), {}, r"pictures must be .*\[2, 7, 7\]"),
        (torch.ones(2, 1, 7, 7).byte(), torch.rand(2, 2), {}, "uint8"),
        (torch.rand(2, 1, 7, 7), torch.rand(3, 2), {}, r"location must be .*\[3, 2\]"),
        (torch.rand(2, 1, 7, 7), torch.rand(2, 2), {"scales": 0}, "scales .* 0"),
    ],
)
def test_what_does_not_fit_is_named(pictures: Tensor, location: Tensor, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        glimpse(pictures, location, **{"size": 3, **options})


def test_module_computes_the_equation() -> None:
    module = Glimpse(3, size=5, scales=2, hidden_dim=7, output_dim=11)
    pictures, location = torch.rand(2, 3, 17, 19), torch.rand(2, 2)
    what = module.what_out(module.what_map(glimpse(pictures, location, size=5, scales=2).flatten(1)).relu())
    where = module.where_out(module.where_map(location).relu())
    assert_close(module(pictures, location), (what + where).relu().double())
    assert module.output_dim == 11
    with pytest.raises(ValueError, match=r"\[B, 3, H, W\]; got \[2, 1, 7, 7\]"):
        module(torch.rand(2, 1, 7, 7), location)


def test_a_policy_draws_from_its_gaussian() -> None:
    """Log-densities are those of torch's distribution at the draw; locations are clipped; a seed repeats them."""
    policy, state = LocationPolicy(5, deviation=0.3), torch.randn(4000, 5) * 3
    located = policy(state, torch.Generator(state.device).manual_seed(1))
    mean = policy.mean_map(state).tanh()
    noise = torch.empty_like(mean).normal_(generator=torch.Generator(state.device).manual_seed(1))
    drawn = mean + 0.3 * noise
    gaussian = torch.distributions.Normal(mean, 0.3)
    assert_close(located.log_prob, gaussian.log_prob(drawn).sum(1).double(), tolerance=1e-4)
    assert_close(located.entropy, gaussian.entropy().sum(1).double(), tolerance=1e-5)
    assert_close(located.location, drawn.clamp(-1, 1).double(), tolerance=1e-5)
    assert (located.location.abs() == 1).any()
    assert not located.location.requires_grad


def test_a_policy_takes_its_mean_in_evaluation() -> None:
    policy, state = LocationPolicy(5).eval(), torch.randn(3, 5)
    located = policy(state)
    assert_close(located.location, policy.mean_map(state).tanh().double())
    assert (located.log_prob == 0).all()


def test_the_expected_gradient_is_that_of_the_expected_reward() -> None:
    """Reward x² + y of unclipped draws has the expectation μ_x² + σ² + μ_y: in μ its gradient is (2 μ_x, 1), in log σ
    2 σ²."""
    policy = LocationPolicy(1, deviation=0.2, learned=True).double()
    with torch.no_grad():
        policy.mean_map.weight.zero_()
        policy.mean_map.bias.copy_(torch.tensor([0.3, -0.1]).atanh())
    count = 200_000
    located = policy(torch.zeros(count, 1).double())
    x, y = located.location.unbind(1)
    loss = location_loss(located.log_prob.unsqueeze(1), x.square() + y, torch.zeros(count, 1).double())
    bias, spread = torch.autograd.grad(-loss, [policy.mean_map.bias, policy.log_deviation])
    slope = 1 - torch.tensor([0.3, -0.1]).double() ** 2  # of tanh
    assert_close(bias, slope * torch.tensor([0.6, 1.0]), tolerance=0.02)
    assert_close(spread, torch.tensor(2 * 0.2**2), tolerance=0.02)


def test_gradients_stay_where_they_belong() -> None:
    state = torch.randn(3, 5, requires_grad=True)
    policy, baseline = LocationPolicy(5), StateBaseline(5)
    located = policy(state)
    loss = location_loss(located.log_prob.unsqueeze(1), torch.ones(3), baseline(state).unsqueeze(1))
    assert torch.autograd.grad(loss, state, allow_unused=True, retain_graph=True)[0] is None
    for parameter in (policy.mean_map.weight, baseline.map.weight):
        assert torch.autograd.grad(loss, parameter, retain_graph=True)[0].abs().sum() > 0
    through = LocationPolicy(5, detach=False)(state)
    assert torch.autograd.grad(through.log_prob.sum(), state)[0].abs().sum() > 0
    assert "log_deviation" not in dict(policy.named_parameters())
    assert set(LocationPolicy(5, learned=True).state_dict()) == {"mean_map.weight", "mean_map.bias", "log_deviation"}


def test_loss_by_hand() -> None:
    """Rewards 1 and 0, baselines 0.5 and 0: ½ (0.5 · 2 + 0 · 3) + ½ (0.25 + 0)."""
    loss = location_loss(torch.tensor([[-2.0], [-3.0]]), torch.tensor([1.0, 0.0]), torch.tensor([[0.5], [0.0]]))
    assert_close(loss, 0.625)
    half = location_loss(
        torch.tensor([[-2.0], [-3.0]]), torch.tensor([1.0, 0.0]), torch.tensor([[0.5], [0.0]]), reward_weight=0.0
    )
    assert_close(half, 0.125)
    with pytest.raises(ValueError, match=r"\[2, 3\], \[2\] and \[2\]"):
        location_loss(torch.zeros(2, 3), torch.zeros(2), torch.zeros(2))


def test_joined_steps_are_a_sample_of_hard_attention() -> None:
    """The losses for hard attention take the draws of a policy, with a moving baseline for a learned one."""
    policy = LocationPolicy(5)
    steps = [policy(torch.randn(3, 5)) for _ in range(7)]
    sample = LocationSample.join(steps)
    assert sample.log_prob.shape == sample.entropy.shape == sample.key.shape == (3, 1, 7)
    log_likelihood = torch.tensor([-1.0, -2.0, -3.0])
    loss = Reinforce(reward_weight=1.0, entropy_weight=0.0)(log_likelihood, sample)
    total = torch.stack([step.log_prob for step in steps], 1).sum(1)
    assert_close(loss, -(log_likelihood + log_likelihood * total).mean().double(), tolerance=1e-5)


@pytest.mark.parametrize("deviation", [0.0, -1.0, math.inf])
def test_deviations_that_are_none(deviation: float) -> None:
    with pytest.raises(ValueError, match=f"deviation .* {deviation}"):
        LocationPolicy(5, deviation=deviation)
