"""Runs are compared to the bit, which holds on the CPU; so they stay there."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def _on_cpu(_on_device: None) -> None:
    torch.set_default_device(None)
