"""Sinusoidal positions."""

from __future__ import annotations

import math

import pytest
import torch

from regard.nn import SinusoidalPositions
from regard.ops import sinusoidal_positions
from tests.mechanism import assert_close, check_gradients


@pytest.mark.parametrize("dim", [1, 2, 7, 12])
def test_shapes(dim: int) -> None:
    assert sinusoidal_positions(5, dim).shape == (5, dim)
    assert sinusoidal_positions(0, dim).shape == (0, dim)
    assert sinusoidal_positions(5, dim).dtype == torch.float32
    assert SinusoidalPositions(dim)(torch.randn(2, 3, dim)).shape == (2, 3, dim)


def test_value_by_hand() -> None:
    """Width 4: angles pos and pos / 10000^(2/4) = pos / 100."""
    expected = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(3)]
    assert_close(sinusoidal_positions(3, 4), expected)
    assert_close(sinusoidal_positions(1, 4), [[0.0, 1.0, 0.0, 1.0]])


def test_an_odd_width_ends_with_a_sine() -> None:
    """Width 3: angles pos and pos / 10000^(2/3)."""
    assert_close(sinusoidal_positions(2, 3)[1], [math.sin(1), math.cos(1), math.sin(10000 ** (-2 / 3))])


def test_a_shift_is_a_rotation() -> None:
    """PE(pos + k) = R(k) PE(pos) with one R for every pos: what a linear layer can learn to undo."""
    dim, shift = 8, 3
    table = sinusoidal_positions(50, dim).double()
    turn = torch.zeros(dim, dim).double()
    for pair in range(dim // 2):
        angle = shift / 10000 ** (2 * pair / dim)
        block = [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        turn[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = torch.tensor(block)
    assert_close(table[shift:], table[:-shift] @ turn.T, tolerance=1e-5)


def test_inner_products_depend_on_the_distance_only() -> None:
    table = sinusoidal_positions(40, 16).double()
    products = table @ table.T
    for distance in (0, 1, 7):
        diagonal = products.diagonal(distance)
        assert_close(diagonal, diagonal[0].expand_as(diagonal), tolerance=1e-5)
    assert_close(products.diagonal(0), torch.full((40,), 8.0), tolerance=1e-5)


def test_far_places_are_exact() -> None:
    """Angles in float64: an error of float32's angles would show in the third digit here."""
    place = 100_003
    expected = [math.sin(place), math.cos(place), math.sin(place / 100), math.cos(place / 100)]
    assert_close(sinusoidal_positions(1, 4, start=place)[0], expected, tolerance=1e-6)


def test_a_start_is_a_slice() -> None:
    assert torch.equal(sinusoidal_positions(3, 6, start=4), sinusoidal_positions(7, 6)[4:])


def test_base() -> None:
    assert_close(sinusoidal_positions(2, 4, base=16.0)[1], [math.sin(1), math.cos(1), math.sin(0.25), math.cos(0.25)])


def test_gradients() -> None:
    check_gradients(lambda x: SinusoidalPositions(5)(x, start=2), torch.randn(2, 3, 5))


def test_step_by_step_is_all_at_once() -> None:
    """A decoder with a cache passes how many came before."""
    places, x = SinusoidalPositions(6), torch.randn(2, 5, 6)
    steps = [places(word, start=step) for step, word in enumerate(x.split(1, dim=1))]
    assert torch.equal(torch.cat(steps, dim=1), places(x))
    assert torch.equal(places(x), x + sinusoidal_positions(5, 6))


def test_module_keeps_nothing_and_the_dtype() -> None:
    places = SinusoidalPositions(6)
    assert not places.state_dict()
    assert not list(places.buffers())
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        assert places(torch.zeros(1, 2, 6, dtype=dtype)).dtype == dtype
    assert places(torch.empty(1, 2, 6, device="meta")).device.type == "meta"


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"x must be \[B, T, C\] with C = 6; got shape \[2, 3, 5\]"):
        SinusoidalPositions(6)(torch.randn(2, 3, 5))
    with pytest.raises(ValueError, match=r"x must be \[B, T, C\] with C = 6; got shape \[3, 6\]"):
        SinusoidalPositions(6)(torch.randn(3, 6))
    with pytest.raises(ValueError, match="at least 0 and dim at least 1; got 3, -1 and 4"):
        sinusoidal_positions(3, 4, start=-1)
