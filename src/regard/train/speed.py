"""Speed of training: seconds per update and per validation, and the remaining time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

import torch
from accelerate.utils import broadcast_object_list
from pydantic import BaseModel

from regard.data.batching.feed import BatchPosition
from regard.recipes.sections import Recipe
from regard.runs.budget import Budget
from regard.runs.checkpoint import Progress
from regard.tasks.measurement import inputs_and_references
from regard.tasks.splits import Split
from regard.tasks.task import MEASURED
from regard.train.objective import make_optimizer
from regard.train.schedule import ConstantSchedule
from regard.train.time_spent import duration
from regard.train.training_session import TrainingSession
from regard.train.updater import Updater

_FEW, _MOST = 2, 24  # minimum and maximum number of measured updates; the first is a warm-up
_TOGETHER = 4  # number of measured updates with several processes
_BATCHES = 3  # measured batches of a validation
_LONG = 2 * 3600.0  # duration in seconds from which a smaller model is suggested
_WIDE = 128  # smallest width for which a narrower model is suggested
_SHARE = 0.05  # fraction of train.minutes spent on measuring the speed
_SOON, _EARLY, _PATIENCE = 20, 3, 10.0  # remaining time is announced after 20 updates, or after 3 that took 10 seconds
_WORTH_ANNOUNCING = 30.0  # seconds


@dataclass(frozen=True)
class Speed:
    """Speed on this machine, in seconds.

    Attributes:
        update: seconds per update.
        validation: seconds per validation.
        final: seconds of the final measurements.
    """

    update: float
    validation: float
    final: float

    def total(self, steps: int, valid_every: int) -> float:
        """Return the seconds of `steps` updates, their validations and the final measurements."""
        return steps * self.update + -(-steps // valid_every) * self.validation + self.final

    def within(self, seconds: float, valid_every: int) -> int:
        """Return the number of updates, with their validations, that fit into `seconds`; at least 1.

        >>> speed = Speed(update=1.0, validation=10.0, final=20.0)
        >>> speed.within(155, valid_every=50), speed.total(100, 50), speed.within(3, 50)
        (105, 140.0, 1)
        """
        rounds, rest = divmod(max(seconds - self.final, 0.0), valid_every * self.update + self.validation)
        last = max(0.0, rest - self.validation) // self.update
        return max(1, int(rounds * valid_every + last))


def measured_speed(updater: Updater, seconds: float = 10.0) -> Speed:
    """Measure the speed of some updates, undo them, and measure a part of a validation.

    Args:
        updater: updater of a session before its first update; the state of the session is restored.
        seconds: time limit for updates.
    """
    session = updater.session
    initial = {name: tensor.detach().clone() for name, tensor in session.model.state_dict().items()}
    schedule, session.schedule = session.schedule, ConstantSchedule()
    update = _update_seconds(updater, seconds)
    session.schedule = schedule
    session.model.load_state_dict(initial)
    # A new optimizer discards the moments; the initial weights were restored above.
    session.optimizer = make_optimizer(session.recipe.train, session.model.parameters())
    session.optimizer.zero_grad(set_to_none=session.graphs is None)
    session.carried = None
    validation = validation_seconds(session, session.setup.valid)
    return Speed(update, validation, validation * final_validations(session))


def _update_seconds(updater: Updater, seconds: float) -> float:
    """Return the mean seconds per update, over some batches of the first epoch."""
    session = updater.session
    session.model.train()
    alone, places = session.accelerator.num_processes == 1, session.feed.after(0, 0)
    begin, found = perf_counter(), list[float]()
    # Updates are collective, so several processes make a fixed number, which does not depend on their clocks.
    few, most = (_FEW, _MOST) if alone else (_TOGETHER, _TOGETHER)
    while len(found) < few or (len(found) < most and perf_counter() - begin < seconds):
        group = [next(places) for _ in range(session.recipe.train.batch.accumulate)]
        if session.graphs is not None:
            updater.update(group, Progress())  # capture a new shape outside the measured time
        started = perf_counter()
        updater.update(group, Progress())
        found.append(perf_counter() - started)
    return sum(found[1:]) / len(found[1:])


def validation_seconds(session: TrainingSession, split: Split) -> float:
    """Estimate the seconds of a validation from a few batches, and from a batch of predictions of realistic length."""
    model = session.whole_model()
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            return _likelihood_seconds(session, model, split) + _answer_seconds(session, model, split)
    finally:
        model.train(training)


def _likelihood_seconds(session: TrainingSession, model: torch.nn.Module, split: Split) -> float:
    """Estimate the seconds for the loss, from batches of several lengths."""
    feed = session.task.measuring_feed(session.recipe, split, carries=hasattr(model, "carry"))
    task = session.task.bind(model, split.examples)
    numbers = sorted({round(part * (feed.per_epoch - 1) / (_BATCHES - 1)) for part in range(_BATCHES)})
    begin = perf_counter()
    for number in numbers:  # batches from the shortest to the longest
        # float() waits for the device, so that the clock includes its work.
        float(task.loss(model, feed.batch(BatchPosition(0, number)).to(session.accelerator.device)).nll)
    return (perf_counter() - begin) / len(numbers) * feed.per_epoch


def _answer_seconds(session: TrainingSession, model: torch.nn.Module, split: Split) -> float:
    """Estimate the seconds for predictions; 0 if no metric needs them."""
    recipe, task = session.recipe, session.task.bind(model, split.examples)
    if task.answer is None:
        return 0.0
    questions, _ = inputs_and_references(task, split, recipe)
    some = questions[:: max(1, len(questions) // MEASURED)][:MEASURED]
    search = recipe.search()
    # an untrained model would always decode to the maximum length
    if task.unit == "token" and split.encoded is not None:
        longest = int(split.encoded.lengths(task.answer).max()) + 1
        search = replace(search, max_length=min(search.max_length, longest))
    begin = perf_counter()
    task.predict(model, some, search, batch=MEASURED)
    return (perf_counter() - begin) / len(some) * len(questions)


def final_validations(session: TrainingSession) -> float:
    """Return the duration of the final measurements on both splits, in units of one validation."""
    test = session.setup.test
    return 1.0 + (0.0 if test is None else len(test) / max(1, len(session.setup.valid)))


def updates_in_minutes(updater: Updater, minutes: float) -> int:
    """Return the number of updates of a run of `minutes`: measured at its start, and read from its folder later."""
    session = updater.session
    # Broadcast from the main process, so that all processes make the same number of updates.
    known: list[Budget | None] = broadcast_object_list([Budget.of(session.run.folder)])
    budget = known[0]
    if budget is None:
        measured: list[Budget] = broadcast_object_list([_measured_budget(updater, minutes)])
        budget = measured[0]
        if session.is_main:
            budget.save(session.run.folder)
    return budget.within(minutes)


def _measured_budget(updater: Updater, minutes: float) -> Budget:
    session = updater.session
    begun = max((int(path.name) for path in session.run.checkpoints().paths()), default=0)
    speed = measured_speed(updater, _SHARE * 60 * minutes)
    fits = speed.within(60 * minutes - session.time.total, session.recipe.train.valid_every)
    session.screen.notice(
        f"train.minutes is {minutes:g}: {fits:,} updates of {duration(speed.update)} fit, "
        f"with validations of {duration(speed.validation)}"
    )
    return Budget(minutes, begun, begun + fits)


def advice(recipe: Recipe, seconds: float) -> str | None:
    """Return advice on a run that takes hours on this machine; None for shorter runs.

    >>> from regard.recipes.load import load
    >>> advice(load("dates", ["model.hidden_dim=512"]).recipe, 3 * 3600)
    'this run takes about 3 h on ...; try model.hidden_dim=256, or train.minutes=30'
    """
    if seconds < _LONG:
        return None
    smaller = _narrower(recipe.model, "model")
    return f"this run takes about {duration(seconds)} on {machine()}; try {smaller}train.minutes=30"


def machine() -> str:
    """Return a description of the device."""
    if torch.cuda.is_available():
        return "this GPU"
    threads = torch.get_num_threads()
    return f"{threads} core{'' if threads == 1 else 's'}"


def _narrower(section: BaseModel, key: str) -> str:
    """Return an assignment that halves the width of a wide model; "" for others."""
    for name in ("dim", "hidden_dim"):
        width = getattr(section, name, None)
        if isinstance(width, int) and width >= _WIDE:
            return f"{key}.{name}={width // 2}, or "
    for name in ("encoder", "model"):
        part = getattr(section, name, None)
        if isinstance(part, BaseModel) and (found := _narrower(part, f"{key}.{name}")):
            return found
    return ""


class RemainingTime:
    """Estimate of the remaining time of a run: updates, validations and final measurements."""

    def __init__(self, session: TrainingSession) -> None:
        self.session = session
        self._announced = False

    def seconds(self, progress: Progress) -> float | None:
        """Return the remaining seconds, unless patience ends the run; None before the first update."""
        train = self.session.recipe.train
        updates = max(0, train.updates - progress.step)
        validations = -(-train.updates // train.valid_every) - progress.step // train.valid_every
        return self.session.time.left(updates, max(0, validations), final_validations(self.session))

    def announce(self, progress: Progress) -> None:
        """Print the remaining time once, after the first updates of a run that is not very short."""
        session, time = self.session, self.session.time
        done = time.count("updates")
        if self._announced or not (done >= _SOON or (done >= _EARLY and time.seconds("updates") > _PATIENCE)):
            return
        self._announced = True
        if (self.seconds(progress) or 0.0) > _WORTH_ANNOUNCING and not time.count("validations"):
            time.validation = validation_seconds(session, session.setup.valid)
        left = self.seconds(progress)
        if left is not None and left > _WORTH_ANNOUNCING:
            updates = session.recipe.train.updates - progress.step
            session.screen.foresee(updates, left, time, advice(session.recipe, left))
