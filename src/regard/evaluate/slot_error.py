"""Slot error rate: facts of a record that a text leaves out, gets wrong or repeats."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from regard.evaluate.metric_result import MetricResult, signature
from regard.evaluate.tally import Floats, Tally, safe_ratio
from regard.evaluate.texts import paired_texts, single_reference

Slot = tuple[str, str]  # the slot's name, and its value in lower case
Phrases = Mapping[str, Mapping[str, Sequence[str]]]

_BRACKETED = re.compile(r"\s*([^\[\],]+?)\s*\[([^\]]*)\]\s*(?:,|$)")
_WORD = re.compile(r"[^\W_]+|[£$€%]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_AGREES, _DENIES = frozenset({"yes", "true"}), frozenset({"no", "false"})
_NEGATIONS = frozenset({"no", "not", "non", "n", "t", "isnt", "never", "without", "neither"})
_NEGATED_WITHIN = 3  # words


class SlotErrors(NamedTuple):
    """Counts of facts.

    Attributes:
        missing: facts of the record that the text does not have.
        wrong: values in the text that the record does not have: instead of the right one, or of no slot of the record.
        repeated: mentions of a fact after its first.
        slots: facts of the record.
    """

    missing: int
    wrong: int
    repeated: int
    slots: int

    @property
    def rate(self) -> float:
        """Errors per fact."""
        return safe_ratio(self.missing + self.wrong + self.repeated, self.slots)


def read_record(text: str) -> list[Slot]:
    """The facts of a record, written as in the E2E data or as a JSON object, whose values may be lists.

    >>> read_record("name[The Eagle], familyFriendly[yes]")
    [('name', 'the eagle'), ('familyFriendly', 'yes')]
    >>> read_record('{"food": ["Thai", "Indian"]}')
    [('food', 'thai'), ('food', 'indian')]
    """
    if text.lstrip().startswith("{"):
        try:
            facts = json.loads(text)
        except ValueError as problem:
            raise ValueError(f"slot_error: the record {text!r} is not JSON: {problem}") from None
        return [
            (slot, _plain(value))
            for slot, entry in facts.items()
            for value in (entry if isinstance(entry, list) else [entry])
        ]
    found, at = [], 0
    while at < len(text.rstrip()):
        match = _BRACKETED.match(text, at)
        if match is None:
            raise ValueError(f"slot_error: the record {text!r} is neither 'name[The Eagle], food[Thai]' nor JSON")
        found.append((match[1], _plain(match[2])))
        at = match.end()
    return found


def slot_errors(
    hypotheses: Sequence[str],
    records: Sequence[str] | Sequence[Sequence[str]],
    *,
    phrases: Phrases | None = None,
    placeholder: str = "<{slot}>",
) -> list[SlotErrors]:
    """Count the slot errors of each text; see `slot_error_rate`.

    >>> slot_errors(["The Eagle serves Thai food. The Eagle is cheap."], ["name[The Eagle], food[Indian], area[city]"])
    [SlotErrors(missing=2, wrong=0, repeated=1, slots=3)]
    """
    facts = [
        read_record(text) for text in single_reference("slot_error", paired_texts("slot_error", hypotheses, records))
    ]
    finder = _Finder({fact for record in facts for fact in record}, phrases or {}, placeholder)
    return [_compare(record, finder.mentions(text)) for text, record in zip(hypotheses, facts, strict=True)]


def slot_error_tally(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    *,
    phrases: Phrases | None = None,
    placeholder: str = "<{slot}>",
) -> Tally:
    """The slot errors of every text, for `slot_error_rate` and for the bootstrap; the references are records."""
    rows = slot_errors(hypotheses, references, phrases=phrases, placeholder=placeholder)

    def value(summed: Floats) -> float:
        return safe_ratio(float(summed[:3].sum()), float(summed[3]))

    how = signature(case="lc", match="longest", phrases=_count(phrases), placeholder=placeholder)
    return Tally.of("slot error rate", rows, value, how)


def slot_error_rate(
    hypotheses: Sequence[str],
    records: Sequence[str] | Sequence[Sequence[str]],
    *,
    phrases: Phrases | None = None,
    placeholder: str = "<{slot}>",
) -> MetricResult:
    r"""Slot error rate of texts that were generated from records; lower is better, and it can exceed 1.

    .. math:: \mathrm{SER} = \frac{\text{missing} + \text{wrong} + \text{repeated}}{\text{facts in the records}}

    A value is mentioned where its words stand in the text, without case and punctuation, the longest possible value
    first. A value of another record of the set that the text mentions is wrong. Where it stands instead of the right
    value of its slot, that is one error and not two. A value of yes or no is mentioned by the name of its slot
    ("familyFriendly": "family friendly"), no by a negation up to three words before it.

    Args:
        hypotheses: one text per record.
        records: `name[The Eagle], food[Thai]`, or a JSON object.
        phrases: other ways to say a value: `{"priceRange": {"cheap": ["inexpensive", "low-priced"]}}`.
        placeholder: what stands for the value of a slot in delexicalised texts; it counts as the value of the record,
            and is wrong if the record has no such slot.

    Returns:
        Score; `slot_errors` has the three kinds for each text.

    Wen et al. 2015, "Semantically Conditioned LSTM-based Natural Language Generation", section 4.1, (p + q) / N with p
    missing and q redundant slots; wrong values as in Dušek, Howcroft & Rieser 2019, "Semantic Noise Matters for Neural
    Natural Language Generation". Values are found by their words alone, so report the rate of the human references
    beside it: it is not 0.

    Of 5 facts, the first text has "Indian" for "Thai", and the second leaves its area out:

    >>> records = ["name[The Eagle], food[Thai], area[riverside]", "food[Indian], area[riverside]"]
    >>> texts = ["At the riverside, The Eagle has Indian food.", "They serve <food> food."]
    >>> print(slot_error_rate(texts, records))   # (1 + 1) / 5
    slot error rate 0.4000 (case:lc|match:longest|phrases:0|placeholder:<{slot}>)
    """
    return slot_error_tally(hypotheses, records, phrases=phrases, placeholder=placeholder).score()


class _Finder:
    """Finds the facts of a set of records in texts."""

    def __init__(self, facts: set[Slot], phrases: Phrases, placeholder: str) -> None:
        if "{slot}" not in placeholder:
            raise ValueError(f"slot_error: placeholder must contain '{{slot}}'; got {placeholder!r}")
        self._marks = {placeholder.format(slot=slot): slot for slot, _ in facts}
        self._pattern = re.compile("|".join(sorted(map(re.escape, self._marks), key=len, reverse=True)) or "(?!)")
        self._forms: dict[tuple[str, ...], set[Slot]] = defaultdict(set)
        self._names: dict[tuple[str, ...], str] = {}
        values = defaultdict(set)
        for slot, value in facts:
            values[slot].add(value)
        for slot, each in values.items():
            if each <= _AGREES | _DENIES:
                self._names[_words(_CAMEL.sub(" ", slot))] = slot
            else:
                for value in each:
                    self._forms[_words(value)].add((slot, value))
        for slot, values_in_words in phrases.items():
            for value, ways in values_in_words.items():
                for way in ways:
                    self._forms[_words(way)].add((slot, _plain(value)))
        self._forms.pop((), None)
        self._longest = max(map(len, (*self._forms, *self._names)), default=0)

    def mentions(self, text: str) -> Iterator[set[Slot]]:
        """For each mention the facts that it can stand for; of a placeholder, a slot with the value ''."""
        yield from ({(self._marks[mark], "")} for mark in self._pattern.findall(text))
        words, at = _words(self._pattern.sub(" ", text)), 0
        while at < len(words):
            for size in range(min(self._longest, len(words) - at), 0, -1):
                form = words[at : at + size]
                if (found := self._forms.get(form)) is not None:
                    yield found
                    break
                if (slot := self._names.get(form)) is not None:
                    denied = not _NEGATIONS.isdisjoint(words[max(0, at - _NEGATED_WITHIN) : at])
                    yield {(slot, value) for value in (_DENIES if denied else _AGREES)}
                    break
            else:
                size = 1
            at += size


def _compare(record: Sequence[Slot], mentions: Iterator[set[Slot]]) -> SlotErrors:
    """Missing, wrong and repeated facts of one text."""
    left, known = Counter(record), set(record)
    wrong: list[set[str]] = []
    repeated = 0
    for candidates in mentions:
        possible = {fact for fact in known if fact in candidates or (fact[0], "") in candidates}
        due = [fact for fact in record if fact in possible and left[fact]]
        if due:
            left[due[0]] -= 1
        elif possible:
            repeated += 1
        else:
            wrong.append({slot for slot, _ in candidates})
    missing = [slot for slot, _ in left.elements()]
    for slots in wrong:  # a wrong value instead of the right one is one error
        if (instead := next((slot for slot in missing if slot in slots), None)) is not None:
            missing.remove(instead)
    return SlotErrors(len(missing), len(wrong), repeated, len(record))


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


def _plain(value: object) -> str:
    return " ".join(str(value).lower().split())


def _count(phrases: Phrases | None) -> int:
    return sum(len(ways) for each in (phrases or {}).values() for ways in each.values())
