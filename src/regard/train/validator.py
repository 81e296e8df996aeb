"""Validator: evaluates the model during training, saves the best one, and decides about early stopping."""

from __future__ import annotations

import torch
from torch import nn

from regard.runs.checkpoint import Progress
from regard.tasks.measurement import Measurement, measure
from regard.tasks.nan_locator import NotFiniteError
from regard.tasks.splits import Split
from regard.train.early_stopping import higher_is_better, judge
from regard.train.log import TrainingLog
from regard.train.signals import MeasurementStopped
from regard.train.training_session import TrainingSession, first_signal
from regard.train.warnings import ValidationWarnings


class Validator:
    """Evaluates the model of a session; a signal interrupts an evaluation, which a resumed run repeats.

    Attributes:
        warnings: warnings about failed learning.
    """

    def __init__(self, session: TrainingSession, log: TrainingLog) -> None:
        self.session = session
        self.log = log
        self.warnings = ValidationWarnings(session.task.unigram_loss(session.setup.train.encoded))

    def validate(self, progress: Progress) -> int | None:
        """Evaluate the model, and save it if it is the best; return the signal to stop, if any process received one."""
        with self.session.averaged():
            return self._validate(progress)

    def _validate(self, progress: Progress) -> int | None:
        session = self.session
        model = session.whole_model()
        measured = self._measure_valid(model, progress.step)
        # If any process was interrupted, all of them discard the validation, so that their progress agrees.
        unfinished = torch.tensor([float(measured is None)], device=session.device)
        stopped, *signalled = session.accelerator.reduce(torch.cat([unfinished, session.signal_flags()])).tolist()
        if measured is not None and not stopped:
            self._judge(progress, model, measured)
        return first_signal(signalled)

    def final(self, model: nn.Module) -> tuple[Measurement, Measurement | None]:
        """Tune the task on the validation split, then measure the final model on validation and test splits.

        Raises:
            MeasurementStopped: a signal was received.
        """
        session = self.session
        samples, test = session.recipe.evaluate.examples, session.setup.test
        with session.signals.measuring():
            self._tune(model)
            valid = self._measure(model, session.setup.valid, samples)
            return valid, None if test is None else self._measure(model, test, samples)

    def _measure(self, model: nn.Module, split: Split, samples: int = 0, *, final: bool = True) -> Measurement:
        return measure(model, self.session.task, split, self.session.recipe, samples=samples, final=final)

    def _measure_valid(self, model: nn.Module, step: int) -> Measurement | None:
        """Evaluate on the validation split; return None if a signal interrupted it."""
        try:
            with self.session.signals.measuring():
                return self._measure(model, self.session.setup.valid, final=False)
        except MeasurementStopped:
            return None
        except NotFiniteError as problem:
            raise NotFiniteError(f"after step {step}: {problem}") from None

    def _judge(self, progress: Progress, model: nn.Module, measured: Measurement) -> None:
        """Compare with earlier validations, save the best model, and print the result."""
        session, values = self.session, measured.values()
        selected = session.recipe.select
        verdict = judge(selected, values, progress.reached)
        progress.reached = verdict.reached
        progress.waited = 0 if verdict.hopeful else progress.waited + 1
        if verdict.better:
            progress.best, progress.best_step = values[selected[0]], progress.step
        averages = session.observe(values[selected[0]], higher_is_better=higher_is_better(selected[0]))
        changed = session.task.after_validation(session.model, measured.loss)
        self.log.add(progress.step, "valid", values)
        if verdict.better and session.is_main:
            session.run.save_model(model.state_dict())
        progress.unvalidated = False
        session.screen.validated(progress.step, values, better=verdict.better)
        warnings = self.warnings.after(progress.step, session.recipe.train.updates, measured, self.log.train_loss)
        for warning in (*warnings, changed, averages):
            if warning is not None:
                session.screen.notice(warning)

    def _tune(self, model: nn.Module) -> None:
        """Tune the parameters of the task, such as thresholds, and save them with its encoders."""
        session = self.session
        model.eval()
        tuned = session.task.tuned(model, session.setup.valid.examples)
        if tuned is not session.task:
            session.task = tuned
            if session.is_main:
                session.run.save_encoders(tuned.encoders)
