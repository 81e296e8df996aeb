"""Written forms of dates, language by language."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from regard.data.problems import DataError

# CLDR's patterns: d day, M month (MMM short, MMMM whole), y year, E weekday; {o} stands for the day as an ordinal.
_COMMON = (
    *("d MMMM y", "dd MMMM y", "d. MMMM y", "MMMM d, y", "y MMMM d", "y, d MMMM", "d/MMMM/y"),
    *("d MMM y", "MMM d, y", "d-MMM-y", "dd/MMM/y", "y MMM d"),
    *("EEEE d MMMM y", "d MMMM y, EEEE", "EEE, d MMM y", "d MMM y (EEE)", "EEE d MMMM y"),
    "y-MM-dd",
)
_HAN = ("y年M月d日", "y年MM月dd日", "y年M月d日EEEE", "y年M月d日(EEE)", "EEEE y年M月d日", "y 年 M 月 d 日", "y-MM-dd")
_HANGUL = (
    "y년 M월 d일",
    "y년 MM월 dd일",
    "y년 M월 d일 EEEE",
    "y년 M월 d일 (EEE)",
    "y년M월d일",
    "EEE y년 M월 d일",
    "y-MM-dd",
)
_OWN = {"ja": _HAN, "zh": _HAN, "ko": _HANGUL}
_ENGLISH = ("'the' '{o}' 'of' MMMM y", "'{o}' 'of' MMMM, y")

KEPT = frozenset({"d MMMM y", "d MMM y", "y年M月d日", "y년 M월 d일", "y-MM-dd"})
"""Patterns reserved for training, so that training has every month name in every language and case."""

BEFORE = {
    "cs": ("dne", "Datum:"),
    "de": ("am", "Datum:"),
    "el": ("στις", "Ημερομηνία:"),
    "en": ("on", "Date:"),
    "es": ("el", "Fecha:"),
    "fi": ("päivänä", "Päiväys:"),
    "fr": ("le", "Date :"),
    "id": ("pada", "Tanggal:"),
    "it": ("il", "Data:"),
    "ja": ("西暦", "日付:"),
    "ko": ("서기", "날짜:"),
    "nl": ("op", "Datum:"),
    "pl": ("dnia", "Data:"),
    "pt": ("em", "Data:"),
    "ru": ("от", "Дата:"),
    "sv": ("den", "Datum:"),
    "tr": ("tarih", "Tarih:"),
    "uk": ("від", "Дата:"),
    "zh": ("公元", "日期:"),
}
"""Languages, and the words that can precede a date in them."""

LANGUAGES = tuple(BEFORE)


def _english(day: int) -> str:
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


_ORDINALS: dict[str, Callable[[int], str]] = {
    "en": _english,
    "fr": lambda day: "1er" if day == 1 else str(day),
    "it": lambda day: "1º" if day == 1 else str(day),
    "nl": lambda day: f"{day}e",
    "pt": lambda day: "1º" if day == 1 else str(day),
    "sv": lambda day: f"{day}:e",
}


class Format(NamedTuple):
    """One way to write a date: a language, a pattern of CLDR, and a case ("as is", "lower", "upper").

    >>> Format("es", "'el' d 'de' MMMM 'de' y", "as is").write(datetime.date(2021, 3, 3))
    'el 3 de marzo de 2021'
    """

    language: str
    pattern: str
    case: str

    def write(self, date: datetime.date) -> str:
        """Write a date in this format."""
        from babel.dates import format_date

        text = format_date(date, self.pattern, self.language).replace("\u202f", " ").replace("\xa0", " ")
        if "{o}" in text:
            text = text.replace("{o}", _ORDINALS[self.language](date.day))
        return text if self.case == "as is" else _cased(text, self.case, self.language)


@cache
def formats(language: str) -> tuple[Format, ...]:
    """Return the distinct formats of a language; formats that write all dates identically are merged.

    >>> len(formats("de")), formats("de")[0]
    (67, Format(language='de', pattern='d MMMM y', case='as is'))
    """
    if language not in BEFORE:
        raise DataError(f"there are no dates in {language!r}; there are {', '.join(LANGUAGES)}")
    probes = [datetime.date(2021, month, 1 + 2 * month) for month in range(1, 13)]
    found: dict[tuple[str, ...], Format] = {}
    for pattern in _patterns(language):
        for case in ("as is", "lower", "upper"):
            candidate = Format(language, pattern, case)
            found.setdefault(tuple(candidate.write(probe) for probe in probes), candidate)
    return tuple(found.values())


def _patterns(language: str) -> list[str]:
    """Return the reserved patterns, then those of CLDR, those with ordinals, and those with preceding words."""
    from babel.dates import get_date_format

    full, long, medium = (get_date_format(name, language).pattern for name in ("full", "long", "medium"))
    patterns = [*_OWN.get(language, _COMMON), full, long]
    if "MMM" in medium:  # else its day and month are both bare numbers
        patterns.append(medium)
    if language in _ORDINALS:
        patterns += ["'{o}' MMMM y", "MMMM '{o}', y", "EEEE '{o}' MMMM y", *(_ENGLISH if language == "en" else ())]
    patterns += [f"'{word}' {pattern}" for word in BEFORE[language] for pattern in (long, full)]
    return sorted(dict.fromkeys(patterns), key=lambda pattern: pattern not in KEPT)


def _cased(text: str, case: str, language: str) -> str:
    if language == "tr":  # a dot on the i stays a dot
        text = text.replace("i", "İ") if case == "upper" else text.replace("I", "ı").replace("İ", "i")
    return text.upper() if case == "upper" else text.lower()
