"""Texts that no model can be asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data import Tokenizer
from regard.data.problems import TextError
from regard.loading import load
from tests.train.tiny import train


@pytest.mark.parametrize("kind", ["words", "characters", "bpe"])
def test_a_tokenizer_names_the_text_that_is_none(kind: str) -> None:
    tokenizer = Tokenizer.train(["a house"], kind=kind, size=300)  # type: ignore[arg-type]
    for wrong in ("caf\udce9", *([["a", "caf\udce9"]] if kind != "characters" else [])):
        with pytest.raises(TextError, match=r"caf\\udce9' has a byte that is not UTF-8"):
            tokenizer.encode_all(["a", wrong])


def test_a_predictor_refuses_what_is_no_text_and_what_is_too_long(tmp_path: Path) -> None:
    train(tmp_path / "run", "train.steps=1")
    model = load(tmp_path / "run", overrides=["decode.max_text=9"])
    with pytest.raises(TextError, match=r"'caf\\udce9' has a byte that is not UTF-8"):
        model.predict(["a", "caf\udce9"])
    with pytest.raises(TextError, match=r"'a b a b a b' has 11 characters and decode.max_text is 9"):
        model.predict(["a", "a b a b a b"])
    assert len(load(tmp_path / "run").predict(["a", "a b a b a b"])) == 2
