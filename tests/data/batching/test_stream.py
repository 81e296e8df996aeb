"""Streams: contiguous, complete, a function of the window's number."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import EOS, Corpus, DataError, Stream, Text, Tokenizer, TokensField


@settings(deadline=None)
@given(st.integers(1, 7), st.integers(1, 9), st.integers(14, 80), st.data())
def test_rows_go_on_where_they_stopped(batch: int, steps: int, count: int, data: st.DataObject) -> None:
    ends = sorted(data.draw(st.lists(st.integers(0, count))))
    stream = Stream(range(100, 100 + count), batch=batch, steps=steps, ends=ends)
    whole = [token for i in range(count + 1) for token in [EOS] * ends.count(i) + ([100 + i] if i < count else [])]
    row = len(whole) // batch
    windows = list(stream)
    assert [window.begins for window in windows] == [True] + [False] * (len(stream) - 1)
    text, target = torch.cat([w.text for w in windows], 1), torch.cat([w.target for w in windows], 1)
    assert text.tolist() == [whole[b * row : (b + 1) * row - 1] for b in range(batch)]
    assert target.tolist() == [whole[b * row + 1 : (b + 1) * row] for b in range(batch)]
    assert torch.equal(stream[len(stream) - 1].text, windows[-1].text)


def test_a_corpus_with_an_end_behind_every_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a b\n\nc\n")
    words = Tokenizer.train(["a b c"], kind="words")
    corpus = Corpus.build(Text(tmp_path / "a", blank="keep"), {"text": TokensField(words)}, tmp_path / "cache")
    a, b, c = (words.encode(letter)[0] for letter in "abc")
    assert Stream.of(corpus, batch=1, steps=9)[0].text.tolist() == [[a, b, EOS, EOS, c]]
    assert Stream.of(corpus, batch=1, steps=9)[0].target.tolist() == [[b, EOS, EOS, c, EOS]]
    assert Stream.of(corpus, batch=1, steps=9, eos=False)[0].target.tolist() == [[b, c]]


def test_streams_that_cannot_be() -> None:
    with pytest.raises(DataError, match="a text of 5 tokens is too short for 3 rows"):
        Stream(range(5), batch=3, steps=2)
    with pytest.raises(DataError, match="at least 1, not 2 and 0"):
        Stream(range(5), batch=2, steps=0)
    with pytest.raises(IndexError, match="window 2 of 2"):
        Stream(range(5), batch=1, steps=2)[2]
