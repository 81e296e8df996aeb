"""Answers of a trained model to its test split, kept with the run for paired comparisons."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from regard.evaluate.metrics import Metric
from regard.evaluate.tally import Tally
from regard.report.material import ReportData
from regard.runs.files import read_json, write_json
from regard.runs.folder import RunError

_FILE = "answers.json"


@dataclass(frozen=True)
class Answers:
    """Answers to a split, beside the right ones.

    Attributes:
        split: that was answered.
        answers: a text for each input.
        references: all right answers to each.
        records: the record that each input is, where a metric compares answers with records; otherwise none.
    """

    split: str
    answers: list[str]
    references: list[list[str]]
    records: list[str] = field(default_factory=list)

    @staticmethod
    def made(found: ReportData) -> Answers | None:
        """Return the answers of a run that was measured; None of a language model, which has none."""
        asked = found.questions
        if found.measured is None or found.predictor is None or asked is None:
            return None
        task = found.predictor.task
        reads = any(metric.compares == "records" for metric in found.recipe.metrics)
        records = [task.record(one) for one in asked.inputs] if reads else []
        return Answers(found.split, [one.text for one in found.measured.predictions], asked.references, records)

    @staticmethod
    def of(folder: Path) -> Answers | None:
        """Return those that a run kept; None of a run that has none, or whose file cannot be read."""
        try:
            return _ANSWERS.validate_python(read_json(folder / _FILE))
        except (RunError, OSError, ValidationError):
            return None

    def save(self, folder: Path) -> None:
        """Write them into the folder of their run."""
        write_json(folder / _FILE, asdict(self))

    def asks_as(self, other: Answers) -> bool:
        """Return whether both answer the same questions, as far as the right answers tell."""
        return (self.split, self.references, self.records) == (other.split, other.references, other.records)

    def count(self, metric: Metric) -> Tally:
        """Return what each answer adds to a metric."""
        right = [[record] for record in self.records] if metric.compares == "records" else self.references
        return metric.count(self.answers, right)


_ANSWERS = TypeAdapter(Answers)
