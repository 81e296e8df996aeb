"""The gate passes what is right and stops what is not."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard.bench.case import Machine
from regard.bench.cases import NAMES, check_mechanisms, gate_cases
from regard.bench.gate import GateResult, verify
from regard.bench.graph_case import GraphCase
from regard.bench.score_case import ScoreCase, Sizes
from regard.cuda_capture import is_recording

CPU = Machine(torch.device("cpu"), torch.float32, compiles=False)
SMALL = Sizes(2, 1, 5, 7, 3)


@pytest.mark.parametrize("name", ["scaled_dot", "bilinear", "cosine", "graph"])
def test_ours_pass(name: str) -> None:
    findings = list(verify(gate_cases([name], quick=True), CPU))
    assert {finding.dtype for finding in findings} == {"float32", "bfloat16"}
    assert [str(finding) for finding in findings if not finding.passed] == []


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda read, x: read(*x) * 1.001, id="a thousandth too much"),
        pytest.param(lambda read, x: read(x[0].detach(), *x[1:]) + 0 * x[0].sum(), id="a gradient lost"),
        pytest.param(lambda read, x: read(*x) + torch.empty_like(x[0]).fill_(math.nan), id="not a number"),
        pytest.param(lambda read, x: read(x[0].as_strided(x[0].shape, torch.empty(x[0].shape).stride()), *x[1:]),
                     id="strides ignored"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_red(spoil, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    ways = ScoreCase.ways

    def spoiled(self: ScoreCase, machine: Machine) -> dict[str, object]:
        found = ways(self, machine)
        right = found["ours"]
        return {**found, "ours": lambda *inputs: spoil(right, inputs)}

    monkeypatch.setattr(ScoreCase, "ways", spoiled)
    assert not all(finding.passed for finding in verify([ScoreCase("scaled_dot", SMALL)], CPU))


def test_on_a_gpu_what_is_recorded_is_looked_at_too(monkeypatch: pytest.MonkeyPatch) -> None:
    case = ScoreCase("scaled_dot", SMALL)
    ways = case.ways(CPU)
    right = ways["ours"]
    ways["ours"] = lambda *inputs: right(*inputs) * (2 if is_recording() else 1)
    monkeypatch.setattr(ScoreCase, "ways", lambda *_: ways)
    monkeypatch.setattr(Machine, "cuda", property(lambda _: True))
    red = [finding for finding in verify([case], CPU) if not finding.passed]
    assert len(red) == 12  # output and three gradients in three precisions
    assert all(finding.what.endswith(", recorded") for finding in red)


def test_an_error_that_is_no_number_does_not_pass() -> None:
    assert not GateResult("case", "float32", "output", math.nan, 1.0).passed
    assert GateResult("case", "float32", "output", 1.0, 1.0).passed


@pytest.mark.parametrize("name", NAMES)
def test_every_way_says_the_same(name: str) -> None:
    """Otherwise they are not to be timed beside each other."""
    for case in gate_cases([name], quick=True):
        inputs = case.inputs(CPU.device)
        outputs: dict[str, Tensor] = {way: read(*inputs) for way, read in case.ways(CPU).items()}
        if "empty" in vars(case) and case.empty:  # type: ignore[attr-defined]
            outputs.pop("sdpa", None)  # it gives what it likes for a row with nothing to attend to
        for way, output in outputs.items():
            some = output if case.mask != "causal" else output[:, :, -7:]  # before the first key there is nothing
            other = outputs["plain"] if case.mask != "causal" else outputs["plain"][:, :, -7:]
            torch.testing.assert_close(some, other, msg=lambda text, way=way, case=case: f"{way}, {case}: {text}")


def test_a_graph_has_a_node_that_reads_nobody() -> None:
    edges = GraphCase("graph", nodes=11, edges=20, heads=1, width=2).pairs(CPU.device)
    assert edges.unique(dim=1).shape == (2, 20)
    assert 0 not in edges[1]
    assert edges.max() < 11
    assert torch.equal(edges[1], edges[1].sort().values)


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(ValueError, match="'aditive' is timed; did you mean additive"):
        check_mechanisms(["aditive"])
