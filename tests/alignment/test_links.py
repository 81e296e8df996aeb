"""Links: the Pharaoh format, gold files from 0 and from 1, sentence pairs, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.alignment.links import check_links, parse_gold, pharaoh, read_gold, read_links
from regard.alignment.sentence_pairs import SentencePair, read_pairs
from regard.data.problems import DataError


def test_links_are_read_as_they_were_written(tmp_path: Path) -> None:
    links = [frozenset({(10, 2), (0, 0), (3, 2)}), frozenset(), frozenset({(0, 12)})]
    path = tmp_path / "links"
    path.write_text("".join(f"{pharaoh(one)}\n" for one in links))
    assert path.read_text() == "0-0 3-2 10-2\n\n0-12\n"
    assert read_links(path) == links


def test_a_gold_file_counts_from_its_smallest_number(tmp_path: Path) -> None:
    path = tmp_path / "gold"
    path.write_text("1-1 2p3\n10-20\n")  # a zero at the end of a number is no word 0
    assert sorted(read_gold(path)[0].possible) == [(0, 0), (1, 2)]
    assert read_gold(path, first=0)[1].sure == {(10, 20)}
    path.write_text("1-1 2p3\n3p0\n")
    assert sorted(read_gold(path)[0].possible) == [(1, 1), (2, 3)]


def test_possible_links_have_the_sure_ones_among_them() -> None:
    gold = parse_gold("0-0 1p0")
    assert gold.sure == {(0, 0)}
    assert gold.possible == {(0, 0), (1, 0)}


@pytest.mark.parametrize("text", ["0-0 1_2", "0-", "a-b", "0-0-0", "-1-2"])
def test_what_is_no_link_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gold"
    path.write_text(f"0-0\n{text}\n")
    with pytest.raises(DataError, match=f"gold:2: '{text.split()[-1]}'"):
        read_gold(path)


def test_a_link_before_the_first_word_and_one_behind_the_last_are_named() -> None:
    with pytest.raises(ValueError, match="0-1"):
        parse_gold("0-1", first=1)
    check_links(Path("gold"), 7, {(4, 2)}, (5, 3))
    with pytest.raises(DataError, match=r"gold:7: the link 5-2 .* the source has 5 words"):
        check_links(Path("gold"), 7, {(5, 2)}, (5, 3))
    with pytest.raises(DataError, match=r"gold:7: the link 4-3 .* the target has 3 words"):
        check_links(Path("gold"), 7, {(4, 3)}, (5, 3))


def test_pairs_of_two_files_or_one(tmp_path: Path) -> None:
    source, target, both = (tmp_path / name for name in ("a.de", "a.en", "both"))
    source.write_text("das Haus\n\n")
    target.write_text("the house\nnothing\n")
    both.write_text("das Haus ||| the house\n||| nothing\n")
    assert read_pairs(source, target) == read_pairs(both)
    assert read_pairs(both)[1] == SentencePair("", "nothing")
    assert read_pairs(both)[0].turned().source_words == ["the", "house"]


def test_files_of_different_lengths_and_lines_without_a_separator(tmp_path: Path) -> None:
    source, target = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("eins\nzwei\ndrei\n")
    target.write_text("one\n")
    with pytest.raises(DataError, match=r"a\.de has 3 lines and .*a\.en has 1"):
        read_pairs(source, target)
    with pytest.raises(DataError, match=r"a\.de:1: .*\|\|\|"):
        read_pairs(source)
    source.write_bytes(b"gut\nschl\xffcht\n")
    target.write_text("one\ntwo\n")
    with pytest.raises(DataError, match=r"a\.de:2"):
        read_pairs(source, target)
