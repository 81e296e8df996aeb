"""Generator of stories about people who move between rooms and pick up or put down objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from regard.data.example import Example, Value
from regard.data.fields.sentences import Sentences
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError
from regard.data.random_draws import Dice, random_numbers

Asked = Literal["one_fact", "two_facts", "yes_no", "counting"]

_PEOPLE = ("Ada", "Blaise", "Carl", "Emmy")
_PLACES = ("attic", "cellar", "garden", "kitchen", "library", "workshop")
_THINGS = ("lamp", "map", "violin")
_WENT, _TOOK, _LEFT = ("walked to", "ran to", "went to"), ("took", "picked up"), ("left", "put down")
_NUMBERS = ("none", "one", "two", "three")


@dataclass(frozen=True)
class World(Generated):
    """Generated stories with one question each, modelled on the first bAbI tasks. Splits share no stories.

    | asked | question | needs |
    |---|---|---|
    | one_fact | where is Ada | her last walk |
    | two_facts | where is the map | who took it, and where they went then |
    | yes_no | is Ada in the attic | her last walk |
    | counting | how many things does Ada hold | all that she took and put down |

    Args:
        asked: kind of question, see the table.
        split: "train" (80% of all stories), "valid" or "test" (10% each).
        size: number of examples.
        shortest, longest: smallest and largest number of sentences per story.
        seed: random seed of the stories.

    Weston et al. 2015, "Towards AI-Complete Question Answering: A Set of Prerequisite Toy Tasks", tasks 1, 2, 6, 7.

    >>> example = next(iter(World("two_facts", longest=5)))
    >>> for sentence in (*example.fields["story"], example.fields["question"], example.fields["answer"]):
    ...     print(sentence)
    Ada ran to the workshop
    Ada walked to the garden
    Ada picked up the lamp
    Ada took the map
    Emmy went to the attic
    where is the lamp
    garden
    """

    asked: Asked = "one_fact"
    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    shortest: int = field(default=4, kw_only=True)
    longest: int = field(default=12, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if self.asked not in get_args(Asked):
            raise DataError(f"nobody asks {self.asked!r} of the world; there are {', '.join(get_args(Asked))}")
        self.check_split()
        if not 4 <= self.shortest <= self.longest:
            raise DataError(f"stories of {self.shortest} to {self.longest} sentences: 4 <= shortest <= longest")

    def example(self, index: int) -> Example:
        # Rejection sampling: redraw until the story has a question and its hash belongs to this split.
        attempt = 0
        while True:
            dice = Dice(random_numbers(self.seed, index, attempt))
            told = _tell(dice, self.shortest + dice.below(self.longest - self.shortest + 1), self.asked)
            asked = _QUESTIONS[self.asked](told, dice)
            if asked and self.is_here(" ".join(told.story)):
                question, answer = asked
                fields: dict[str, Value] = {"story": told.story, "question": question, "answer": answer}
                return Example(fields, self.where(index))
            attempt += 1


class _Told(NamedTuple):
    """Story and world state after it: the last known location of people and things, and the holder of each thing."""

    story: Sentences
    places: dict[str, str]
    holders: dict[str, str]


def _tell(dice: Dice, sentences: int, asked: str) -> _Told:
    told = _Told(Sentences(), {}, {})
    while len(told.story) < sentences:
        told.story.append(_event(told, dice, things=asked in ("two_facts", "counting")))
    return told


def _event(told: _Told, dice: Dice, *, things: bool) -> str:
    """Draw one event, update the world state and return its sentence: a walk, or a thing taken or put down."""
    _, places, holders = told
    person, kind = dice.of(_PEOPLE), dice.below(2)
    held = [thing for thing in _THINGS if holders.get(thing) == person]
    near = [thing for thing in _THINGS if thing not in holders and places.get(thing) in (None, places.get(person))]
    if things and kind and person in places and (held or near):
        take = bool(near) and (not held or dice.below(2) == 0)
        thing = dice.of(near if take else held)
        if take:
            holders[thing] = person
        else:
            del holders[thing]
        places[thing] = places[person]
        return f"{person} {dice.of(_TOOK if take else _LEFT)} the {thing}"
    place = dice.of([place for place in _PLACES if place != places.get(person)])
    places.update(dict.fromkeys((person, *held), place))  # things move with the person who holds them
    return f"{person} {dice.of(_WENT)} the {place}"


def _where_is(told: _Told, dice: Dice, names: Sequence[str], article: str) -> tuple[str, str] | None:
    known = [name for name in names if name in told.places]
    if not known:
        return None
    name = dice.of(known)
    return f"where is {article}{name}", told.places[name]


def _yes_no(told: _Told, dice: Dice) -> tuple[str, str] | None:
    person = dice.of([name for name in _PEOPLE if name in told.places])
    right = told.places[person]
    if dice.below(2):
        return f"is {person} in the {right}", "yes"
    others = [place for place in _PLACES if place != right]
    return f"is {person} in the {dice.of(others)}", "no"


def _counting(told: _Told, dice: Dice) -> tuple[str, str] | None:
    busy = [name for name in _PEOPLE if name in told.holders.values()]
    person = dice.of(busy if busy and dice.below(4) else [name for name in _PEOPLE if name in told.places])
    return f"how many things does {person} hold", _NUMBERS[list(told.holders.values()).count(person)]


_QUESTIONS: dict[str, Callable[[_Told, Dice], tuple[str, str] | None]] = {
    "one_fact": lambda told, dice: _where_is(told, dice, _PEOPLE, ""),
    "two_facts": lambda told, dice: _where_is(told, dice, _THINGS, "the "),
    "yes_no": _yes_no,
    "counting": _counting,
}
