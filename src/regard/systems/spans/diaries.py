"""Generated diaries of a few people, with questions answered by spans of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from regard.data.batching.order import permutation, splitmix64
from regard.data.example import Example, Value
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError

_PEOPLE = ("Ada", "Blaise", "Carl", "Emmy", "Grace", "Henri", "Ida", "Karl", "Leonhard", "Marie", "Niels", "Sofia")
_DEEDS = (("found", "find"), ("lost", "lose"), ("sold", "sell"), ("bought", "buy"), ("hid", "hide"), ("drew", "draw"))
_THINGS = ("a map", "a violin", "two lamps", "an old clock", "a red hat", "three coins", "a letter", "some bread")
_PLACES = ("in Turin", "at the mill", "in the attic", "near Basel", "in the old harbour", "at home", "in Göttingen")
_TIMES = ("on Monday", "at noon", "in May", "last winter", "in 1843", "one evening", "on the third day", "at Easter")
_DRAWS = 5


@dataclass(frozen=True)
class Diaries(Generated):
    """Passages of a few sentences, each about another person, and a question about one; the answer is a span of it.

    "Emmy sold an old clock near Basel in May. Karl ..." and "Where did Emmy sell it?", "near Basel". Fields as in
    `Squad`. Passages are disjoint between splits.

    With fewer `people` than sentences, a name does not identify the sentence. The verb does, and it has two forms:
    "sell" in the question, "sold" in the passage.

    Args:
        split: "train" (80% of all passages), "valid" or "test" (10% each).
        size: number of examples.
        shortest, longest: minimum and maximum number of sentences.
        people: number of people in a passage, who take turns; None for a different person in each sentence.
        seed: random seed of the passages.

    >>> example = next(iter(Diaries(longest=3)))
    >>> for name in ("context", "question", "answer", "start"):
    ...     print(example.fields[name])
    Emmy drew a red hat in the old harbour in May. Niels lost a red hat near Basel on the third day.
    Where did Niels lose it?
    near Basel
    68
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    shortest: int = field(default=2, kw_only=True)
    longest: int = field(default=4, kw_only=True)
    people: int | None = field(default=None, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        most = len(_PEOPLE) if self.people is None else self.people * len(_DEEDS)
        if not 1 <= self.shortest <= self.longest <= most:
            raise DataError(
                f"diaries of {self.shortest} to {self.longest} sentences: 1 <= shortest <= longest <= {most}"
            )
        if self.people is not None and not 1 <= self.people <= len(_PEOPLE):
            raise DataError(f"diaries of {self.people} people: there are 1 to {len(_PEOPLE)}")

    def example(self, index: int) -> Example:
        fields = self.first_here(partial(self._drawn, index), lambda drawn: str(drawn["context"]))
        return Example(fields, self.where(index))

    def _drawn(self, index: int, attempt: int) -> dict[str, Value]:
        draws = splitmix64(np.arange(_DRAWS * self.longest + 3, dtype=np.uint64), self.seed, index, attempt).tolist()
        sentences = self.shortest + draws.pop() % (self.longest - self.shortest + 1)
        asked, what = draws.pop() % sentences, draws.pop() % 3
        people = permutation(len(_PEOPLE), self.seed, index, attempt).tolist()[: self.people]
        deeds = permutation(len(_DEEDS), self.seed, index, attempt, 1).tolist()  # no verb twice per person
        context, question, answer, start = "", "", "", 0
        for number in range(sentences):
            drawn, (turn, who) = draws.pop(), divmod(number, len(people))
            deed = _DEEDS[drawn % len(_DEEDS) if self.people is None else deeds[(turn + who) % len(_DEEDS)]]
            thing, place, time = (words[draws.pop() % len(words)] for words in (_THINGS, _PLACES, _TIMES))
            person = _PEOPLE[people[who]]
            if number == asked:
                answer = (thing, place, time)[what]
                question = f"{('What', 'Where', 'When')[what]} did {person} {deed[1]}{'' if what == 0 else ' it'}?"
                before = (f"{person} {deed[0]} ", thing + " ", place + " ")
                start = len(context) + len("".join(before[: what + 1]))
            context += f"{person} {deed[0]} {thing} {place} {time}. "
        found: dict[str, Value] = {"context": context.rstrip(), "question": question, "answer": answer}
        return {**found, "start": str(start), "answers": [answer]}
