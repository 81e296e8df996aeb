"""Test predictions of a run, saved for paired significance tests."""

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
    """Predictions on a split with their references.

    Attributes:
        split: name of the split.
        answers: predicted text per input.
        references: all references of each input.
        records: source record of each input, if a metric needs it; otherwise empty.
    """

    split: str
    answers: list[str]
    references: list[list[str]]
    records: list[str] = field(default_factory=list)

    @staticmethod
    def made(found: ReportData) -> Answers | None:
        """Return the predictions of an evaluated run; None for a language model."""
        asked = found.questions
        if found.measured is None or found.predictor is None or asked is None:
            return None
        task = found.predictor.task
        reads = any(metric.compares == "records" for metric in found.recipe.metrics)
        records = [task.record(one) for one in asked.inputs] if reads else []
        return Answers(found.split, [one.text for one in found.measured.predictions], asked.references, records)

    @staticmethod
    def of(folder: Path) -> Answers | None:
        """Load the predictions of a run; None if it has none, or the file cannot be read."""
        try:
            return _ANSWERS.validate_python(read_json(folder / _FILE))
        except (RunError, OSError, ValidationError):
            return None

    def save(self, folder: Path) -> None:
        """Write them into the folder of their run."""
        write_json(folder / _FILE, asdict(self))

    def asks_as(self, other: Answers) -> bool:
        """Return True if both have equal references, and so presumably the same inputs."""
        return (self.split, self.references, self.records) == (other.split, other.references, other.records)

    def count(self, metric: Metric) -> Tally:
        """Return the sufficient statistics of a metric per answer."""
        right = [[record] for record in self.records] if metric.compares == "records" else self.references
        return metric.count(self.answers, right)


_ANSWERS = TypeAdapter(Answers)
