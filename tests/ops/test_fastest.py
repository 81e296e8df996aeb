"""The order in which the fused backends are tried."""

from __future__ import annotations

import pytest
import torch
from torch.nn.attention import SDPBackend

from regard.ops import fastest


@pytest.mark.parametrize(
    ("capability", "dtype", "pairs", "masked"),
    [
        (None, torch.bfloat16, 1 << 24, False),
        ((8, 9), torch.bfloat16, 1 << 24, False),
        ((9, 0), torch.float32, 1 << 24, False),
        ((9, 0), torch.bfloat16, 511 * 512, False),
        ((9, 0), torch.bfloat16, 1 << 24, True),
    ],
)
def test_pytorch_keeps_its_own_order(
    capability: tuple[int, int] | None, dtype: torch.dtype, pairs: int, masked: bool
) -> None:
    assert fastest.backends(capability, dtype, pairs=pairs, masked=masked) is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("capability", [(9, 0), (10, 0)])
def test_a_large_read_in_half_precision_goes_to_cudnn_first(capability: tuple[int, int], dtype: torch.dtype) -> None:
    order = fastest.backends(capability, dtype, pairs=512 * 512, masked=False)
    assert order is not None
    assert order[0] == SDPBackend.CUDNN_ATTENTION
    assert order[-1] == SDPBackend.MATH  # so that there is always one that can


def test_the_state_of_pytorch_is_left_as_it_was() -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled()
    query = torch.randn(1, 1, 512, 16, dtype=torch.bfloat16)
    fastest.fused_attention(query, query, query, scale=1.0)
    assert (torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled()) == before
