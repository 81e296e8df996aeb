"""`regard bench`: comparison with plain PyTorch and its fused attention on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from regard.cli.screen import fail, show
from regard.view.console import Console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.bench.case import Machine
    from regard.bench.gate import GateResult
    from regard.bench.row import CaseResult


def command(
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Mechanism to benchmark; repeatable. Default: all.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One small size per mechanism, a few seconds in all.")] = False,
    compiled: Annotated[
        bool, typer.Option("--compile", help="Comparison with torch.compile on a CPU too; always on a GPU.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Output folder for bench.json and bench.png.")] = Path("bench"),
) -> None:
    """Check every mechanism against float64, then benchmark it beside plain PyTorch."""
    from regard.bench.case import Machine
    from regard.bench.cases import NAMES, check_mechanisms, gate_cases, timed_cases
    from regard.bench.gate import verify
    from regard.bench.row import measure

    names = only or list(NAMES)
    try:
        check_mechanisms(names)
    except ValueError as problem:
        fail(f"--only: {problem}")
    machine = Machine.here(compiles=compiled)
    if compiled and not machine.cuda and not Machine.has_compiler():
        fail("--compile: torch.compile needs a C++ compiler on a CPU; install g++ or clang++, or leave --compile out")
    note = Console(stderr=True).print
    findings = _gate(list(verify(gate_cases(names, quick=quick), machine)))
    note(f"gate: {findings} outputs and gradients held to the float64 truth")
    rows = []
    for row in measure(timed_cases(machine, names, quick=quick), machine, seconds=0.1 if quick else 2.0):
        note(escape(f"timed {row.case}, {'both' if row.gradient else 'forward'}"))
        rows.append(row)
    _write(rows, machine, findings, out)


def _gate(findings: Sequence[GateResult]) -> int:
    """Return the number of checks if all passed; otherwise list the failed ones and end the command."""
    red = [finding for finding in findings if not finding.passed]
    if red:
        show(*(f"[red]red[/] {escape(str(finding))}" for finding in red))
        show(f"[bold red]the gate is red:[/] {len(red)} of {len(findings)} are further from the truth than allowed")
        raise typer.Exit(1)
    return len(findings)


def _write(rows: Sequence[CaseResult], machine: Machine, findings: int, out: Path) -> None:
    """Print the table, and write the numbers and the figure to the folder."""
    from regard.bench.table import draw, on_screen, summary
    from regard.runs.files import atomic_path

    dtype = str(machine.dtype).removeprefix("torch.")
    title = f"{machine}, {dtype}"
    out.mkdir(parents=True, exist_ok=True)
    report = {"machine": str(machine), "dtype": dtype, "gate": findings, "rows": [row.as_json() for row in rows]}
    with atomic_path(out / "bench.json") as draft:
        draft.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    draw(rows, title, out / "bench.png")
    show(on_screen(rows, title), "× is how many times faster ours is: below 1 it is slower", summary(rows))
    if any(row.replayed for row in rows):
        show("† times of replayed CUDA graphs: what the GPU takes, without Python")
    for name, reason in {name: reason for row in rows for name, reason in row.failed.items()}.items():
        show(escape(f"{name} has no time where it cannot do the case, at last: {reason}"))
    show(f"the numbers and the picture are in {escape(str(out))}")
