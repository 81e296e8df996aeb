"""Training log: `metrics.jsonl`, and the trackers of the recipe."""

from __future__ import annotations

from collections.abc import Mapping

from regard.runs.checkpoint import Progress
from regard.train.session import Session
from regard.train.trackers import Trackers


class TrainingLog:
    """Writes each measurement to `metrics.jsonl` and to trackers, on the main process.

    Attributes:
        train_loss: the last logged loss on training data; None before the first.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.train_loss: float | None = None
        self._trackers: Trackers | None = None

    def open(self, progress: Progress) -> None:
        """Drop rows after the step that the run resumes from, and start the trackers."""
        session = self.session
        if not session.is_main:
            return
        for damage in session.run.metrics.rewind(progress.step):
            session.screen.notice(damage)
        if session.recipe.train.trackers:
            notice = session.screen.notice
            self._trackers = Trackers(session.recipe, session.run.folder, step=progress.step, notice=notice)

    def add(self, step: int, split: str, values: Mapping[str, float]) -> None:
        """Add a row."""
        if self.session.is_main:
            self.session.run.metrics.add(step, split, **values)
        if self._trackers is not None:
            self._trackers.add(step, split, values)

    def add_training(self, progress: Progress) -> None:
        """Add a row with the mean training loss since the last one."""
        self.train_loss = progress.logged_nll / max(progress.logged_tokens, 1)
        progress.logged_nll, progress.logged_tokens = 0.0, 0
        rate = self.session.optimizer.param_groups[0]["lr"]
        self.add(progress.step, "train", {"loss": self.train_loss, "rate": rate})

    def close(self) -> None:
        """End the trackers."""
        if self._trackers is not None:
            self._trackers.close()
