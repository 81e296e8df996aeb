"""Files of word vectors: both text formats, compressed or not, and what is wrong with a line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from regard.data import DataError
from regard.data.formats.word_vectors import WordVectors

TEXT = "a 1 2 3 \n. . 4 5 6\nEr 7 8 -9e-1\na 0 0 0\n"


@pytest.mark.parametrize("header", ["", "4 3\n"])
@pytest.mark.parametrize("name", ["some.txt", "some.vec.gz"])
def test_both_formats_are_read(tmp_path: Path, header: str, name: str) -> None:
    content = (header + TEXT).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    vectors = WordVectors(tmp_path / name)
    found = vectors.read(["a", "Er", "er", "."])
    assert vectors.width == 3
    assert list(vectors.words()) == ["a", "Er", "a"]  # ". ." has a space, which no word of ours has
    assert {word: vector.tolist() for word, vector in found.items()} == {
        "a": [1, 2, 3],  # the first of two
        "Er": [7, 8, pytest.approx(-0.9)],
    }


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a 1 2\nb 1\n", 2, "'b 1'.*2 numbers"),
        ("a 1 2\nb 1 x\n", 2, "'x'.*'b'"),
        ("a 1 2\nb 1 inf\n", 2, "'inf'.*'b'"),
        ("hello\n", 1, "'hello'"),
        ("a 1 2\n\n", 2, "''"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, line: int, said: str) -> None:
    path = tmp_path / "some.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=rf"some\.txt:{line}: .*{said}"):
        WordVectors(path).read(["a", "b"])


def test_an_empty_file_has_no_vectors(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("3 100\n")
    with pytest.raises(DataError, match=r"some\.txt has no word vectors"):
        _ = WordVectors(tmp_path / "some.txt").width
