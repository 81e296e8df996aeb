"""The seconds of an update and of a validation, measured before training on the model itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

import torch
from accelerate.utils import broadcast_object_list
from pydantic import BaseModel

from regard.data.feed import Place
from regard.recipes.sections import Recipe
from regard.runs.budget import Budget
from regard.runs.checkpoint import Progress
from regard.tasks.splits import Split
from regard.tasks.task import MEASURED
from regard.train.schedule import Constant
from regard.train.time_spent import duration
from regard.train.update import make_optimizer
from regard.train.validation import asked

if TYPE_CHECKING:
    from regard.train.trainer import Trainer

_FEW, _MOST = 2, 24  # updates that are measured; the first is not counted
_TOGETHER = 4  # the same of several processes
_BATCHES = 3  # batches of a validation that are measured
_LONG = 2 * 3600.0  # seconds of a run from which another model is suggested
_WIDE = 128  # the narrowest model that a narrower one is suggested for
_SHARE = 0.05  # of train.minutes, to be spent on measuring updates


@dataclass(frozen=True)
class Speed:
    """Seconds on this machine.

    Attributes:
        update: of one update.
        validation: of one validation.
        final: of the measurements at the end.
    """

    update: float
    validation: float
    final: float

    def total(self, steps: int, valid_every: int) -> float:
        """The seconds of so many updates with their validations, and what comes at the end."""
        return steps * self.update + -(-steps // valid_every) * self.validation + self.final

    def within(self, seconds: float, valid_every: int) -> int:
        """The updates that fit, with their validations; at least one.

        >>> speed = Speed(update=1.0, validation=10.0, final=20.0)
        >>> speed.within(155, valid_every=50), speed.total(100, 50), speed.within(3, 50)
        (105, 140.0, 1)
        """
        rounds, rest = divmod(max(seconds - self.final, 0.0), valid_every * self.update + self.validation)
        last = max(0.0, rest - self.validation) // self.update
        return max(1, int(rounds * valid_every + last))


def measured_speed(trainer: Trainer, seconds: float = 10.0) -> Speed:
    """Learn from a few batches, and forget it; then validate on some examples.

    Args:
        trainer: before its first update; left as it was.
        seconds: after which no further update is measured.
    """
    kept = {name: tensor.detach().clone() for name, tensor in trainer.model.state_dict().items()}
    learned, trainer.schedule = trainer.schedule, Constant()
    update = _update_seconds(trainer, seconds)
    trainer.schedule = learned
    trainer.model.load_state_dict(kept)
    trainer.optimizer = make_optimizer(trainer.recipe.train, trainer.model.parameters())
    trainer.optimizer.zero_grad(set_to_none=trainer.graphs is None)
    trainer.carried = None
    validation = validation_seconds(trainer, trainer.setup.valid)
    return Speed(update, validation, validation * final_validations(trainer))


def _update_seconds(trainer: Trainer, seconds: float) -> float:
    """The mean over some batches of the first epoch."""
    trainer.model.train()
    alone, places = trainer.accelerator.num_processes == 1, trainer.feed.after(0, 0)
    begin, found = perf_counter(), list[float]()
    # Several processes meet in each update: they make the same number, whatever the clock of each says.
    few, most = (_FEW, _MOST) if alone else (_TOGETHER, _TOGETHER)
    while len(found) < few or (len(found) < most and perf_counter() - begin < seconds):
        group = [next(places) for _ in range(trainer.recipe.train.batch.accumulate)]
        if trainer.graphs is not None:
            trainer.update(group, Progress())  # a shape that is new is recorded, once for all batches to come
        started = perf_counter()
        trainer.update(group, Progress())
        found.append(perf_counter() - started)
    return sum(found[1:]) / len(found[1:])


def validation_seconds(trainer: Trainer, split: Split) -> float:
    """An estimate from a few batches and from answers to a batch of questions, as long as the right ones."""
    model = trainer.whole()
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            return _likelihood_seconds(trainer, model, split) + _answer_seconds(trainer, model, split)
    finally:
        model.train(training)


def _likelihood_seconds(trainer: Trainer, model: torch.nn.Module, split: Split) -> float:
    feed = trainer.task.measuring_feed(trainer.recipe, split, carries=hasattr(model, "carry"))
    task = trainer.task.bind(model, split.examples)
    numbers = sorted({round(part * (feed.per_epoch - 1) / (_BATCHES - 1)) for part in range(_BATCHES)})
    begin = perf_counter()
    for number in numbers:  # from the shortest to the longest
        float(task.loss(model, feed.batch(Place(0, number)).to(trainer.accelerator.device)).nll)
    return (perf_counter() - begin) / len(numbers) * feed.per_epoch


def _answer_seconds(trainer: Trainer, model: torch.nn.Module, split: Split) -> float:
    """Nothing where no answers are compared with references."""
    recipe, task = trainer.recipe, trainer.task.bind(model, split.examples)
    if task.answer is None:
        return 0.0
    questions, _ = asked(task, split, recipe)
    some = questions[:: max(1, len(questions) // MEASURED)][:MEASURED]
    search = recipe.search()
    if task.unit == "token" and split.encoded is not None:  # an untrained model would go on to the greatest length
        longest = int(split.encoded.lengths(task.answer).max()) + 1
        search = replace(search, max_length=min(search.max_length, longest))
    begin = perf_counter()
    task.predict(model, some, search, batch=MEASURED)
    return (perf_counter() - begin) / len(some) * len(questions)


def final_validations(trainer: Trainer) -> float:
    """The measurements at the end, of both splits, in validations."""
    test = trainer.setup.test
    return 1.0 + (0.0 if test is None else len(test) / max(1, len(trainer.setup.valid)))


def fitted(trainer: Trainer, minutes: float) -> int:
    """The number of updates of a run that is to take so many minutes: measured where it begins, then the run's own."""
    # What the first process knows and measures, all of them go by.
    known: list[Budget | None] = broadcast_object_list([Budget.of(trainer.run.folder)])
    budget = known[0]
    if budget is None:
        measured: list[Budget] = broadcast_object_list([_measured_budget(trainer, minutes)])
        budget = measured[0]
        if trainer.accelerator.is_main_process:
            budget.save(trainer.run.folder)
    return budget.within(minutes)


def _measured_budget(trainer: Trainer, minutes: float) -> Budget:
    begun = max((int(path.name) for path in trainer.run.checkpoints().paths()), default=0)
    speed = measured_speed(trainer, _SHARE * 60 * minutes)
    fits = speed.within(60 * minutes - trainer.time.total, trainer.recipe.train.valid_every)
    trainer.screen.notice(
        f"train.minutes is {minutes:g}: {fits:,} updates of {duration(speed.update)} fit, "
        f"with validations of {duration(speed.validation)}"
    )
    return Budget(minutes, begun, begun + fits)


def advice(recipe: Recipe, seconds: float) -> str | None:
    """What to do about a run that takes hours on this machine; None where it does not.

    >>> from regard.recipes.load import load
    >>> advice(load("dates", ["model.hidden_dim=512"]).recipe, 3 * 3600)
    'this run takes about 3 h on ...; try model.hidden_dim=256, or train.minutes=30'
    """
    if seconds < _LONG:
        return None
    smaller = _narrower(recipe.model, "model")
    return f"this run takes about {duration(seconds)} on {machine()}; try {smaller}train.minutes=30"


def machine() -> str:
    """What it computes on, in words."""
    if torch.cuda.is_available():
        return "this GPU"
    threads = torch.get_num_threads()
    return f"{threads} core{'' if threads == 1 else 's'}"


def _narrower(section: BaseModel, key: str) -> str:
    """Half the width of a model that is wide, as an assignment; nothing for others."""
    for name in ("dim", "hidden_dim"):
        width = getattr(section, name, None)
        if isinstance(width, int) and width >= _WIDE:
            return f"{key}.{name}={width // 2}, or "
    for name in ("encoder", "model"):
        part = getattr(section, name, None)
        if isinstance(part, BaseModel) and (found := _narrower(part, f"{key}.{name}")):
            return found
    return ""
