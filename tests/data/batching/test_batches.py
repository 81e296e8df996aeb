"""Batches: pure functions, every example once, within the budget, shared out fairly; padded right."""

from __future__ import annotations

import functools
import operator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import (
    BOS,
    EOS,
    IGNORE,
    PAD,
    Batches,
    Collator,
    Columns,
    Corpus,
    DataError,
    LabelField,
    LabelledLines,
    Labels,
    Pairs,
    TagsField,
    Tokenizer,
    TokensField,
)
from regard.data.batching.order import permutation, splitmix64

tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 30), min_size=width, max_size=width), min_size=1, max_size=60)
)


@settings(deadline=None)
@given(tables, st.integers(90, 300), st.none() | st.integers(1, 9), st.integers(0, 5), st.booleans())
def test_every_example_once_within_the_budget(
    rows: list[list[int]], tokens: int, sentences: int | None, seed: int, shuffle: bool
) -> None:
    batches = Batches(rows, tokens=tokens, sentences=sentences, seed=seed, pool=17, shuffle=shuffle)
    for number in range(2):
        epoch = batches.epoch(number)
        assert sorted(np.concatenate(epoch).tolist()) == list(range(len(rows)))
        for batch in epoch:
            assert len(batch) * np.array(rows)[batch].max(0).sum() <= tokens
            assert sentences is None or len(batch) <= sentences


@settings(deadline=None)
@given(tables, st.integers(1, 7))
def test_shards_partition_a_batch(rows: list[list[int]], world: int) -> None:
    batches = Batches(rows, sentences=13)
    for batch in batches.epoch(0):
        parts = [batches.shard(batch, rank, world).tolist() for rank in range(world)]
        assert sorted(functools.reduce(operator.iadd, parts, [])) == sorted(batch.tolist())
        loads = [sum(max(sum(rows[index]), 1) for index in part) for part in parts]
        assert max(loads) - min(loads) <= max(max(sum(rows[index]), 1) for index in batch)
        assert len(batch) < world or min(map(len, parts)) > 0


LENGTHS = np.array([(3 + (7 * i) % 23, 2 + (11 * i) % 19) for i in range(500)])


def listed(epoch: list[np.ndarray]) -> list[list[int]]:
    return [batch.tolist() for batch in epoch]


def test_an_epoch_is_a_function_of_seed_and_number() -> None:
    first, again = (Batches(LENGTHS, tokens=300, seed=4, pool=100) for _ in range(2))
    forward = [listed(first.epoch(number)) for number in (0, 1, 2)]
    backward = [listed(again.epoch(number)) for number in (2, 1, 0)][::-1]
    assert forward == backward
    assert forward[0] != forward[1] != forward[2]
    assert forward[0] != listed(Batches(LENGTHS, tokens=300, seed=5, pool=100).epoch(0))


def test_a_run_is_resumed_by_its_place() -> None:
    whole = list(islice(Batches(LENGTHS, tokens=300).after(), 100))
    place = whole[60]
    resumed = list(islice(Batches(LENGTHS, tokens=300).after(place.epoch, place.position), 40))
    assert place.epoch > 0
    assert [(p.epoch, p.position, p.batch.tolist()) for p in resumed] == [
        (p.epoch, p.position, p.batch.tolist()) for p in whole[60:]
    ]


def test_batches_are_shuffled_and_of_similar_lengths() -> None:
    batches = Batches(LENGTHS, tokens=300, pool=None)
    longest = [int(LENGTHS[batch].max()) for batch in batches.epoch(0)]
    assert longest != sorted(longest)
    unsorted = np.split(permutation(500), 50)
    cells = sum(10 * int(LENGTHS[batch].max(0).sum()) for batch in unsorted)
    assert batches.padding_waste() < 0.6 * (1 - LENGTHS.sum() / cells)
    assert Batches([4, 4, 4], sentences=2).padding_waste() == 0
    assert Batches([1, 3], sentences=2).padding_waste() == pytest.approx(2 / 6)


def test_evaluation_has_one_order() -> None:
    batches = Batches([5, 1, 3, 1], sentences=2, shuffle=False)
    assert listed(batches.epoch(0)) == listed(batches.epoch(7)) == [[1, 3], [2, 0]]


def test_examples_beyond_the_budget() -> None:
    with pytest.raises(DataError, match=r"2 examples are longer than the budget of 10 tokens \(example 3 has 12\)"):
        Batches([5, 11, 3, 12], tokens=10)
    batches = Batches([5, 11, 3, 12], tokens=10, overlong="drop", shuffle=False)
    assert (listed(batches.epoch(0)), batches.dropped.tolist()) == ([[2, 0]], [1, 3])
    with pytest.raises(DataError, match="no example fits a batch of 2 tokens"):
        Batches([5, 3], tokens=2, overlong="drop")
    with pytest.raises(DataError, match="there are no examples"):
        Batches([], tokens=2)
    with pytest.raises(DataError, match="batches need a budget"):
        Batches([1])
    with pytest.raises(DataError, match="sentences is 0; it must be at least 1"):
        Batches([1], sentences=0)
    with pytest.raises(DataError, match="overlong is 'cut'"):
        Batches([1], sentences=1, overlong="cut")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="ranks are 0 to 1"):
        batches.shard(np.array([0]), 2, 2)


def published(state: int) -> int:
    """The next output of the published code."""
    x = (state + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def test_the_hash_is_splitmix64_and_orders_are_permutations() -> None:
    assert published(0) == 0xE220A8397B1DCDAF  # its first output
    given = np.array([[0, 1, 2**64 - 1], [17, 2**63, 12345]], np.uint64)
    for seeds in ((), (3,), (-1, 2**64 - 5, 0)):
        expected = given.tolist()
        for seed in (0, *seeds):
            expected = [[published((x + published(seed % 2**64)) % 2**64) for x in row] for row in expected]
        assert splitmix64(given, *seeds).tolist() == expected
    assert sorted(permutation(1000, 3).tolist()) == list(range(1000))
    firsts = np.array([permutation(10, seed)[0] for seed in range(2000)])
    assert np.bincount(firsts, minlength=10).min() > 140  # 200 each, 4.5 standard deviations


WORDS = Tokenizer.train(["a b c d e"], kind="words")
PAIR = {"source": TokensField(WORDS), "target": TokensField(WORDS, begin=True, end=True)}


def test_pairs_are_padded_and_framed(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a b c\nd\n")
    (tmp_path / "t").write_text("e\na b\n")
    corpus = Corpus.build(Pairs(tmp_path / "s", tmp_path / "t"), PAIR, tmp_path / "cache")
    collate = Collator(corpus)
    batch = collate(np.array([1, 0]))
    a, b, c, d, e = (WORDS.encode(letter)[0] for letter in "abcde")
    assert batch["source"].tolist() == [[d, PAD, PAD], [a, b, c]]
    assert batch["target"].tolist() == [[BOS, a, b, EOS], [BOS, e, EOS, PAD]]
    assert batch["source_lengths"].tolist() == [1, 3]
    assert batch["target_lengths"].tolist() == [4, 3]
    assert (batch.tokens, batch.size, batch.indices) == (5, 2, (1, 0))
    assert collate.lengths().tolist() == [[3, 3], [1, 4]]
    assert collate.lengths("target").tolist() == [[3], [4]]
    ended = Corpus(corpus.folder, {**PAIR, "source": TokensField(WORDS, end=True)})
    assert Collator(ended)([0])["source"].tolist() == [[a, b, c, EOS]]
    assert list(batch) == ["source", "source_lengths", "target", "target_lengths"]
    assert "tags" not in batch
    with pytest.raises(KeyError, match="has no 'tags'; it has source"):
        batch["tags"]
    with pytest.raises(DataError, match="no field 'text' to count"):
        Collator(corpus, counted="text")


def test_no_examples_make_a_batch_of_none(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a b c\n")
    corpus = Corpus.build(Pairs(tmp_path / "s", tmp_path / "s"), PAIR, tmp_path / "cache")
    batch = Collator(corpus)([])
    assert (batch["source"].shape, batch["target_lengths"].shape, batch.tokens) == ((0, 0), (0,), 0)


def test_labels_and_tags(tmp_path: Path) -> None:
    (tmp_path / "tagged").write_text("a X\nb Y\n\nc Y\n")
    tags = Columns(tmp_path / "tagged")
    batch = Collator(
        Corpus.build(tags, {"text": TokensField(WORDS), "tags": TagsField(Labels(("X", "Y")))}, tmp_path / "cache")
    )([0, 1])
    assert batch["tags"].tolist() == [[0, 1], [1, IGNORE]]
    assert batch.tokens == 3
    (tmp_path / "labelled").write_text("Y a b\nX c\n")
    labelled = LabelledLines(tmp_path / "labelled")
    batch = Collator(
        Corpus.build(
            labelled, {"text": TokensField(WORDS), "label": LabelField(Labels(("X", "Y")))}, tmp_path / "cache"
        )
    )([0, 1])
    assert batch["label"].tolist() == [1, 0]
    assert batch.tokens == 2
    moved = batch.to(torch.get_default_device())
    assert moved["label"].device.type == torch.get_default_device().type
    assert moved.tokens == 2


def test_both_sides_of_a_batch_are_of_similar_length() -> None:
    random = np.random.default_rng(0)
    source = random.integers(5, 25, 5000)
    lengths = np.stack([source, np.clip(source + random.integers(-4, 5, 5000), 1, None)], 1)
    batches = Batches(lengths, sentences=100, pool=None)
    by_target = np.split(np.lexsort((lengths[:, 0], lengths[:, 1])), np.arange(100, 5000, 100))
    cells = sum(len(batch) * int(lengths[batch].max(0).sum()) for batch in by_target)
    assert batches.padding_waste() < 0.85 * (1 - lengths.sum() / cells)
