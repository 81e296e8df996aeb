"""Generated data: dates and digits, their splits disjoint, every text with one answer."""

from __future__ import annotations

import datetime
import re

import pytest

from regard.data import DataError
from regard.data.hash_split import Part
from regard.systems.translation.date_formats import LANGUAGES, Format, formats
from regard.systems.translation.dates import Dates
from regard.systems.translation.digits import Digits

PARTS: tuple[Part, ...] = ("train", "valid", "test")


def test_dates_and_formats_of_a_split_are_in_no_other() -> None:
    dates = [{str(e.fields["target"]) for e in Dates(part, size=700)} for part in PARTS]
    assert len(set().union(*dates)) == sum(map(len, dates))
    ways = [{way for language in Dates(part).formats() for way in language} for part in PARTS]
    assert len(set().union(*ways)) == sum(map(len, ways)) == sum(len(formats(language)) for language in LANGUAGES)


def test_no_text_of_test_could_be_one_of_train() -> None:
    known = dict(zip(LANGUAGES, Dates("train").formats(), strict=True))
    for language in ("de", "fr", "ja"):  # März is short for März, only the first is 1er, and 10月 has its two digits
        for example in Dates("test", size=60, languages=(language,)):
            date = datetime.date.fromisoformat(str(example.fields["target"]))
            assert example.fields["source"] not in [way.write(date) for way in known[language]]


def test_nor_by_the_same_pattern_in_another_language() -> None:
    for example in Dates("test", size=60):
        date = datetime.date.fromisoformat(str(example.fields["target"]))
        source = example.fields["source"]
        [way, *_] = [way for ways in Dates("test").formats() for way in ways if way.write(date) == source]
        alike = [known for ways in Dates("train").formats() for known in ways if known.pattern == way.pattern]
        assert source not in [known.write(date) for known in alike]


def test_every_language_is_in_every_split() -> None:
    assert len(LANGUAGES) == 19
    for part in PARTS:
        assert all(len(ways) > 0 for ways in Dates(part).formats())


def test_every_text_stands_for_one_date() -> None:
    days = [datetime.date(2021, month, day) for month in range(1, 13) for day in {1, month, 12}]
    read: dict[str, datetime.date] = {}
    for way in (way for language in LANGUAGES for way in formats(language)):
        for day in days:
            assert read.setdefault(way.write(day), day) == day, way


def test_no_text_has_a_short_year_or_only_numbers() -> None:
    for example in Dates("train", size=3000):
        text, date = str(example.fields["source"]), str(example.fields["target"])
        assert date[:4] in text
        assert text == date or re.search(r"[^\W\d]", text)
        assert 1900 <= int(date[:4]) <= 2099
        assert not re.search("[\xa0\u202f{}]", text)


def test_an_example_is_a_function_of_its_number() -> None:
    for part in PARTS:
        dates = Dates(part, size=40, seed=3)
        assert [dates[index] for index in range(40)] == list(dates) == list(Dates(part, size=90, seed=3))[:40]
        assert list(dates) != list(Dates(part, size=40, seed=4))
    assert len({str(example.fields["source"]) for example in Dates(size=2000)}) > 1950


def test_how_dates_are_written() -> None:
    day = datetime.date(2021, 3, 3)
    assert Format("en", "'the' '{o}' 'of' MMMM y", "as is").write(day) == "the 3rd of March 2021"
    assert Format("en", "MMMM '{o}', y", "lower").write(datetime.date(2021, 3, 12)) == "march 12th, 2021"
    assert Format("fr", "'{o}' MMMM y", "upper").write(datetime.date(2021, 8, 1)) == "1ER AOÛT 2021"
    assert Format("tr", "d MMMM y", "upper").write(datetime.date(2021, 4, 1)) == "1 NİSAN 2021"
    assert Format("zh", "y年M月d日EEEE", "as is").write(day) == "2021年3月3日星期三"


def test_digits() -> None:
    assert [Digits(task, size=5)[4].fields["target"] for task in ("copy", "reverse", "sort")] == [
        (row := str(Digits("copy", size=5)[4].fields["source"])),
        row[::-1],
        " ".join(sorted(row.split())),
    ]
    rows = [{str(e.fields["source"]) for e in Digits("copy", part, size=400, longest=4)} for part in PARTS]
    assert len(set().union(*rows)) == sum(map(len, rows))
    lengths = {len(str(e.fields["source"]).split()) for e in Digits("sort", size=200, shortest=4, longest=6)}
    assert lengths == {4, 5, 6}


def test_wrong_arguments_are_one_sentence() -> None:
    with pytest.raises(DataError, match="split is 'dev'; it can be train, valid, test"):
        Dates("dev")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="there are no dates in 'xx'; there are cs, de"):
        Dates(languages=("de", "xx"))
    with pytest.raises(DataError, match="size is 0"):
        Dates(size=0)
    with pytest.raises(DataError, match="no task 'add' on digits; there are copy, reverse, sort"):
        Digits("add")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="3 <= shortest <= longest"):
        Digits("copy", shortest=5, longest=4)
    with pytest.raises(IndexError):
        Digits("copy", size=5)[5]
