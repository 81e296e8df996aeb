"""Parser of ABC notation: converts a tune to notes, and collects all errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from regard.systems.melodies.keys import SEMITONES, signature
from regard.systems.melodies.notes import Note
from regard.systems.melodies.repeats import Item, unfold_repeats

_FIELD = re.compile(r"\s*([A-Za-z]):(?![|:])(.*)")  # "A:|" is not a field but a note before the end of a repeat
_METRE = re.compile(r"(\d+)/(\d+)")
_LENGTH = re.compile(r"(\d*)(/*)(\d*)")
_ACCIDENTALS = {"^^": 2, "^": 1, "=": 0, "_": -1, "__": -2}
_TUPLETS = {2: 3, 3: 2, 4: 3, 6: 2, 8: 3}  # n notes in the time of m; other n depend on the metre
_NOTE = r"(?:\^\^|__|[\^=_])?[A-Ga-g][,']*|[zx]"
_TOKEN = re.compile(
    rf"""
    (?P<skip>[ \t]+|\\|"[^"]*"|\{{[^}}]*\}}|![^!]*!|~|\.|\)|\((?!\d))
  | (?P<field>\[[A-Za-z]:[^\]]*\])
  | (?P<ending>\[[1-9]|(?<=[|:])[12](?![\d:|]))
  | (?P<bar>\[\||:*\|+\]?:*|:+)
  | \((?P<tuplet>\d)(?P<within>:\d?)?(?P<many>:\d?)?
  | \[(?P<together>[ ]*(?:(?:{_NOTE})\d*/*\d*[ \-]*)+)\](?P<all>\d*/*\d*)
  | (?P<note>{_NOTE})(?P<length>\d*/*\d*)
  | (?P<tie>-)
  | (?P<broken><+|>+)
    """,
    re.VERBOSE,
)


class Metre(NamedTuple):
    """A metre: bar length in whole notes, and True if it is compound (groups of three)."""

    length: Fraction | None
    compound: bool = False


@dataclass(frozen=True)
class Tune:
    """A parsed melody.

    Attributes:
        title: field T; "" if it is missing.
        key: the first key.
        notes: notes in playing order, with repeats unfolded.
        tempo: quarter notes per minute.
        errors: syntax errors with line and column; empty for a valid tune.
        remarks: irregularities of a valid tune: bars whose length differs from the metre, open repeats.
    """

    title: str
    key: str
    notes: tuple[Note, ...]
    tempo: float
    errors: tuple[str, ...]
    remarks: tuple[str, ...]


def parse(text: str) -> Tune:
    """Parse one tune in the subset of ABC 2.1 for melodies.

    The fields are X, T, M, L, Q and K, the last four also between lines of music and as `[K:D]`; all others are
    ignored. Music consists of notes with accidentals, octaves and lengths, rests, ties, tuplets, dotted rhythms, bars,
    repeats and endings. Chord symbols, grace notes, slurs and decorations are ignored; of simultaneous notes the
    highest is kept. An accidental applies to its letter in all octaves until the end of the bar.

    The function does not raise: `errors` and `remarks` contain one sentence per problem.

    >>> tune = parse("M:2/4\\nL:1/8\\nK:D\\n|:F2 ^G>A:|")
    >>> [(note.pitch, note.beats) for note in tune.notes[:3]], len(tune.notes)
    ([(66, 1.0), (68, 0.75), (69, 0.25)], 6)
    >>> parse("M:2/4\\nK:G\\nGH").errors
    ("line 3, column 2: 'H' is not part of a melody",)
    """
    return _Parser().parsed(text)


@dataclass
class _Parser:
    """State of one pass over the lines of a tune; durations are in whole notes."""

    title: str = ""
    key: str | None = None
    sharps: dict[str, int] = field(default_factory=dict)
    metre: Metre = field(default_factory=lambda: Metre(None))
    unit: Fraction | None = None
    tempo: float | None = None
    items: list[Item] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    accidentals: dict[str, int] = field(default_factory=dict)
    bar: Fraction = Fraction(0)
    inner: bool = False  # the bar starts with a plain bar line
    tied: bool = False
    stretch: Fraction = Fraction(1)  # duration factor of the notes of a tuplet
    stretched: int = 0
    dotted: Fraction = Fraction(1)  # duration factor of the note after > or <
    where: str = ""

    def parsed(self, text: str) -> Tune:
        for number, line in enumerate(text.splitlines(), start=1):
            self.where = f"line {number}"
            line = line.partition("%")[0].rstrip()
            if (named := _FIELD.match(line)) is not None:
                self._field(named[1], named[2].strip())
            elif line.strip():
                self._music(line, number)
        self._ended(last=True)
        if self.key is None:
            self.errors.append("there is no key; write a line K: with one, such as K:G")
        notes = [] if self.errors else unfold_repeats(self.items, self.remarks)
        if not self.errors and not any(note.pitch is not None for note in notes):
            self.errors.append("there is no note")
        tempo = self.tempo or (180.0 if self.metre.compound else 120.0)
        return Tune(self.title, self.key or "", tuple(notes), tempo, tuple(self.errors), tuple(self.remarks))

    def _field(self, name: str, value: str) -> None:
        if name == "T":
            self.title = self.title or value
        elif name == "K":
            try:
                self.sharps, self.key = signature(value), self.key or value
            except ValueError as problem:
                self.errors.append(f"{self.where}: {problem}")
        elif name == "M":
            self._metre(value)
        elif name == "L":
            found = _METRE.fullmatch(value)
            if found is None or not int(found[1]) or not int(found[2]):
                self.errors.append(f"{self.where}: L:{value} is not a length of notes; write L:1/8")
            else:
                self.unit = Fraction(int(found[1]), int(found[2]))
        elif name == "Q":
            self._tempo(value)

    def _metre(self, value: str) -> None:
        found = _METRE.fullmatch({"C": "4/4", "C|": "2/2"}.get(value, value))
        if value == "none":
            self.metre = Metre(None)
        elif found is None or not int(found[1]) or not int(found[2]):
            self.errors.append(f"{self.where}: M:{value} is not a metre; write M:4/4")
        else:
            beats = int(found[1])
            self.metre = Metre(Fraction(beats, int(found[2])), found[2] == "8" and beats > 3 and beats % 3 == 0)

    def _tempo(self, value: str) -> None:
        found = re.fullmatch(r"(?:(\d+)/(\d+)\s*=\s*)?(\d+)", value)
        length = Fraction(1, 4) if found is None or found[1] is None or not int(found[2]) else Fraction(value[:3])
        if found is None or not length or not int(found[3]):
            self.remarks.append(f"{self.where}: Q:{value} is not a tempo; write Q:1/4=120")
        else:
            self.tempo = float(4 * length * int(found[3]))

    @property
    def _unit(self) -> Fraction:
        """Return the default note length: a sixteenth in metres below 3/4, an eighth in others."""
        short = self.metre.length is not None and self.metre.length < Fraction(3, 4)
        return self.unit or (Fraction(1, 16) if short else Fraction(1, 8))

    def _music(self, line: str, number: int) -> None:
        at = 0
        while at < len(line):
            self.where = f"line {number}, column {at + 1}"
            found = _TOKEN.match(line, at)
            if found is None:
                self.errors.append(f"{self.where}: {line[at]!r} is not part of a melody")
                at += 1
                continue
            self._token(found)
            at = found.end()

    def _token(self, found: re.Match[str]) -> None:
        kind = found.lastgroup
        if kind == "field":
            self._field(found["field"][1], found["field"][3:-1].strip())
        elif kind == "ending":
            self.items.append(Item("ending", number=int(found["ending"][-1])))
        elif kind == "bar":
            self._bar(found["bar"])
        elif kind in ("tuplet", "within", "many"):
            self._tuplet(found)
        elif kind == "all":
            inside = re.findall(rf"({_NOTE})(\d*/*\d*)", found["together"])
            pitches = [pitch for name, _ in inside if (pitch := self._pitch(name)) is not None]
            times = self._times(found["all"]) * self._times(inside[0][1])
            self._note(max(pitches, default=None), times)
        elif kind == "length":
            self._note(self._pitch(found["note"]), self._times(found["length"]))
        elif kind == "tie":
            self.tied = True
        elif kind == "broken":
            self._broken(found["broken"])

    def _pitch(self, name: str) -> int | None:
        if name in "zx":
            return None
        sign = name.rstrip("ABCDEFGabcdefg,'")
        letter = name[len(sign)].upper()
        if sign:
            self.accidentals[letter] = _ACCIDENTALS[sign]
        shift = self.accidentals.get(letter, self.sharps.get(letter, 0))
        octave = int(name[len(sign)].islower()) + name.count("'") - name.count(",")
        pitch = 60 + SEMITONES[letter] + 12 * octave + shift
        if not 0 <= pitch <= 127:
            self.errors.append(f"{self.where}: {name} is outside of the pitches 0 to 127 of MIDI")
            return None
        return pitch

    def _times(self, written: str) -> Fraction:
        """Return the length factor of a note: 3, /2, 3/2, / for a half, // for a quarter."""
        above, slashes, below = _LENGTH.fullmatch(written).groups()  # type: ignore[union-attr]
        bottom = int(below) if below else 2 ** len(slashes)
        if not bottom or above == "0" or max(int(above or 1), bottom) > 64:
            self.errors.append(f"{self.where}: {written!r} is not a length; it is a number, or a fraction such as 3/2")
            return Fraction(1)
        return Fraction(int(above or 1), bottom)

    def _note(self, pitch: int | None, times: Fraction) -> None:
        length = self._unit * times * self.dotted
        if self.stretched:
            length *= self.stretch
            self.stretched -= 1
        place = len(self.items) - 1
        while place >= 0 and self.items[place].kind == "bar":  # ties continue across bar lines and empty bars
            place -= 1
        before = self.items[place] if place >= 0 else None
        if self.tied and before is not None and before.kind == "note" and before.pitch == pitch is not None:
            self.items[place] = before._replace(length=before.length + length)
        else:
            self.items.append(Item("note", pitch, length))
        self.bar += length
        self.tied, self.dotted = False, Fraction(1)

    def _broken(self, signs: str) -> None:
        """Lengthen the note before `>` by half and halve the note after it; `<` does the opposite."""
        last = self.items[-1] if self.items else None
        if last is None or last.kind != "note" or len(signs) > 3:
            self.errors.append(f"{self.where}: {signs} stands between two notes")
            return
        short = Fraction(1, 2 ** len(signs))
        first, self.dotted = (2 - short, short) if signs[0] == ">" else (short, 2 - short)
        self.bar += last.length * (first - 1)
        self.items[-1] = last._replace(length=last.length * first)

    def _tuplet(self, found: re.Match[str]) -> None:
        count = int(found["tuplet"])
        within, many = ((found[name] or ":")[1:] for name in ("within", "many"))
        time = int(within) if within else _TUPLETS.get(count, 3 if self.metre.compound else 2)
        if count < 2 or not time or many == "0":
            self.errors.append(f"{self.where}: ({count} is not a tuplet; write (3 before three notes")
            return
        self.stretch, self.stretched = Fraction(time, count), int(many or count)

    def _bar(self, sign: str) -> None:
        plain = sign == "|"
        self._ended(last=not plain)
        self.accidentals.clear()
        closes, opens = sign.startswith(":"), sign.endswith(":")
        if sign.strip(":") == "" and len(sign) == 1:
            closes, opens = False, False
            self.errors.append(f"{self.where}: ':' alone is no bar line; write |: or :|")
        if closes:
            self.items.append(Item("close"))
        if opens:
            self.items.append(Item("open"))
        if not closes and not opens:
            self.items.append(Item("bar" if plain else "double"))
        self.inner = plain

    def _ended(self, *, last: bool) -> None:
        """Check the length of a bar; next to the beginning, the end or a repeat it may be incomplete."""
        length, full = self.bar, self.metre.length
        self.bar = Fraction(0)
        if self.stretched:
            self.remarks.append(f"{self.where}: a tuplet lacks {self.stretched} of its notes")
            self.stretched = 0
        if full is None or not length or length == full or (length < full and (last or not self.inner)):
            return
        self.remarks.append(f"{self.where}: the bar has a length of {length}; the metre wants {full}")


def tunes(text: str) -> Iterator[tuple[int, str]]:
    """Yield each tune of a file with the number of its first line; a tune starts with a field X.

    >>> list(tunes("% reels\\nX:1\\nK:G\\nG|\\n\\nX:2\\nK:D\\nD|"))
    [(2, 'X:1\\nK:G\\nG|'), (6, 'X:2\\nK:D\\nD|')]
    """
    lines = text.splitlines()
    begins = [index for index, line in enumerate(lines) if line.startswith("X:")]
    for begin, end in zip(begins, [*begins, len(lines)][1:], strict=True):
        yield begin + 1, "\n".join(lines[begin:end]).strip()
