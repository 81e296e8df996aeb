"""Generated small talk: statements about oneself, and questions about statements of earlier turns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from regard.data.batching.order import permutation
from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError
from regard.data.random_draws import Dice, random_numbers
from regard.systems.replies.dialogues import history

_COLOURS = ("red", "green", "blue", "white", "black", "golden", "tiny", "new")
_THINGS = ("boat", "bike", "drum", "lamp", "cat", "dog", "house", "hat", "chair", "clock", "book", "tent")
_DISHES = ("rice", "soup", "bread", "fish", "cake", "salad", "pasta", "cheese")
_TASTES = ("hot", "cold", "sweet", "fresh", "salty", "mild", "dark", "light")
_TOWNS = ("Oslo", "Lima", "Cairo", "Delhi", "Paris", "Quito", "Accra", "Hanoi", "Turin", "Perth")
_SEASONS = ("spring", "summer", "autumn", "winter")
_JOBS = ("baker", "pilot", "nurse", "farmer", "singer", "lawyer", "tailor", "driver", "painter", "miner")
_PLACES = ("school", "ship", "farm", "bank", "theatre", "hospital", "shop", "zoo")
_TOPICS = (
    ("i have a {} {} .", "nice , a {} {} .", "what do i have ?", "you have a {} {} .", _COLOURS, _THINGS),
    ("i like {} {} .", "oh , {} {} .", "what do i like ?", "you like {} {} .", _TASTES, _DISHES),
    ("i was in {} in {} .", "{} in {} is lovely .", "where was i ?", "you were in {} in {} .", _TOWNS, _SEASONS),
    ("i am a {} at a {} .", "a {} at a {} , really ?", "what am i ?", "you are a {} at a {} .", _JOBS, _PLACES),
)


@dataclass(frozen=True)
class Smalltalk(Generated):
    """One to `facts` statements on different topics, each acknowledged; then a question about one of them.

    In a third of the histories the last turn is a statement, and the reply acknowledges it. The reply to a question
    depends on two words of a turn up to 2 `facts` - 1 turns earlier. All choices are uniform.

    Args:
        split: "train" (80% of all dialogues), "valid" or "test" (10% each).
        size: number of examples.
        turns: maximum number of turns in a history.
        separator: token between turns.
        facts: maximum number of statements.
        seed: random seed of the dialogues.

    >>> print(Smalltalk(size=3)[1].fields)
    {'source': 'i have a ...
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    turns: int = field(default=4, kw_only=True)
    separator: str = field(default="|", kw_only=True)
    facts: int = field(default=3, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if not 1 <= self.facts <= len(_TOPICS):
            raise DataError(f"facts is {self.facts}; there are topics for 1 to {len(_TOPICS)}")

    def example(self, index: int) -> Example:
        turns, reply = self.first_here(partial(self._drawn, index), lambda drawn: " ".join(drawn[0]))
        fields = {"source": history(turns, self.turns, self.separator), "target": reply}
        return Example(fields, self.where(index))

    def _drawn(self, index: int, attempt: int) -> tuple[list[str], str]:
        dice = Dice(random_numbers(self.seed, index, attempt))
        topics = permutation(len(_TOPICS), self.seed, index, attempt)[: 1 + dice.below(self.facts)].tolist()
        turns: list[str] = []
        answers: list[tuple[str, str]] = []
        for topic in topics:
            said, heard, question, answer, first, second = _TOPICS[topic]
            words = dice.of(first), dice.of(second)
            turns += [said.format(*words), heard.format(*words)]
            answers.append((question, answer.format(*words)))
        if dice.below(3) == 0:
            return turns[:-1], turns[-1]
        question, answer = dice.of(answers)
        return [*turns, question], answer
