"""The order in which the fused backends are tried."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn.attention import SDPBackend

from regard.ops.inner_product import sdpa
from regard.ops.inner_product.sdpa import ReadSize

LARGE, LONG = ReadSize(4096, 4096, 64), ReadSize(512, 512, 64)


@pytest.mark.parametrize(
    ("capability", "dtype", "shape"),
    [
        (None, torch.bfloat16, LARGE),
        (None, torch.float32, ReadSize(1, 30, 512)),
        ((8, 0), torch.bfloat16, LARGE),
        ((8, 9), torch.bfloat16, LARGE),
        ((10, 0), torch.bfloat16, LARGE),
        ((12, 0), torch.float16, LARGE),
        ((9, 0), torch.float32, LARGE),
        ((9, 0), torch.bfloat16, replace(LONG, queries=511)),
        ((9, 0), torch.float32, ReadSize(2, 30, 512)),
        ((9, 0), torch.float32, ReadSize(33, 32, 64, differentiable=True)),
        ((8, 9), torch.bfloat16, ReadSize(1, 30, 256, differentiable=True)),
        ((9, 0), torch.bfloat16, ReadSize(1, 30, 264)),
        ((8, 9), torch.bfloat16, ReadSize(32, 32, 64)),
        ((9, 0), torch.bfloat16, ReadSize(33, 32, 64)),
    ],
)
def test_pytorch_keeps_its_own_order(capability: tuple[int, int] | None, dtype: torch.dtype, shape: ReadSize) -> None:
    assert sdpa.backends(capability, dtype, shape) is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_large_read_in_half_precision_goes_to_cudnn_first(dtype: torch.dtype) -> None:
    order = sdpa.backends((9, 0), dtype, LONG)
    assert order is not None
    assert order[0] == SDPBackend.CUDNN_ATTENTION
    assert order[-1] == SDPBackend.MATH  # so that there is always one that can


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        (torch.float32, ReadSize(1, 3000, 64)),
        (torch.float32, ReadSize(32, 32, 64, differentiable=True)),
        (torch.bfloat16, ReadSize(16, 30, 264, differentiable=True)),
    ],
)
def test_a_step_of_a_decoder_is_computed_plainly(dtype: torch.dtype, shape: ReadSize) -> None:
    assert sdpa.backends((8, 0), dtype, shape) == [SDPBackend.MATH]


def test_a_short_read_in_half_precision_goes_to_the_memory_efficient_kernel() -> None:
    for differentiable in (False, True):
        order = sdpa.backends((9, 0), torch.bfloat16, ReadSize(32, 32, 64, differentiable))
        assert order is not None
        assert (order[0], order[-1]) == (SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH)


def test_a_short_wide_read_in_half_precision_goes_to_flash_attention_and_under_a_mask_to_the_next() -> None:
    for differentiable, second in ((False, SDPBackend.EFFICIENT_ATTENTION), (True, SDPBackend.CUDNN_ATTENTION)):
        order = sdpa.backends((9, 0), torch.bfloat16, ReadSize(32, 32, 256, differentiable))
        assert order is not None
        assert (order[0], order[1], order[-1]) == (SDPBackend.FLASH_ATTENTION, second, SDPBackend.MATH)


def test_rows_that_begin_anywhere_are_copied_and_others_are_not() -> None:
    whole = torch.randn(2, 3, 8, 16)
    for view in (whole, whole[:, 1:], whole[:, :, ::2], whole[..., :8], whole[:1].expand(5, 3, 8, 16)):
        assert sdpa.aligned(view) is view
    for view in (whole[..., 1:9], whole[..., ::2], whole.mT, torch.randn(3, 5, 7)[:, :, 1:]):
        moved = sdpa.aligned(view)
        assert moved.is_contiguous()
        assert moved.data_ptr() % 16 == 0
        assert torch.equal(moved, view)


def test_a_read_of_a_part_of_a_tensor() -> None:
    """On a GPU the memory-efficient kernel cannot read it where it lies."""
    larger = torch.randn(3, 4, 9, 11)
    query, key, value = (larger[index : index + 1, :2, 1:8, 1:9] for index in range(3))
    found = sdpa.fused_attention(query, key, value, scale=0.5)
    torch.testing.assert_close(found, (0.5 * query @ key.mT).softmax(-1) @ value)


def test_the_state_of_pytorch_is_left_as_it_was() -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled()
    query = torch.randn(1, 1, 512, 16, dtype=torch.bfloat16)
    sdpa.fused_attention(query, query, query, scale=1.0)
    assert (torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled()) == before
