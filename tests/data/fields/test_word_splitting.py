"""Words of raw text: punctuation apart, and back into text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import UNK, DataError, Tokenizer
from regard.data.fields.word_splitting import joined_words, word_splitter

MARKS = list(".,;:!?'\"-/()$#%„“”«»<>_… ")
MIXED = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from([*MARKS, "a", "5"])))
PARTS = st.lists(st.sampled_from([*MARKS, "...", "--", "3/4", "5", "e.g.", "don't", "x"])).map(" ".join)


def split(text: str) -> list[str]:
    return [word for word, _ in word_splitter("punctuation").pre_tokenize_str(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hoe hoe, hoe! (hoe)", "hoe hoe , hoe ! ( hoe )"),
        ("3.14, 1,000 10:30 3/4 $5 50%.", "3.14 , 1,000 10:30 3/4 $ 5 50 % ."),
        ("Don't l’homme well-known 'so'", "Don't l’homme well-known ' so '"),
        ("in the U.S., e.g. here... no -- yes", "in the U.S. , e.g. here ... no -- yes"),
        ("«Ja», sagte er: „Nein“。日本語。", "« Ja » , sagte er : „ Nein “ 。 日本語 。"),
        ("no <unk> here\u00a0now", "no <unk> here now"),
        ("naïve cafe\u0301!", "naïve cafe\u0301 !"),
    ],
)
def test_punctuation_is_cut_off_words(text: str, words: str) -> None:
    assert split(text) == words.split()


@pytest.mark.parametrize(
    "text",
    [
        'She said: "a hoe ($5), not two!" Isn\'t it well-known?',
        "„Ja“, sagte er; 50% of 3.14 and/or e.g. 3/4...",
        "It is 'so' -- or not [yet].",
    ],
)
def test_words_become_text_with_the_spaces_it_had(text: str) -> None:
    words = Tokenizer.train([text], kind="words")
    assert words.decode(words.encode(text)) == joined_words(split(text)) == text


@settings(deadline=None)
@given(st.one_of(MIXED, PARTS))
def test_joined_words_are_split_into_the_same_words(text: str) -> None:
    words = split(text)
    assert not {" ", "\n", "\u00a0", "\u2028"} & set("".join(words))
    assert split(joined_words(words)) == words


def test_one_word_has_one_id_wherever_it_stands() -> None:
    words = Tokenizer.train(["a hoe, a hoe! a hoe"], kind="words")
    assert words.tokens(range(4, words.size)) == ["a", "hoe", "!", ","]
    assert words.encode("hoe") == words.encode("(hoe")[1:] == words.encode("hoe.")[:1]
    again = Tokenizer(words.json)
    assert (again.kind, again.split) == ("words", "punctuation")
    assert again == words


def test_white_space_alone_divides_text_that_is_tokenised_already() -> None:
    words = Tokenizer.train(["a hoe, a hoe !"], kind="words", split="whitespace")
    assert (words.split, Tokenizer(words.json).split) == ("whitespace", "whitespace")
    assert words.tokens(range(4, words.size)) == ["a", "!", "hoe", "hoe,"]
    assert words.decode(words.encode("a hoe !")) == "a hoe !"


def test_words_of_a_list_are_never_cut() -> None:
    lists = [["N.V.", "apple,milk", "(", "-LRB-"], ["Isn't", "it?"]]
    words = Tokenizer.train(lists, kind="words", lowercase=True)
    assert sorted(words.tokens(range(4, words.size))) == sorted(word.lower() for one in lists for word in one)
    assert [words.tokens(words.encode(one)) for one in lists] == [[word.lower() for word in one] for one in lists]
    assert words.encode(["apple,milk", "it"])[1] == UNK
    assert words.begins() == [True] * words.size


def test_places_are_those_of_the_words() -> None:
    text = "(a hoe), 3.14!"
    words = Tokenizer.train([text], kind="words")
    assert [text[begin:end] for begin, end in words.places(text)] == ["(", "a", "hoe", ")", ",", "3.14", "!"]


def test_other_kinds_have_no_split() -> None:
    with pytest.raises(DataError, match=r"split is 'whitespace'.*'bpe'"):
        Tokenizer.train(["a"], kind="bpe", split="whitespace")
    assert Tokenizer.train(["a"], kind="characters").split is None
