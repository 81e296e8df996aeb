"""The set of outputs that a model is held to."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import DataError
from regard.decode.search import Search
from regard.tasks.output_set import output_set, search_within

WORDS = Tokenizer.train(["the old house", "a cat"], kind="words")


def test_a_list_and_a_file_are_the_same_set(tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("the house\na cat\n")
    listed, filed = output_set(["the house", "a cat"], WORDS), output_set(tmp_path / "texts", WORDS)
    assert listed.longest == filed.longest == 3
    start = listed.start(1, torch.device("cpu"))
    assert listed.allowed(start, 9).tolist() == filed.allowed(start, 9).tolist()
    assert int(listed.allowed(start, 9).sum()) == 2


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "texts: the set of outputs is empty; give one or more"),
        (b"a cat\n\nthe house\n", "texts:2: the output is empty; leave it out"),
        (b"a cat\nan owl\n", "texts:2: 'an owl' has words that the model does not know; leave it out"),
        (b"a cat\n\xe9\n", "texts:2: not UTF-8; convert it with iconv -t utf-8"),
    ],
)
def test_what_cannot_be_said_is_named_by_file_and_line(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "texts").write_bytes(content)
    with pytest.raises(DataError) as caught:
        output_set(tmp_path / "texts", WORDS)
    assert str(caught.value) == f"{tmp_path}/{sentence}"


@pytest.mark.parametrize(
    ("outputs", "sentence"),
    [
        ([], "only: the set of outputs is empty; give one or more"),
        (["a cat", " "], "only, text 2: the output is empty; leave it out"),
        (["a cat", 3], "only, text 2: 3 is not a text"),
        ("a cat", "only: 'a cat' is one text; give a list of texts, or a Path to a file of them"),
    ],
)
def test_of_a_list_by_number(outputs: list[str], sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        output_set(outputs, WORDS)
    assert str(caught.value) == sentence


def test_lengths_are_those_of_the_outputs() -> None:
    search = Search(min_length=7, max_length=8, max_ratio=0.1, min_ratio=0.1, beam_size=3, forbid=(0, 2, 4))
    assert search_within(search, output_set(["the old house"], WORDS)) == Search(max_length=4, beam_size=3, forbid=())
