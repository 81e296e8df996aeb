"""Generated e-mails: an announcement among distractor sentences, sometimes with an older e-mail quoted below."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter

from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.random_draws import Dice, random_numbers
from regard.systems.summaries.mail import shortened_body

_TOPICS = ("budget", "harbour", "garden", "library", "canteen", "server", "contract", "survey", "newsletter", "archive")
_EVENTS = ("meeting", "review", "training", "workshop", "call", "visit")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday")
_NEWS = (
    ("the {1} about the {0} is moved to {2} .", "{0} {1} moved to {2}"),
    ("we have to cancel the {0} {1} on {2} .", "{0} {1} on {2} cancelled"),
    ("please join us for a {1} on the {0} this {2} .", "{0} {1} this {2}"),
    ("who can lead the {0} {1} on {2} ?", "help wanted : {0} {1} on {2}"),
)
_OPENINGS = ("hello all ,", "dear team ,", "good morning ,", "hi ,")
_FILLERS = (
    "i hope you had a good {2} .",
    "thank you for your work on the {0} .",
    "the last {1} went very well .",
    "the notes of the {0} {1} are on the wall .",
    "coffee will be there on {2} .",
    "let me know if you have questions about the {0} .",
)
_CLOSINGS = ("best regards ,", "thanks ,", "cheers ,")


@dataclass(frozen=True)
class Notices(Generated):
    """E-mails with one announcement: topic, event, day and kind of news are the subject line.

    The announcement is one of three sentences after the opening. The other two are distractors, which also name topics,
    events and days. Half of the e-mails quote an older one with another announcement. All choices are uniform.

    Args:
        split: "train" (80% of all e-mails), "valid" or "test" (10% each).
        size: number of examples.
        clean: remove quotes and closings.
        longest: maximum length of a body in words; longer ones are truncated.
        seed: random seed of the e-mails.
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    clean: bool = field(default=True, kw_only=True)
    longest: int = field(default=200, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()

    def example(self, index: int) -> Example:
        body, subject = self.first_here(partial(self._drawn, index), itemgetter(0))
        source = shortened_body(body, clean=self.clean, longest=self.longest)
        return Example({"source": source, "target": subject}, self.where(index))

    def body(self, index: int) -> str:
        """Return the full body of an e-mail, before cleaning and truncation: the first draw for an index."""
        return self._drawn(index, 0)[0]

    def _drawn(self, index: int, attempt: int) -> tuple[str, str]:
        dice = Dice(random_numbers(self.seed, index, attempt))
        drawn = dice.of

        def named() -> tuple[str, str, str]:
            return drawn(_TOPICS), drawn(_EVENTS), drawn(_DAYS)

        said, subject = drawn(_NEWS)
        words = named()
        sentences = [drawn(_FILLERS).format(*named()) for _ in range(2)]
        sentences.insert(dice.below(3), said.format(*words))
        lines = [drawn(_OPENINGS), *sentences, drawn(_CLOSINGS)]
        if dice.below(2):
            old, _ = drawn(_NEWS)
            lines += [f"> {drawn(_OPENINGS)}", f"> {old.format(*named())}"]
        return "\n".join(lines), subject.format(*words)
