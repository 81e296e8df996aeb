"""BPE-dropout: the same text in other pieces, by seed, epoch and number alone."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import EOS, Collator, Corpus, DataError, Pairs, Tokenizer, TokensField
from regard.data.batching.bpe_dropout import _WAYS, BPEDropout, resegment
from regard.data.batching.feed import BatchPosition, ExampleFeed

TEXTS = [
    "the lower house is lower than the other",
    "the newest house, isn't it?",
    "a wide  house ",
    "naïve 日本 ☃\n\nx",
]
BPE = Tokenizer.train(TEXTS * 5, kind="bpe", size=330)
PAIR = {"source": TokensField(BPE), "target": TokensField(BPE, begin=True, end=True)}
MASKED = Tokenizer.train(TEXTS * 5, kind="bpe", size=330, masked=True)
anything = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.lists(st.sampled_from(TEXTS)).map("".join))


@settings(deadline=None)
@given(anything)
def test_without_a_rate_a_text_is_cut_as_it_was(text: str) -> None:
    ids = BPE.encode(text)
    assert BPEDropout(BPE, 0.0, seed=1)([ids], numbers=[3], epoch=2) == [ids]


@settings(deadline=None)
@given(anything, st.sampled_from([0.1, 0.5, 0.9]), st.integers(0, 99))
def test_the_text_stays_the_same(text: str, rate: float, epoch: int) -> None:
    ids = BPE.encode(text)
    cut = BPEDropout(BPE, rate, seed=1)([ids], numbers=[3], epoch=epoch)[0]
    assert BPE.decode(cut) == text
    assert len(cut) >= len(ids) or rate < 1


def test_two_texts_stay_two() -> None:
    ids = MASKED.encode("the lower house\tthe lower house")
    cut = BPEDropout(MASKED, 0.5, seed=1)([ids], numbers=[0], epoch=0)[0]
    assert cut.count(EOS) == 1
    first, second = cut[: cut.index(EOS)], cut[cut.index(EOS) + 1 :]
    assert MASKED.decode(first) == MASKED.decode(second) == "the lower house"


def test_words_begin_where_they_did() -> None:
    begins = BPE.begins()
    words = ["newest", "isn't", "日本", "house,"]
    cut = BPEDropout(BPE, 0.7, seed=1)([BPE.encode(words)], numbers=[0], epoch=0)[0]
    assert len(cut) > len(BPE.encode(words))
    assert sum(begins[index] for index in cut) == len(words)


def test_segmentations_are_those_of_the_algorithm() -> None:
    tokenizer = Tokenizer.train(["abc"] * 9, kind="bpe", size=263)  # one merge after another is possible
    dropout, rate = BPEDropout(tokenizer, 0.3, seed=1), 0.3
    merges = [tokenizer.tokens([index])[0] for index in (260, 261, 262)]
    assert merges == ["ab", "▁ab", "▁abc"]
    found = Counter("".join(tokenizer.tokens(dropout._cut("Ġabc", way))) for way in range(_WAYS))
    assert set(found) == {"▁abc"}
    sizes = Counter(len(dropout._cut("Ġabc", way)) for way in range(_WAYS))
    kept = 1 - rate
    expected = {1: kept**3, 2: kept**2 * rate, 3: kept * rate, 4: rate}
    for size, share in expected.items():
        assert sizes[size] / _WAYS == pytest.approx(share, abs=4 * (share * (1 - share) / _WAYS) ** 0.5)


PROGRAM = """
from tests.data.batching.test_bpe_dropout import BPE, TEXTS, BPEDropout
dropout = BPEDropout(BPE, 0.3, seed=5)
print(dropout(BPE.encode_all(TEXTS), numbers=range(len(TEXTS)), epoch=2))
"""


def test_another_process_draws_the_same() -> None:
    dropout = BPEDropout(BPE, 0.3, seed=5)
    for epoch in (7, 1, 2):  # whatever was drawn before
        here = dropout(BPE.encode_all(TEXTS), numbers=range(len(TEXTS)), epoch=epoch)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )
    assert done.stdout.strip() == str(here)


def test_what_stands_beside_a_text_changes_nothing() -> None:
    dropout, texts = BPEDropout(BPE, 0.3, seed=5), BPE.encode_all(TEXTS)
    together = dropout(texts, numbers=[4, 7, 5, 0], epoch=1)
    assert [
        dropout([text], numbers=[number], epoch=1)[0] for text, number in zip(texts, (4, 7, 5, 0), strict=True)
    ] == together


def test_draws_depend_on_seed_epoch_and_number() -> None:
    ids = BPE.encode(TEXTS[0])
    drawn = [
        BPEDropout(BPE, 0.5, seed=seed)([ids], numbers=[number], epoch=epoch)[0]
        for seed, number, epoch in ((1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1))
    ]
    assert len({tuple(one) for one in drawn}) == 4


def test_what_would_be_too_long_stays_as_it_is() -> None:
    ids = BPE.encode(TEXTS[0])
    assert BPEDropout(BPE, 0.9, seed=1, longest=len(ids))([ids], numbers=[0], epoch=0) == [ids]
    assert BPEDropout(BPE, 0.9, seed=1, longest=99)([ids], numbers=[0], epoch=0) != [ids]


@pytest.mark.parametrize("kind", ["unigram", "wordpiece", "words"])
def test_other_kinds_have_no_merges(kind: str) -> None:
    with pytest.raises(DataError, match=f"dropout.*{kind}"):
        BPEDropout(Tokenizer.train(TEXTS, kind=kind), 0.1, seed=1)  # type: ignore[arg-type]


@pytest.fixture
def feed(tmp_path: Path) -> ExampleFeed:
    (tmp_path / "a").write_text("".join(f"{TEXTS[number % 2]} {number}\n" for number in range(40)))
    (tmp_path / "b").write_text("".join(f"{TEXTS[(number + 1) % 2]}\n" for number in range(40)))
    corpus = Corpus.build(Pairs(tmp_path / "a", tmp_path / "b"), PAIR, tmp_path / "cache")
    dropouts = {"source": BPEDropout(BPE, 0.3, seed=1), "target": BPEDropout(BPE, 0.3, seed=1)}
    return ExampleFeed(corpus, counted="target", tokens=400, sentences=None, dropouts=dropouts)


def stored(tmp_path: Path) -> Corpus:
    """The corpus of the feed as it was encoded, from the cache."""
    return Corpus.build(Pairs(tmp_path / "a", tmp_path / "b"), PAIR, tmp_path / "cache")


def test_batches_hold_other_pieces_of_the_same_texts(feed: ExampleFeed, tmp_path: Path) -> None:
    corpus = stored(tmp_path)
    plain = Collator(corpus)
    for epoch in (0, 1):
        places = list(takewhile(lambda place, epoch=epoch: place.epoch == epoch, feed.after(epoch, 0)))
        batches = [feed.batch(place) for place in places]
        assert sorted(index for batch in batches for index in batch.indices) == list(range(40))
        for place, batch in zip(places, batches, strict=True):
            assert batch["source"].numel() + batch["target"].numel() <= 400
            assert batch.tokens == feed.tokens(place) == int((batch["target_lengths"] - 1).sum())
            texts = plain(batch.indices)
            for field in ("source", "target"):
                assert [BPE.decode(row[row != 2].tolist()) for row in batch[field]] == [
                    BPE.decode(row[row != 2].tolist()) for row in texts[field]
                ]
        assert sum(batch.tokens for batch in batches) > int(corpus.lengths("target").sum()) + 40


def test_a_place_holds_the_same_whatever_was_read_before(feed: ExampleFeed) -> None:
    first = [feed.batch(BatchPosition(epoch, 1)) for epoch in (0, 3, 1)]
    again = [feed.batch(BatchPosition(epoch, 1)) for epoch in (0, 3, 1)]
    for one, other in zip(first, again, strict=True):
        assert one["source"].equal(other["source"])
        assert one.indices == other.indices
    assert len({one["source"].numel() for one in first}) > 1


def test_processes_share_a_batch_without_loss(feed: ExampleFeed) -> None:
    place = BatchPosition(1, 0)
    whole, parts = feed.batch(place), [feed.batch(place, rank, 2) for rank in range(2)]
    assert sum(part.tokens for part in parts) == whole.tokens == feed.tokens(place)
    listed = zip(whole.indices, whole["source"], whole["source_lengths"], strict=True)
    rows = {index: row[:length].tolist() for index, row, length in listed}
    for part in parts:
        for index, row, length in zip(part.indices, part["source"], part["source_lengths"], strict=True):
            assert row[:length].tolist() == rows[index]


def test_an_example_that_no_batch_would_have_room_for_stays_as_it_is(feed: ExampleFeed, tmp_path: Path) -> None:
    corpus = stored(tmp_path)
    longest = int((corpus.lengths("source") + corpus.lengths("target")).max())
    cut = resegment(corpus, {"source": BPEDropout(BPE, 0.9, seed=1)}, 0, tokens=longest)
    assert (cut.lengths("source") + cut.lengths("target")).max() <= longest
    assert any((cut[index]["source"].tolist() == corpus[index]["source"].tolist()) for index in range(len(corpus)))
    assert corpus.lengths("source").sum() <= cut.lengths("source").sum()
    assert (cut.ids("target") == corpus.ids("target")).all()
