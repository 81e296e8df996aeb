"""Generated airs are regular ABC; files of tunes become plain texts; n-grams by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from regard.data import DataError
from regard.systems.melodies.abc import parse
from regard.systems.melodies.airs import Airs
from regard.systems.melodies.baseline import character_nats
from regard.systems.melodies.tune_files import Tunes


def texts(*arguments: str, **options: int) -> list[str]:
    return [str(example.fields["text"]) for example in Airs(*arguments, **options)]  # type: ignore[arg-type]


def test_airs_are_regular_and_their_bars_return() -> None:
    for text in texts(size=200):
        tune = parse(text)
        assert tune.errors == tune.remarks == ()
        first, second = text.splitlines()[-1].strip("|:").split(":||:")
        (a, b, again, c), (d, same, d2, end) = first.split("|"), second.split("|")
        assert (a, b, c, d) == (again, same, end, d2)


def test_splits_are_apart_and_seeds_differ() -> None:
    found = [set(texts(part, size=300)) for part in ("train", "valid", "test")]
    assert not found[0] & found[1] | found[0] & found[2] | found[1] & found[2]
    assert Airs(size=9)[3] != Airs(size=9, seed=1)[3] == Airs(size=4, seed=1)[3]


def test_what_no_one_can_know_is_counted_from_the_choices() -> None:
    """Key, metre, and three bars of one of 4 rhythms, one of 4 degrees, and 2 to 5 steps of at most 4 each."""
    airs = Airs(size=50)
    bounds = math.log(6 * 3 * 4**3 * 4**3), math.log(6 * 3 * 4**3 * 4**3 * 4**15)
    assert all(bounds[0] < airs.surprise(index) <= bounds[1] for index in range(50))


def test_files_become_plain_texts(tmp_path: Path) -> None:
    (tmp_path / "one.abc").write_text('X:1\nT:First\nS:x\nK:G\nM:6/8\nP:A\n"G"G2A|\\\nB3|\n\n')
    (tmp_path / "two.abc").write_text("X:1\nK:C\nC%D\nK:D\nD\nX:2\nK:C\nC\n")
    found = list(Tunes(tmp_path / "*.abc"))
    assert [one.fields["text"] for one in found] == ["M:6/8\nK:G\nG2A|B3|", "K:C\nC\nK:D\nD", "K:C\nC"]
    assert [Path(one.where).name for one in found] == ["one.abc:1", "two.abc:1", "two.abc:6"]
    assert '"G"G2A' in str(next(iter(Tunes(tmp_path / "one.abc", chords="keep"))).fields["text"])


def test_a_bad_tune_is_one_sentence_or_left_out(tmp_path: Path) -> None:
    path = tmp_path / "bad.abc"
    path.write_text("X:1\nK:C\nCHD\n\nX:2\nK:C\nC\n")
    with pytest.raises(DataError, match=r"bad\.abc:1: .*'H'"):
        list(Tunes(path))
    reader = Tunes(path, bad_lines="skip")
    assert len(list(reader)) == reader.skipped.count == 1
    path.write_text("no tune\n")
    with pytest.raises(DataError, match=r"bad\.abc:1: there is no tune"):
        list(Tunes(path))
    path.write_bytes(b"X:1\nT:\xe9\nK:C\nC\n")
    with pytest.raises(DataError, match="utf-8"):
        list(Tunes(path))
    assert len(list(Tunes(path, encoding="latin-1"))) == 1


def test_ngrams_by_hand() -> None:
    """c(aab$) = a 2, b 1, end 1; behind b: the end 1."""
    one = (1 + 3 / 4) / (4 + 3)
    nats = character_nats(["aab"], ["b"], order=2)
    assert nats == pytest.approx(-(math.log(one) + math.log((1 + 1 * one) / (1 + 1))) / 2)
    assert character_nats(["aab"], ["x"], order=2) == pytest.approx(-(math.log(3 / 4 / 7) + math.log(one)) / 2)
    assert character_nats(["aab"], ["aab"], order=2) < character_nats(["aab"], ["bba"], order=2)
