"""Texts that no model can be asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.data import DataError, Tokenizer
from regard.data.problems import TextError
from regard.predictor import load
from tests.train.tiny import train


@pytest.mark.parametrize("kind", ["words", "characters", "bpe"])
def test_a_tokenizer_names_the_text_that_is_none(kind: str) -> None:
    tokenizer = Tokenizer.train(["a house"], kind=kind, size=300)  # type: ignore[arg-type]
    for wrong in ("caf\udce9", *([["a", "caf\udce9"]] if kind != "characters" else [])):
        with pytest.raises(TextError, match=r"caf\\udce9' has a byte that is not UTF-8"):
            tokenizer.encode_all(["a", wrong])


def test_a_regular_expression_that_never_ends_is_one_sentence(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(["a house"], kind="characters")
    for pattern, wrong in (("(a+)+$", "the tokenizer fails on one of these texts"), ("(", "is not a tokenizer")):
        hostile = tokenizer.json.replace(json.dumps(r"[\s\S]"), json.dumps(pattern))
        assert hostile != tokenizer.json
        (tmp_path / "tokenizer.json").write_text(hostile)
        with pytest.raises(DataError, match=wrong):
            Tokenizer.load(tmp_path / "tokenizer.json").encode("a" * 40 + "!")


def test_a_predictor_refuses_what_is_no_text_and_what_is_too_long(tmp_path: Path) -> None:
    train(tmp_path / "run", "train.steps=1")
    model = load(tmp_path / "run", overrides=["decode.max_text=9"])
    with pytest.raises(TextError, match=r"'caf\\udce9' has a byte that is not UTF-8"):
        model.predict(["a", "caf\udce9"])
    with pytest.raises(TextError, match=r"'a b a b a b' has 11 characters and decode.max_text is 9"):
        model.predict(["a", "a b a b a b"])
    assert len(load(tmp_path / "run").predict(["a", "a b a b a b"])) == 2
