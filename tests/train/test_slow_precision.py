"""bfloat16 on a CPU that only imitates it is warned of."""

from __future__ import annotations

import platform

import pytest
import torch

from regard.train.warnings import slow_precision
from tests.train.tiny import recipe


@pytest.mark.parametrize(
    ("precision", "machine", "able", "warned"),
    [
        ("bfloat16", "x86_64", False, True),
        ("bfloat16", "x86_64", True, False),
        ("bfloat16", "aarch64", False, False),
        ("float32", "x86_64", False, False),
    ],
)
def test_only_where_it_is_slower(
    precision: str, machine: str, able: bool, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: able)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    said = list(slow_precision(recipe(f"train.precision={precision}")))
    assert [one for one in said if "leave train.precision out" in one] == said
    assert bool(said) == warned
