"""Windows and masks: each a function of seed, epoch and place, whoever asks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.data import Corpus, DataError, Tokenizer, TokensField
from regard.data import Text as Lines
from regard.data.batching.feed import BatchPosition, ExampleFeed
from regard.specials import EOS, IGNORE, MASK
from regard.systems.masked_language_model.feed import MaskedFeed, WindowFeed
from regard.systems.masked_language_model.masking import TokenMasking

NAMES = [f"w{number:02}" for number in range(97)]  # ids count up with the text


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Tokenizer]:
    folder = tmp_path_factory.mktemp("text")
    lines = [" ".join(NAMES[begin : begin + 7]) for begin in range(0, len(NAMES), 7)]
    (folder / "text.txt").write_text("\n".join(lines) + "\n")
    examples = Lines(folder / "text.txt")
    words = Tokenizer.train(lines, kind="words", masked=True)
    return Corpus.build(examples, {"text": TokensField(words)}, folder / "cache"), words


def rows(feed: WindowFeed, epoch: int) -> list[list[int]]:
    places = [BatchPosition(epoch, number) for number in range(feed.per_epoch)]
    return [row for place in places for row in feed.batch(place)["text"].tolist()]


def test_windows_are_the_text_in_pieces(read: tuple[Corpus, Tokenizer]) -> None:
    corpus, _ = read
    text = corpus.ids("text").tolist()
    measured = WindowFeed(corpus, rows=4, window=10, shuffle=False)
    assert [index for row in rows(measured, 0) for index in row] == text[:90]
    learned = WindowFeed(corpus, rows=4, window=10, seed=3)
    epochs = [rows(learned, epoch) for epoch in range(3)]
    for epoch in epochs:
        assert len(epoch) == 8
        begins = sorted(text.index(row[0]) for row in epoch)
        assert begins == list(range(begins[0], begins[0] + 80, 10))
        assert all(row == text[text.index(row[0]) :][:10] for row in epoch)
    assert epochs[0] != epochs[1] != epochs[2]
    assert rows(WindowFeed(corpus, rows=4, window=10, seed=3), 1) == epochs[1]


def test_a_short_text_is_one_window(read: tuple[Corpus, Tokenizer]) -> None:
    corpus, _ = read
    feed = WindowFeed(corpus, rows=4, window=1000)
    assert feed.batch(BatchPosition(0, 0))["text"].shape == (1, 97)
    assert "1 batches an epoch" in str(feed)
    with pytest.raises(DataError, match="windows of 3 tokens are too short"):
        WindowFeed(corpus, rows=2, window=3, pairs=True)


def test_two_parts_belong_together_or_not(read: tuple[Corpus, Tokenizer]) -> None:
    corpus, _ = read
    feed = WindowFeed(corpus, rows=8, window=12, pairs=True, seed=1)
    seen = []
    for epoch in range(12):
        batch = feed.batch(BatchPosition(epoch, 0))
        assert batch["text"].shape == (7, 13)
        for row, other in zip(batch["text"].tolist(), batch["next"].tolist(), strict=True):
            cut = row.index(EOS)
            assert 3 <= cut <= 9
            assert (row[cut + 1] == row[cut - 1] + 1) is (other == 0)
            seen.append(other)
    assert np.mean(seen) == pytest.approx(0.5, abs=0.2)


def masked(read: tuple[Corpus, Tokenizer], seed: int = 5) -> MaskedFeed:
    corpus, words = read
    return MaskedFeed(WindowFeed(corpus, rows=4, window=10, seed=seed), TokenMasking(share=0.3), words, seed=seed)


def test_masks_change_with_the_epoch_and_come_again(read: tuple[Corpus, Tokenizer]) -> None:
    feed, again = masked(read), masked(read)
    place = BatchPosition(2, 1)
    batch = feed.batch(place)
    assert torch.equal(batch["text"], again.batch(place)["text"])
    assert (batch["wanted"] != IGNORE).sum(1).tolist() == [3, 3, 3, 3]
    assert feed.tokens(place) == batch.tokens == 12
    assert (batch["text"] == MASK).any()
    plain = feed.inner.batch(place)["text"]
    assert torch.equal(torch.where(batch["wanted"] == IGNORE, batch["text"], batch["wanted"]), plain)


def test_processes_share_a_batch_and_its_masks(read: tuple[Corpus, Tokenizer]) -> None:
    feed, place = masked(read), BatchPosition(1, 0)
    whole = feed.batch(place)
    parts = [feed.batch(place, rank, 3) for rank in range(3)]
    assert sum(part.tokens for part in parts) == feed.tokens(place)
    for rank, part in enumerate(parts):
        assert torch.equal(part["text"], whole["text"][rank::3])
        assert torch.equal(part["wanted"], whole["wanted"][rank::3])


def test_texts_one_by_one(read: tuple[Corpus, Tokenizer]) -> None:
    corpus, words = read
    texts = ExampleFeed(corpus, counted="text", tokens=None, sentences=5, seed=2)
    feed = MaskedFeed(texts, TokenMasking(whole_words=True), words, seed=2)
    batch = feed.batch(BatchPosition(0, 0))
    assert batch["text_lengths"].max() <= 7
    assert (batch["wanted"] != IGNORE).sum(1).min() == 1
    assert next(feed.after(0, 1)) == BatchPosition(0, 1)
