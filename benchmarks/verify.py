"""The gate of `regard bench` alone: every output and gradient against the float64 truth, nothing timed.

    python benchmarks/verify.py                       all mechanisms
    python benchmarks/verify.py --only additive

Prints the worst of each mechanism, as a share of what is allowed; exit status 1 if one is above it.
"""

from __future__ import annotations

import argparse
import sys

from regard.bench.case import Machine
from regard.bench.cases import NAMES, gate_cases
from regard.bench.gate import verify


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=NAMES, default=list(NAMES), help="these mechanisms alone")
    parser.add_argument("--quick", action="store_true", help="small sizes alone")
    options = parser.parse_args()
    machine = Machine.here(compiles=False)
    print(machine)
    red = 0
    for name in options.only:
        findings = list(verify(gate_cases([name], quick=options.quick), machine))
        failed = [finding for finding in findings if not finding.passed]
        worst = max(findings, key=lambda finding: finding.error / finding.allowed if finding.allowed else 0.0)
        print(f"{name}: {len(findings)} looked at, {len(failed)} red; nearest to its limit: {worst}")
        for finding in failed:
            print(f"  red: {finding}")
        red += len(failed)
    sys.exit(1 if red else 0)


if __name__ == "__main__":
    main()
