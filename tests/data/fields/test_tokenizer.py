"""Tokenizers: round trips, special ids, and that the JSON is everything."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import BOS, EOS, PAD, SPECIALS, UNK, DataError, Labels, Tokenizer
from regard.data.fields.tokenizer import TokenizerKind

TEXTS = [
    "the house is small",
    "the small house",
    "Das Häuschen ist klein .",
    "日本 語 , is it ?",
    "it is <unk> </s> there",
]
KINDS: tuple[TokenizerKind, ...] = ("characters", "words", "bpe", "unigram")
SIZES = {"bpe": 300, "unigram": 60}
TRAINED = {kind: Tokenizer.train(TEXTS * 5, kind=kind, size=SIZES.get(kind)) for kind in KINDS if kind != "words"}
TRAINED["words"] = Tokenizer.train(TEXTS * 5, kind="words", split="whitespace")

anything = st.text(st.characters(exclude_categories=["Cs"]))


@settings(deadline=None)
@given(anything)
def test_bpe_is_lossless_for_any_text(text: str) -> None:
    assert TRAINED["bpe"].decode(TRAINED["bpe"].encode(text)) == text


@settings(deadline=None)
@given(st.text("".join(sorted({c for text in TEXTS for c in text}))))
def test_characters_are_lossless_for_characters_they_know(text: str) -> None:
    ids = TRAINED["characters"].encode(text)
    assert len(ids) == len(text)
    assert TRAINED["characters"].decode(ids) == text


@settings(deadline=None)
@given(st.lists(st.sampled_from(["the", "house", "is", "small", ".", "日本"])))
def test_words_and_unigrams_are_lossless_up_to_white_space(words: list[str]) -> None:
    for kind in ("words", "unigram"):
        assert TRAINED[kind].decode(TRAINED[kind].encode("  ".join(words))).split() == words
    assert TRAINED["words"].encode(words) == TRAINED["words"].encode(" ".join(words))


@settings(deadline=None)
@given(st.sampled_from(KINDS), st.lists(st.one_of(anything, st.sampled_from(SPECIALS))))
def test_no_text_becomes_padding_a_beginning_or_an_end(kind: TokenizerKind, parts: list[str]) -> None:
    ids = TRAINED[kind].encode(" ".join(parts))
    assert not {PAD, BOS, EOS} & set(ids)
    assert all(0 <= index < TRAINED[kind].size for index in ids)


WORDS = ["the", "house,", "is", "Häuschen", "日本", "<unk>"]


@settings(deadline=None)
@given(st.sampled_from(KINDS), st.lists(st.sampled_from(WORDS), min_size=1))
def test_words_of_counts_the_words(kind: TokenizerKind, words: list[str]) -> None:
    tokenizer = TRAINED[kind]
    if kind != "words":
        words = [word for word in words if word != "<unk>"] or ["it"]
    numbers = tokenizer.words_of(tokenizer.encode(" ".join(words)))
    inside = [number for number in numbers if number >= 0]
    assert inside == sorted(inside)
    assert set(inside) == set(range(len(words)))


@pytest.mark.parametrize("kind", KINDS)
def test_special_ids_come_first_and_are_left_out_of_text(kind: TokenizerKind) -> None:
    tokenizer = TRAINED[kind]
    ids = tokenizer.encode("the house")
    assert tokenizer.decode([BOS, *ids, PAD, EOS, *ids]) == "the house"
    assert tokenizer.tokens([PAD, UNK, BOS, EOS]) == list(SPECIALS)
    assert tokenizer.words_of([BOS, *ids, EOS])[0] == tokenizer.words_of([BOS, *ids, EOS])[-1] == -1
    assert len(tokenizer.tokens(ids)) == len(ids)
    assert "".join(tokenizer.tokens(ids)).replace("▁", "") == "thehouse"


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_it_is_the_same(kind: TokenizerKind, tmp_path: Path) -> None:
    tokenizer = TRAINED[kind]
    tokenizer.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert again == tokenizer == pickle.loads(pickle.dumps(tokenizer))
    assert hash(again) == hash(tokenizer)
    assert again.kind == kind
    assert [again.encode(text) for text in TEXTS] == [tokenizer.encode(text) for text in TEXTS]
    assert TRAINED["words"] != TRAINED["characters"]


def test_words_by_frequency() -> None:
    tokenizer = Tokenizer.train(["b b c", "a c b d"], kind="words", min_frequency=2)
    assert tokenizer.tokens(range(tokenizer.size)) == [*SPECIALS, "b", "c"]
    assert tokenizer.decode(tokenizer.encode("a b")) == "<unk> b"
    assert Tokenizer.train(["b b c", "a c b d"], kind="words", size=5).tokens([4]) == ["b"]


def test_lower_case_and_normal_forms_go_into_the_json() -> None:
    tokenizer = Tokenizer.train(["Ａ CAFE\u0301"], kind="words", lowercase=True, normalise="nfkc")
    again = Tokenizer(tokenizer.json)
    assert again.encode("a café") == again.encode("A Cafe\u0301") == [4, 5]
    bpe = Tokenizer.train(["CAFE\u0301"] * 3, kind="bpe", size=280, lowercase=True, normalise="nfc")
    assert bpe.decode(bpe.encode("Cafe\u0301")) == "café"


def test_the_first_word_is_the_same_piece_as_later_ones() -> None:
    ids = TRAINED["bpe"].encode("house the house")
    assert ids[: ids.index(TRAINED["bpe"].encode("the")[0])] == ids[-len(TRAINED["bpe"].encode("house")) :]


def test_pieces_can_beshow() -> None:
    bpe = TRAINED["bpe"]
    assert bpe.tokens(bpe.encode("é")) == ["▁", "\\xc3", "\\xa9"]
    characters = Tokenizer.train(["a\n\t\u200b"], kind="characters")
    assert characters.tokens(characters.encode("a\n\t\u200b")) == ["a", "⏎", "⇥", "\\u200b"]


def test_wrong_arguments_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no tokenizer of kind 'word'; there are characters, words, bpe, unigram"):
        Tokenizer.train(TEXTS, kind="word")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no normal form 'nfq'"):
        Tokenizer.train(TEXTS, kind="words", normalise="nfq")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="bpe needs a size of at least 260"):
        Tokenizer.train(TEXTS, kind="bpe", size=100)
    with pytest.raises(DataError, match="lists of words need a tokenizer of kind words, bpe, unigram or wordpiece"):
        TRAINED["characters"].encode(["a", "b"])
    with pytest.raises(DataError, match="is empty or has white space in it"):
        TRAINED["words"].encode(["the", "small house"])
    with pytest.raises(DataError, match="there is no id 100000"):
        TRAINED["words"].tokens([100000])
    with pytest.raises(DataError, match="there is no such tokenizer"):
        Tokenizer.load(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(DataError, match=r"bad\.json is not a tokenizer"):
        Tokenizer.load(tmp_path / "bad.json")


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_vocabulary_is_an_error(kind: TokenizerKind) -> None:
    with pytest.raises(DataError, match="the vocabulary is empty: 0 texts"):
        Tokenizer.train([], kind=kind)
    with pytest.raises(DataError, match="gave no words at min_frequency 9"):
        Tokenizer.train(["a b"], kind="words", min_frequency=9)


def test_labels(tmp_path: Path) -> None:
    labels = Labels.train([["NN", "VB"], ["DT", "NN"]])
    assert labels.names == ("DT", "NN", "VB")
    assert labels.encode(["VB", "DT"]) == [2, 0]
    labels.save(tmp_path / "labels.json")
    assert Labels.load(tmp_path / "labels.json") == labels
    with pytest.raises(DataError, match="the label 'NNP' does not occur in the training data; did you mean 'NN'"):
        labels.encode("NNP")
    with pytest.raises(DataError, match="there are no labels"):
        Labels.train([])
    (tmp_path / "bad.json").write_text('{"a": 1}')
    with pytest.raises(DataError, match=r"bad\.json is not a list of labels"):
        Labels.load(tmp_path / "bad.json")


@pytest.mark.parametrize("kind", ["characters", "words", "bpe", "unigram", "wordpiece"])
@pytest.mark.parametrize("problem", [DataError("a.tsv:2: byte 0xe9 is not utf-8"), KeyError("qas")])
def test_what_is_wrong_with_the_texts_is_said_as_it_is(kind: TokenizerKind, problem: Exception) -> None:
    def texts() -> Iterator[str]:
        yield "the house"
        raise problem

    with pytest.raises(type(problem)) as caught:
        Tokenizer.train(texts(), kind=kind)
    assert caught.value is problem


def test_a_unigram_that_is_too_small_is_said_to_be() -> None:
    with pytest.raises(DataError, match=r"a tokenizer of kind unigram and size 5 cannot be made .*; try a larger size"):
        Tokenizer.train(TEXTS, kind="unigram", size=5)
