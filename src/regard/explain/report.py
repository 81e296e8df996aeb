"""Report of a study: tables and findings as Markdown, and panels with all measures of an example."""

from __future__ import annotations

from regard.explain.findings import findings
from regard.explain.panel import Panel
from regard.explain.study import SIGNIFICANT, ExampleScores, Study

GRADIENTS = {
    True: "Gradients hold the weights fixed.",
    False: "Gradients flow through the weights, too.",
}
"""Note on gradients, with and without detached weights."""


def ranks_rows(study: Study) -> list[tuple[str, ...]]:
    """Return the agreement table: both measures, τ with its standard deviation, significant share, overlap."""
    return [
        (*pair, f"{ranks.tau:.2f} ± {ranks.deviation:.2f}", f"{ranks.significant:.0%}", f"{ranks.overlap:.2f}")
        for pair, ranks in study.ranks.items()
    ]


RANKS = ("measure", "beside", "Kendall's τ", f"p < {SIGNIFICANT:g}", "same top fifth")


def erasure_rows(study: Study) -> list[tuple[str, ...]]:
    """Return the erasure table, sorted by descending comprehensiveness."""
    order = sorted(study.erased, key=lambda name: -study.erased[name].comprehensiveness)
    return [
        (name, f"{study.erased[name].comprehensiveness:.3f}", f"{study.erased[name].sufficiency:.3f}") for name in order
    ]


ERASURE = ("measure", "comprehensiveness (high is good)", "sufficiency (low is good)")


def change_rows(study: Study) -> list[tuple[str, str]]:
    """Return the table of interventions; empty if there were none."""
    changes = study.changes
    if changes is None:
        return []
    rows = [
        ("equal weights: change of the answer", f"{float(changes.uniform.mean()):.3f}"),
        ("permuted weights: median change", f"{float(changes.permuted.mean()):.3f}"),
    ]
    if changes.distance is None:
        return rows
    searched = f"largest divergence of weights with the same answer (change of at most {study.allowed:g}), nats"
    return [*rows, (searched, f"{float(changes.distance.mean()):.3f}")]


def markdown(study: Study, title: str, controls: tuple[list[tuple[str, str]], str] | None = None) -> str:
    """Return the report as Markdown.

    Args:
        study: results of the study.
        title: names the run and the data.
        controls: table rows and conclusion of the controls, if they were trained.
    """
    found = findings(study) if controls is None else [*findings(study), controls[1]]
    changed = change_rows(study)
    parts = [
        f"# Does attention explain? {title}",
        f"{study.size} of at least two {study.unit}s. {GRADIENTS[study.detached]}",
        "\n".join(f"- {sentence}" for sentence in (*found, *missing(study))),
        "## Agreement of measures",
        _table(RANKS, ranks_rows(study)),
        f"## Answers without the {study.unit}s that a measure calls important",
        _table(ERASURE, erasure_rows(study)),
        *(["## Answers by other weights", _table(("intervention", "mean"), changed)] if changed else []),
        *([] if controls is None else ["## Controls", _table(("control", "value"), controls[0])]),
        "Jain & Wallace 2019; Wiegreffe & Pinter 2019; DeYoung et al. 2020.",
    ]
    return "\n\n".join(parts) + "\n"


def missing(study: Study) -> list[str]:
    """Return sentences about measures that were skipped because of the number of texts."""
    return [
        f"Not measured: {name}, which is computed for at most {most} answers; give a smaller --limit."
        for name, most in study.left_out.items()
    ]


def panel(shown: ExampleScores) -> Panel:
    """Return a panel of measures by units of a text, each row divided by its maximum."""
    return Panel(
        f"Importance for the answer: {shown.answer}",
        shown.scores,
        down="",
        along="",
        rows=shown.measures,
        columns=shown.words,
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]] | list[tuple[str, str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]])
