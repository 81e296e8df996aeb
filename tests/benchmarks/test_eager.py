"""The benchmark of eager mode: both sides compute the same, and the gate sees it when they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from benchmarks import eager

SIZE = eager.Size(2, 3, 16, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_both_sides_are_the_same_read(dtype: torch.dtype) -> None:
    rows = [eager.make(name, SIZE, torch.empty(0).device, dtype) for name in eager.ROWS]
    eager.gate(rows, dtype)
    wrong = replace(rows[0], ours=replace(rows[1].ours, module=rows[0].ours.module))
    with pytest.raises(SystemExit, match="gate is red"):
        eager.gate([wrong], dtype)
