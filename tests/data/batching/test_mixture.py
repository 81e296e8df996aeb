"""Several corpora with weights: what is learned how often."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import Batches, Corpus, DataError, Mixture, Table, Tokenizer, TokensField
from regard.data.batching.mixture import repeat_rows
from regard.systems.translation.digits import Digits

COLUMNS = {"source": 0, "target": 1}


def epoch(batches: Batches, number: int) -> Counter[int]:
    return Counter(int(row) for batch in batches.epoch(number) for row in batch)


def test_whole_weights_repeat_each_example_in_every_epoch() -> None:
    lengths, weights = np.full(7, 3), np.array([3.0, 3.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    batches = Batches(lengths, sentences=2, weights=weights)
    for number in range(3):
        assert epoch(batches, number) == {row: int(weight) for row, weight in enumerate(weights)}
    assert [list(batch) for batch in batches.epoch(0)] != [list(batch) for batch in batches.epoch(1)]


def test_a_fraction_is_that_share_of_the_examples_others_in_each_epoch() -> None:
    batches = Batches(np.full(4000, 3), sentences=50, weights=np.full(4000, 2.25), seed=5)
    first, second = epoch(batches, 0), epoch(batches, 1)
    assert set(first.values()) == {2, 3}
    assert sum(first.values()) == pytest.approx(9000, rel=0.02)
    assert first != second


def test_weights_of_one_change_nothing_and_no_example_that_is_too_long_comes_back() -> None:
    lengths = np.array([3, 9, 4, 50, 3])
    plain = Batches(lengths, tokens=20, overlong="drop")
    weighted = Batches(lengths, tokens=20, overlong="drop", weights=np.ones(5))
    assert [list(batch) for batch in plain.epoch(2)] == [list(batch) for batch in weighted.epoch(2)]
    assert 3 not in epoch(Batches(lengths, tokens=20, overlong="drop", weights=np.full(5, 4.0)), 0)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.01, 20), min_size=1, max_size=30), st.integers(0, 2**32 - 1), st.integers(0, 1000))
def test_an_example_comes_as_often_as_its_weight_or_once_more(weights: list[float], seed: int, number: int) -> None:
    rows = np.arange(len(weights))
    found = repeat_rows(rows, np.array(weights), seed, number)
    counts = Counter(found.tolist())
    assert all(int(weight) <= counts[row] <= int(weight) + 1 for row, weight in enumerate(weights))
    assert np.array_equal(found, repeat_rows(rows, np.array(weights), seed, number))


def test_a_corpus_knows_how_many_rows_each_part_has(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("1\t1\nno second column\n2\t2\n")
    (tmp_path / "b.tsv").write_text("3\t3\n")
    parts = tuple(Table(tmp_path / name, COLUMNS, bad_lines="skip") for name in ("a.tsv", "b.tsv"))
    both = Mixture(parts, (2.0, 1.0))
    words = Tokenizer.train((example.fields["source"] for example in both), kind="words")
    fields = {"source": TokensField(words), "target": TokensField(words)}
    for _ in range(2):  # built, then out of the cache
        corpus = Corpus.build(both, fields, tmp_path / "cache")
        assert (len(corpus), corpus.parts, corpus.skipped.count) == (3, (2, 1), 1)
    assert [example.where for example in both] == [f"{tmp_path / name}" for name in ("a.tsv:1", "a.tsv:3", "b.tsv:1")]
    weighted = Corpus.build(Mixture(parts, (7.0, 0.5)), fields, tmp_path / "cache")
    assert weighted.folder == corpus.folder  # ids do not depend on weights
    alone = Corpus.build(parts[1], fields, tmp_path / "cache")
    assert alone.parts == (1,)


def test_each_corpus_has_a_weight() -> None:
    one = Digits("copy", size=2)
    for weights in ((1.0,), (1.0, 0.0)):
        with pytest.raises(DataError, match="weights"):
            Mixture((one, one), weights)
