"""The decoding benchmark, small: its gates can fail, and it ends in a table."""

from __future__ import annotations

import copy

import pytest
import torch
from benchmarks.worker import clocked

from benchmarks import decoding
from regard.nn import pack


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in {"WORDS": 50, "LENGTH": 4, "DIM": 8, "HEADS": 2, "HIDDEN": 12, "LAYERS": 1}.items():
        monkeypatch.setattr(decoding, name, size)


def test_gates_then_a_table() -> None:
    models = decoding.make_models(None)
    systems = {name: pack(copy.deepcopy(model)) for name, model in models.items()}
    with torch.inference_mode():
        decoding.gates(systems, models, None)
    runs = {name: clocked(decoding.make_run(name), "wall") for name in decoding.OURS}
    runs[decoding.theirs("luong")] = runs["bahdanau"]
    rows = [decoding.timed(runs, batch=2, beam=beam, rounds=1) for beam in (1, 3)]
    assert [list(row.speeds) for row in rows] == [list(runs)] * 2
    last = decoding.table(rows, 1).splitlines()[-1]
    assert last.startswith("batch  2, beam 3")
    assert last.endswith("x")
    assert last.count("x") == 1, "one of ours has a peer"


def test_another_model_does_not_pass() -> None:
    models, others = decoding.make_models(None), decoding.make_models(None)
    with torch.inference_mode(), pytest.raises(SystemExit, match="does not say what teacher forcing says"):
        decoding.gates(others, models, None)
