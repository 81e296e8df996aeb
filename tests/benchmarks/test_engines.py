"""The gate before engines are timed."""

from __future__ import annotations

import pytest
import torch
from benchmarks.engines import gate, medians, never_ending

from regard.decode import Search


def test_programs_that_disagree_are_not_timed() -> None:
    model = never_ending(50, 8, 1)
    with torch.no_grad():
        other = never_ending(50, 8, 1)
        other.output_map.weight.mul_(-1.0)
    source, search = torch.randint(4, 50, (3, 5)), Search(max_length=5)
    programs = {"own": model, "CTranslate2": model, "CTranslate2 int8": other}
    assert gate(programs, source, search) < 1.0
    assert gate({**programs, "CTranslate2 int8": model}, source, search) == 1.0
    with pytest.raises(SystemExit, match="beam, 3 rows: CTranslate2 says something else in float32"):
        gate({**programs, "CTranslate2": other}, source, search)
    assert set(medians(programs, source, search, repeats=1)) == set(programs)
