"""Feeds: every token once an epoch, whatever the number of processes, from any place on."""

from __future__ import annotations

from itertools import islice, pairwise
from pathlib import Path

import pytest
import torch

from regard.data import EOS, Corpus, DataError, Text, Tokenizer, TokensField
from regard.data.batching.feed import BatchPosition, ExampleFeed, Feed, StreamFeed

LINES = [" ".join(f"w{(7 * row + place) % 23}" for place in range(1 + row % 5)) for row in range(31)]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    (tmp_path / "text").write_text("\n".join(LINES) + "\n")
    words = Tokenizer.train(LINES, kind="words")
    return Corpus.build(Text(tmp_path / "text"), {"text": TokensField(words, begin=True, end=True)}, tmp_path / "cache")


@pytest.fixture(params=["examples", "stream"])
def feed(request: pytest.FixtureRequest, corpus: Corpus) -> Feed:
    if request.param == "stream":
        return StreamFeed(corpus, "text", rows=5, window=4, ends=True)
    return ExampleFeed(corpus, counted="text", tokens=30, sentences=None, seed=3)


def test_places_go_on_from_anywhere(feed: Feed) -> None:
    all_places = list(islice(feed.after(0, 0), 3 * feed.per_epoch))
    assert all_places[feed.per_epoch] == BatchPosition(1, 0)
    assert all_places[-1] == BatchPosition(2, feed.per_epoch - 1)
    for number in (1, feed.per_epoch - 1, feed.per_epoch + 2):
        place = all_places[number]
        assert list(islice(feed.after(*place), 5)) == all_places[number : number + 5]
    end = list(islice(feed.after(0, feed.per_epoch), 2))  # where a run stands after the last batch of an epoch
    assert end == [BatchPosition(1, 0), BatchPosition(1, 1)]


@pytest.mark.parametrize("world", [1, 2, 3, 7])
def test_processes_share_every_batch(feed: Feed, world: int) -> None:
    for number in range(feed.per_epoch):
        place = BatchPosition(0, number)
        whole = feed.batch(place)
        parts = [feed.batch(place, rank, world) for rank in range(world)]
        assert sum(part.tokens for part in parts) == whole.tokens == feed.tokens(place)
        rows = {index: whole["text"][row] for row, index in enumerate(whole.indices)}
        assert sorted(index for part in parts for index in part.indices) == sorted(rows)
        for part in parts:
            assert part.begins == whole.begins
            for row, index in enumerate(part.indices):
                assert torch.equal(part["text"][row], rows[index][: part["text"].shape[1]])


def test_windows_go_on_where_the_one_before_stopped(corpus: Corpus) -> None:
    feed = StreamFeed(corpus, "text", rows=5, window=4, ends=True)
    windows = [feed.batch(BatchPosition(0, number)) for number in range(feed.per_epoch)]
    assert [window.begins for window in windows] == [True] + [False] * (feed.per_epoch - 1)
    for before, after in pairwise(windows):
        assert torch.equal(before["text"][:, -1], after["text"][:, 0])  # the last wanted is the first given
    rows = torch.cat([windows[0]["text"][:, :1], *(window["text"][:, 1:] for window in windows)], dim=1)
    ids, offsets = corpus.ids("text").tolist(), corpus.offsets("text").tolist()
    lines = [[*ids[begin:end], EOS] for begin, end in pairwise(offsets)]
    text = [token for line in lines for token in line]
    assert rows.flatten().tolist() == text[: rows.numel()]
    assert len(text) - rows.numel() < 5
    again = feed.batch(BatchPosition(9, 2))
    assert torch.equal(again["text"], windows[2]["text"])


def test_texts_without_ends(corpus: Corpus) -> None:
    feed = StreamFeed(corpus, "text", rows=1, window=1000, ends=False)
    assert feed.batch(BatchPosition(0, 0))["text"][0].tolist() == corpus.ids("text").tolist()


def test_a_feed_says_what_it_is(feed: Feed) -> None:
    assert "an epoch" in str(feed)
    assert f"{feed.per_epoch:,} " in str(feed)


def test_too_many_rows_for_the_text(corpus: Corpus) -> None:
    with pytest.raises(DataError, match=r"a text of \d+ tokens is too short for 500 rows"):
        StreamFeed(corpus, "text", rows=500, window=4, ends=True)
