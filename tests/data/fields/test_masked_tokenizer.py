"""Tokenizers with a mask, pairs of texts, and pieces of words as BERT has them."""

from __future__ import annotations

import pytest

from regard.data import EOS, UNK, DataError, Tokenizer
from regard.data.fields.tokenizer import TokenizerKind
from regard.specials import MASK, MASKED

TEXTS = ["the cat isn't playing", "He plays , the dog played <mask>", "Ça va"] * 9
KINDS: tuple[TokenizerKind, ...] = ("characters", "words", "bpe", "unigram", "wordpiece")
SIZES = {"bpe": 300, "unigram": 40, "wordpiece": 70}


def trained(kind: TokenizerKind, *, masked: bool = True, lowercase: bool = False) -> Tokenizer:
    return Tokenizer.train(TEXTS, kind=kind, size=SIZES.get(kind), masked=masked, lowercase=lowercase)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mask_is_the_fifth_id_and_no_text_becomes_it(kind: TokenizerKind) -> None:
    tokenizer = trained(kind)
    assert tokenizer.masked
    assert tokenizer.tokens(range(5)) == list(MASKED)
    assert MASK not in tokenizer.encode("the dog played <mask>")
    assert tokenizer.decode([MASK, *tokenizer.encode("the cat")]).strip() == "the cat"
    assert Tokenizer(tokenizer.json).masked
    assert not trained(kind, masked=False).masked


@pytest.mark.parametrize("kind", KINDS)
def test_a_tab_stands_between_two_texts(kind: TokenizerKind) -> None:
    tokenizer = trained(kind)
    assert tokenizer.encode("the cat\tthe dog") == [*tokenizer.encode("the cat"), EOS, *tokenizer.encode("the dog")]
    both = tokenizer.encode_all(["the cat", "the\tdog"])
    assert both[0] == tokenizer.encode("the cat")
    assert EOS not in trained(kind, masked=False).encode("the cat\tthe dog")
    with pytest.raises(DataError, match="a tab stands between two texts, and here are more: 'a"):
        tokenizer.encode("a\tb\tc")


def test_pieces_of_words_as_bert_has_them() -> None:
    pieces = trained("wordpiece", lowercase=True)
    ids = pieces.encode("The cat ISN'T  playing ,")
    assert pieces.decode(ids) == "the cat isn ' t playing ,"
    assert pieces.words_of(ids)[-1] == 6
    assert pieces.encode("ça") == pieces.encode("Ca") != [UNK]
    assert trained("wordpiece").encode("Ça") != trained("wordpiece").encode("ca")
    assert pieces.encode("日本") == [UNK, UNK]


def test_words_of_a_list_begin_once_each() -> None:
    pieces = trained("wordpiece")
    begins = pieces.begins()
    for words in (["the", "playing"], ["isn't", "the"], ["日本語", "the", "."]):
        assert sum(begins[index] for index in pieces.encode(words)) == len(words)
