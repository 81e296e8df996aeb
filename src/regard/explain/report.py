"""Report of a study: tables and findings as Markdown, one text with all measures as panels."""

from __future__ import annotations

from regard.explain.findings import findings
from regard.explain.panel import Panel
from regard.explain.study import PAIRS, SIGNIFICANT, ExampleScores, Study


def ranks_rows(study: Study) -> list[tuple[str, ...]]:
    """Rows of the table of agreement: both measures, τ with its deviation, significant share, overlap."""
    rows: list[tuple[str, ...]] = []
    for pair in PAIRS:
        ranks = study.ranks[pair]
        rows.append(
            (*pair, f"{ranks.tau:.2f} ± {ranks.deviation:.2f}", f"{ranks.significant:.0%}", f"{ranks.overlap:.2f}")
        )
    return rows


RANKS = ("measure", "beside", "Kendall's τ", f"p < {SIGNIFICANT:g}", "same top fifth")


def erasure_rows(study: Study) -> list[tuple[str, ...]]:
    """Rows of the table of erasure, the best comprehensiveness first."""
    order = sorted(study.erased, key=lambda name: -study.erased[name].comprehensiveness)
    return [
        (name, f"{study.erased[name].comprehensiveness:.3f}", f"{study.erased[name].sufficiency:.3f}") for name in order
    ]


ERASURE = ("measure", "comprehensiveness (high is good)", "sufficiency (low is good)")


def change_rows(study: Study) -> list[tuple[str, str]]:
    """Rows of the table of other weights."""
    return [
        ("equal weights: change of the answer", f"{float(study.uniform.mean()):.3f}"),
        ("permuted weights: median change", f"{float(study.permuted.mean()):.3f}"),
        (
            f"largest divergence of weights with the same answer (change of at most {study.allowed:g}), nats",
            f"{float(study.distance.mean()):.3f}",
        ),
    ]


def markdown(study: Study, title: str, controls: tuple[list[tuple[str, str]], str] | None = None) -> str:
    """Return the report.

    Args:
        study: the outcome.
        title: the run and the data.
        controls: rows of a table and what follows from it, where controls were trained.
    """
    found = findings(study) if controls is None else [*findings(study), controls[1]]
    parts = [
        f"# Does attention explain? {title}",
        f"{study.texts:,} texts of at least two words.",
        "\n".join(f"- {sentence}" for sentence in found),
        "## Agreement of measures",
        _table(RANKS, ranks_rows(study)),
        "## Answers without the words that a measure calls important",
        _table(ERASURE, erasure_rows(study)),
        "## Answers by other weights",
        _table(("intervention", "mean"), change_rows(study)),
        *([] if controls is None else ["## Controls", _table(("control", "value"), controls[0])]),
        "Jain & Wallace 2019; Wiegreffe & Pinter 2019; DeYoung et al. 2020. Gradients hold the weights fixed.",
    ]
    return "\n\n".join(parts) + "\n"


def panel(shown: ExampleScores) -> Panel:
    """One text as a table of measures by words, each row divided by its largest."""
    return Panel(f"→ {shown.answer}", shown.scores, down="", along="", rows=shown.measures, columns=shown.words)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]] | list[tuple[str, str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]])
